"""Acceptance of virtual time: threads, validation, replay, tracer, closed forms, speed. Each criterion is a
function."""

from __future__ import annotations

import argparse
import sys

from harness import main
from main_job.robustness import GOAL_SECONDS
from virtual_time import dependence, forms, instructions, repeat, replay, robustness, speed, tracer, validate

# In the order of what was promised.
LINES = [
    *repeat.LINES,
    *validate.LINES,
    *replay.LINES,
    *tracer.LINES,
    *forms.LINES,
    *dependence.LINES,
    *instructions.LINES,
    *speed.LINES,
    *robustness.LINES,
]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fuzz-seconds",
        type=int,
        default=GOAL_SECONDS,
        metavar="N",
        help=f"for each fuzzer ({GOAL_SECONDS}); with fewer the criterion cannot hold",
    )


if __name__ == "__main__":
    sys.exit(main("virtual-time", LINES, options))
