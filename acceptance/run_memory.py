"""Acceptance of real memory: orderings, the ledger, memory over a file. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys

from harness import main
from memory_lines import faults, guests, kills, ledger, over_file

# In the order of what was promised.
LINES = [*guests.LINES, *ledger.LINES, *over_file.LINES, *faults.LINES, *kills.LINES]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--disk-folder", default="/var/tmp", help="where files and swap are (/var/tmp)")
    parser.add_argument("--turns", type=int, default=3, help="runs of each way, interleaved; the median counts")
    parser.add_argument(
        "--patience", type=float, default=15, help="a run is stopped after so many times what Terrace took"
    )
    parser.add_argument("--stress-minutes", type=float, default=30, help="how long the guest is stressed (30)")
    parser.add_argument("--case", default="", help="only the cases whose name contains this")


if __name__ == "__main__":
    sys.exit(main("memory", LINES, options))
