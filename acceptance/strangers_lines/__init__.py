"""Criteria of `acceptance/strangers`: programs that were not written for Terrace."""

OPTIONS = {
    "--others-size": {
        "choices": ("small", "full"),
        "default": "full",
        "help": "size of the public programs' runs",
    },
}
