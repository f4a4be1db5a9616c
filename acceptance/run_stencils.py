"""Acceptance of stencil programs: published energies, the Taylor-Green vortex, speed on the processor, data in a
file, the paper's losses in virtual time, full disks and killed processes. Each criterion is a function.

`make soak` compares random chains with plain arrays.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import lines_in, main

# In the order of what was promised.
ORDER = ("energies", "taylor_green", "speed", "over_file", "virtual", "robustness")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--study",
        type=Path,
        metavar="FOLDER",
        help="what `terrace lab experiment out-of-core --output FOLDER` has answered; else it is run here",
    )
    parser.add_argument(
        "--data", type=Path, default=Path("/var/tmp"), metavar="FOLDER", help="where files of datasets lie"
    )
    parser.add_argument(
        "--small", action="store_true", help="smaller problems: criteria about sizes and speed cannot hold"
    )


if __name__ == "__main__":
    sys.exit(main("stencils", lines_in("stencil_lines", ORDER), options))
