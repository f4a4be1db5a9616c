"""Writes labelled points of two overlapping clouds, in the format of LIBSVM (input of classifiers). A recipe of
`acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, count: int, dimensions: int, seed: int, distance: float = 1.0) -> None:
    """Writes points, all with all their dimensions."""
    draw = random.Random(seed)
    with path.open("w", encoding="ascii") as file:
        for number in range(count):
            label = 1 if number % 2 else -1
            shift = label * distance / 2
            values = " ".join(f"{axis + 1}:{draw.gauss(shift, 1.0):.5f}" for axis in range(dimensions))
            file.write(f"{label:+d} {values}\n")
