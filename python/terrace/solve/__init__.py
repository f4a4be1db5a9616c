# SPDX-License-Identifier: Apache-2.0
"""Evaluates the performance model on a profile: costs, bounds, optima, confidence."""
