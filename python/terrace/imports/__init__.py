"""Converts measurements of other tools into profiles: one parser per format, and `measured` writes."""
