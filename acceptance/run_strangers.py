"""Runs the acceptance criteria for programs that were not written for Terrace (acceptance/strangers_lines)."""

from __future__ import annotations

import argparse
import sys

from harness import lines_in, main
from others_tool.recipe import SIZES


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that make a run shorter."""
    parser.add_argument("--others-size", choices=SIZES, default="full", help="size of the public programs' runs")


if __name__ == "__main__":
    sys.exit(main("strangers", lines_in("strangers_lines"), options))
