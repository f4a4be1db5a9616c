"""Compares the processor time of `simulate` and `record` with the native one, on the public programs."""

from __future__ import annotations

from others_lines.programs import SPEED_LINES

LINES = [line for line in SPEED_LINES if line.item.startswith(("simulate", "record"))]
