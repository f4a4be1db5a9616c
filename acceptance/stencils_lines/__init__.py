"""Criteria of `acceptance/stencils`: published energies, the Taylor-Green vortex, speed on the processor, data in
a file, the paper's losses in virtual time, full disks and killed processes.

`make soak` compares random chains with plain arrays.
"""

from pathlib import Path

ORDER = ("energies", "taylor_green", "speed", "over_file", "virtual")
OPTIONS = {
    "--study": {
        "type": Path,
        "metavar": "FOLDER",
        "help": "what `terrace lab experiment out-of-core --output FOLDER` has answered; else it is run here",
    },
    "--data": {
        "type": Path,
        "default": Path("/var/tmp"),
        "metavar": "FOLDER",
        "help": "where files of datasets lie",
    },
    "--small": {"action": "store_true", "help": "smaller problems: criteria about sizes and speed cannot hold"},
}
