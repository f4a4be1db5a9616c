"""Acceptance of public programs, and of this project's workloads without markers. One function per criterion.

Criteria of live runs against first touch and of the coverage of intervals are in acceptance/strangers."""

from __future__ import annotations

import argparse
import sys

from harness import main
from others_lines import clock, gaps, own, programs, wrong_loops
from others_tool.recipe import SIZES

# In the order of what was promised.
LINES = [*own.LINES, *gaps.LINES, *programs.LINES, *wrong_loops.LINES, *clock.LINES]


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that make the criteria smaller."""
    parser.add_argument("--others-size", choices=SIZES, default="full", help="of the public programs' runs")


if __name__ == "__main__":
    sys.exit(main("others", LINES, options))
