"""Criteria of `acceptance/others` on third-party public programs, and on this project's workloads without markers.

Criteria of live runs against first touch and of the coverage of intervals are in acceptance/strangers.
"""

ORDER = ("own", "gaps", "programs", "wrong_loops")
OPTIONS = {
    "--others-size": {
        "choices": ("small", "full"),
        "default": "full",
        "help": "size of the public programs' runs",
    },
}
