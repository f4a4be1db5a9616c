"""Criteria of `acceptance/house` on the source tree: the golden set of results."""

ORDER = ("digits",)
