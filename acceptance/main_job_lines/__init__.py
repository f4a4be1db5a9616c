"""Criteria of `acceptance/main-job`, the main use: profile a program, plan, run it placed, report."""

ORDER = ("demo", "static", "domains", "programs", "languages", "properties")
OPTIONS = {
    "--random-plans": {"type": int, "default": 10_000, "help": "(10,000); with fewer the criterion cannot hold"},
}
