"""Evaluates the performance model on a profile: costs, bounds, optima, confidence."""
