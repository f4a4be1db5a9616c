"""Acceptance of the source tree: the golden set, variants, the first run. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys

from harness import main
from house_lines import digits, first_run, variants

# In the order of what was promised.
LINES = [*digits.LINES, *variants.LINES, *first_run.LINES]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="keep the clones that were built")


if __name__ == "__main__":
    sys.exit(main("house", LINES, options))
