"""The source tree: the golden set, and the first run."""

ORDER = ("digits",)
OPTIONS = {"--keep": {"action": "store_true", "help": "keep the clones that were built"}}
