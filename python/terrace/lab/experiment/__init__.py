"""Reproduces published studies: the work of `terrace lab experiment`."""
