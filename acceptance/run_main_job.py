"""Acceptance of the main job: profile a program, plan, run it placed, report. One function a line."""

from __future__ import annotations

import sys

from harness import Line, main
from main_job import build, demo, guest, programs, robust, timing, truth

LINES = [*demo.LINES, *truth.LINES, *timing.LINES, *guest.LINES, *programs.LINES, *robust.LINES, *build.LINES]

if __name__ == "__main__":
    sys.exit(main("main-job", [line for line in LINES if isinstance(line, Line)]))
