"""Criteria of `acceptance/moves`: the mover on real pages, its price, the lower bound, the study in class C."""

ORDER = ("mover", "study")
OPTIONS = {
    "--random-plans": {"type": int, "default": 10_000, "help": "plans that are held against the bound"},
    "--size": {"default": "W", "help": "class of the ablation's programs: S, W (default) or A"},
}
