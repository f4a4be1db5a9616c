"""Acceptance of unmodified programs: output, cost, memory over a file, systems that lack something, guests."""

from __future__ import annotations

import argparse
import sys

from harness import lines_in, main
from programs_lines.cases import remove_inputs

# The modules of programs_lines that were promised an order; a new one needs no entry, and comes behind these.
ORDER = (
    "cost",
    "arrays",
    "watched",
    "over_file",
    "predicted",
    "wrong_plan",
    "lacking",
    "references",
    "small",
    "launch",
    "hbwmalloc",
    "ways_in",
    "guests",
)
LINES = lines_in("programs_lines", ORDER)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--disk-folder", default="/var/tmp", help="where files, swap and data are (/var/tmp)")
    parser.add_argument("--turns", type=int, default=7, help="runs of each way, interleaved; medians count (7)")
    parser.add_argument("--program", default="", help="only programs whose name contains this")
    parser.add_argument("--size", type=float, default=1.0, help="of the programs' inputs, as a share (1)")


if __name__ == "__main__":
    try:
        sys.exit(main("programs", LINES, options))
    finally:
        remove_inputs()
