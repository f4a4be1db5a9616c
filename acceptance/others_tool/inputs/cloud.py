"""Writes random points of the unit cube, a numbered line each. A recipe of `acceptance/others` names it for the
program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, count: int, seed: int, heading: str = "") -> None:
    """Writes `count` points; `heading`, if any, is the first line."""
    draw = random.Random(seed)
    with path.open("w", encoding="ascii") as file:
        if heading:
            file.write(heading + "\n")
        for number in range(1, count + 1):
            file.write(f"{number} {draw.random():.9f} {draw.random():.9f} {draw.random():.9f}\n")
