"""Criteria for programs that were not written for Terrace: each module with LINES is a group of them."""
