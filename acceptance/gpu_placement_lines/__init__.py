"""Criteria of `acceptance/gpu-placement`, which evaluates page placement on a GPU in virtual time: closed forms,
conservation laws, the published study, C-AMAT, speed."""

from pathlib import Path

ORDER = ("truths", "conservation", "degenerate", "camat", "study", "speed")
OPTIONS = {
    "--study": {
        "type": Path,
        "metavar": "FOLDER",
        "help": "what `terrace lab experiment ccnuma --output FOLDER` has answered; else it is run here",
    },
    "--small": {"action": "store_true", "help": "programs at their smallest size, and the study's few rules"},
}
