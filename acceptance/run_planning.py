"""Acceptance of planning: the exact optimum, speed, baselines, the evaluation. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys

from harness import main
from planning_lines import carried, confidence, optimum, properties, sizes, speed, study

# In the order of what was promised.
LINES = [
    *study.LINES,
    *sizes.LINES,
    *carried.LINES,
    *optimum.LINES,
    *confidence.LINES,
    *speed.LINES,
    *properties.LINES,
]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", default="W", help="class of the study's programs: S, W (default) or A")
    parser.add_argument("--programs", help="these of the study's only, with commas between them")


if __name__ == "__main__":
    sys.exit(main("planning", LINES, options))
