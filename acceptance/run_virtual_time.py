"""Acceptance of virtual time: threads, validation, replay, tracer, closed forms, speed. Each criterion is a
function."""

from __future__ import annotations

import sys

from fuzzing import add_option
from harness import main
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


if __name__ == "__main__":
    sys.exit(main("virtual-time", LINES, add_option))
