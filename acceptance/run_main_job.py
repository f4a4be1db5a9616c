"""Acceptance of the main job: profile a program, plan, run it placed, report. One function a line.

docs/status.md says which lines of the promise are not written yet.
"""

from __future__ import annotations

import sys

from harness import main
from main_job import demo, domains, guest, programs, properties, static, timing

if __name__ == "__main__":
    sys.exit(
        main(
            "main-job",
            [
                *demo.LINES,
                *static.LINES,
                *timing.LINES,
                *domains.LINES,
                *guest.LINES,
                *programs.LINES,
                *properties.LINES,
            ],
        )
    )
