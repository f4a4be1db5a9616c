"""Draws the report pages and charts of a run."""
