"""Acceptance of page placement on a GPU, in virtual time: closed forms, conservation, the study, C-AMAT, speed,
bad input. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzzing import add_option
from gpu_placement_lines import camat, conservation, degenerate, robustness, speed, study, truths
from harness import main

# In the order of what was promised.
LINES = [
    *truths.LINES,
    *conservation.LINES,
    *degenerate.LINES,
    *camat.LINES,
    *study.LINES,
    *speed.LINES,
    *robustness.LINES,
]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--study",
        type=Path,
        metavar="FOLDER",
        help="what `terrace lab experiment ccnuma --output FOLDER` has answered; else it is run here",
    )
    parser.add_argument(
        "--small", action="store_true", help="programs at their smallest size, and the study's few rules"
    )
    add_option(parser)


if __name__ == "__main__":
    sys.exit(main("gpu-placement", LINES, options))
