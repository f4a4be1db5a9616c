"""Acceptance of moves: the mover on real pages, its price, the bound, class C. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys

from harness import main
from moves_lines import mover, planner, real, study

# In the order of what was promised.
LINES = [*mover.LINES, *real.LINES, *study.LINES, *planner.LINES]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--random-plans", type=int, default=10_000, help="plans that are held against the bound")
    parser.add_argument("--stress-minutes", type=float, default=30, help="how long the mover is stressed")
    parser.add_argument("--size", default="W", help="class of the ablation's programs: S, W (default) or A")


if __name__ == "__main__":
    sys.exit(main("moves", LINES, options))
