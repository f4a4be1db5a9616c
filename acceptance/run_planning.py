"""Acceptance of planning: the exact optimum, speed, baselines, the evaluation. One function a line."""

from __future__ import annotations

import sys

from harness import main
from planning_lines import optimum, properties, speed

# In the order of what was promised.
LINES = [
    *optimum.LINES,
    *speed.LINES,
    *properties.LINES,
]


if __name__ == "__main__":
    sys.exit(main("planning", LINES))
