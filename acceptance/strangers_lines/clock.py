"""Compares virtual time with the clock of this machine on the public programs, each calibrated by default."""

from __future__ import annotations

import functools

from harness import Line
from others_lines.clock import clock
from others_lines.programs import PROGRAMS

MAX_MEAN, MAX_ERROR = 0.12, 0.35

LINES = [
    Line(
        "virtual time of public programs",
        f"mean absolute error against the clock at most {MAX_MEAN:.0%}, none above {MAX_ERROR:.0%}, over at least "
        f"{PROGRAMS} programs; default calibration; compared is the printed time of the timed section, else the "
        "time that passes during a run",
        functools.partial(clock, MAX_MEAN, MAX_ERROR, 0.0),
    )
]
