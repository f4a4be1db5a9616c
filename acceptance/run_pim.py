"""Acceptance of processing in memory: speed and scaling, brute force, churn, the programs. One function a line."""

from __future__ import annotations

import argparse
import sys

from harness import main
from pim_lines import correctness, full_array, malloc_test

# In the order of what was promised.
LINES = [
    *full_array.LINES,
    *malloc_test.LINES,
    *correctness.LINES,
]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="the benchmark with fewer sizes and rounds")


if __name__ == "__main__":
    sys.exit(main("pim", LINES, options))
