"""Criteria of `acceptance/house` on the source tree: the golden set of results, and the first run in a clone."""

ORDER = ("digits",)
OPTIONS = {"--keep": {"action": "store_true", "help": "keep the clones that were built"}}
