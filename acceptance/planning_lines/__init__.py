"""Criteria of `acceptance/planning`: the published evaluation, the exact optimum, speed, baselines."""

ORDER = ("study", "sizes", "carried", "optimum", "confidence", "speed")
OPTIONS = {
    "--size": {"default": "W", "help": "class of the study's programs: S, W (default) or A"},
    "--programs": {"help": "these of the study's only, with commas between them"},
}
