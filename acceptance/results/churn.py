"""Writes a trace of processing in memory: random rectangles come and go on a device that is nearly full. A picture
of the result pages shows its replay."""

from __future__ import annotations

import random
from pathlib import Path

_DEVICE = "devices=1 banks=8 subarrays=16 rows=1024 columns=65536"  # the study's
_UNITS = 8 * 16 * 1024
_SHARE = 0.9  # of the device: below it the next rectangle is requested, otherwise one is released
_OPERATIONS = 20_000
_SEED = 1


def write_trace(path: Path) -> None:
    """Writes the trace, which is the same at every call."""
    dice = random.Random(_SEED)
    lines, live, asked = [f"terrace-pim-trace 1 {_DEVICE}"], list[tuple[int, int]](), 0
    for number in range(1, _OPERATIONS + 1):
        if asked < _SHARE * _UNITS:
            rows, subarrays, way = _rectangle(dice)
            lines.append(f"a {number} {rows} {subarrays} {way}")
            live.append((number, rows * subarrays))
            asked += rows * subarrays
        else:
            name, units = live.pop(dice.randrange(len(live)))
            lines.append(f"f {name}")
            asked -= units
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rectangle(dice: random.Random) -> tuple[int, int, str]:
    """Draws a rectangle: each power of two is as likely as the next, so that small ones are as frequent as large
    ones."""

    def length(powers: int) -> int:
        top = 1 << dice.randrange(powers)
        return top + dice.randrange(top)

    return (length(7), length(4), "h") if dice.random() < 0.5 else (length(7), 1, "v")
