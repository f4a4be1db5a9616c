"""Acceptance of processing in memory: speed of the allocator, and how it scales with threads.

`make soak` compares the allocator with brute force and runs its churn.
"""

from __future__ import annotations

import argparse
import sys

from harness import main
from pim_lines import full_array, malloc_test

# In the order of what was promised.
LINES = [*full_array.LINES, *malloc_test.LINES]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="the benchmark with fewer sizes and rounds")


if __name__ == "__main__":
    sys.exit(main("pim", LINES, options))
