"""Reads profile stores into dataclasses."""
