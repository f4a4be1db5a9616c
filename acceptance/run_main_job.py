"""Acceptance of the main job: profile a program, plan, run it placed, report. Each criterion is a function."""

from __future__ import annotations

import argparse
import sys

from fuzzing import add_option
from harness import main
from main_job import demo, domains, guest, languages, programs, properties, robustness, static, timing

# In the order of what was promised.
LINES = [
    *demo.LINES,
    *static.LINES,
    *timing.LINES,
    *domains.LINES,
    *guest.LINES,
    *programs.LINES,
    *languages.LINES,
    *properties.LINES,
    *robustness.LINES,
]


def options(parser: argparse.ArgumentParser) -> None:
    add_option(parser)
    parser.add_argument(
        "--random-plans",
        type=int,
        default=properties.CASES,
        metavar="N",
        help=f"({properties.CASES}); with fewer the criterion cannot hold",
    )


if __name__ == "__main__":
    sys.exit(main("main-job", LINES, options))
