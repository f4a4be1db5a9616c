"""Acceptance of unmodified programs: output, cost, memory over a file, systems that lack something, guests."""

from __future__ import annotations

import argparse
import sys

from harness import main
from programs_lines import (
    arrays,
    cost,
    guests,
    hbwmalloc,
    lacking,
    launch,
    over_file,
    predicted,
    references,
    small,
    watched,
    ways_in,
    wrong_plan,
)
from programs_lines.cases import remove_inputs

# In the order of what was promised.
LINES = [
    *cost.LINES,
    *arrays.LINES,
    *watched.LINES,
    *over_file.LINES,
    *predicted.LINES,
    *wrong_plan.LINES,
    *lacking.LINES,
    *references.LINES,
    *small.LINES,
    *launch.LINES,
    *hbwmalloc.LINES,
    *ways_in.LINES,
    *guests.LINES,
]


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
