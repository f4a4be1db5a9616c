"""Writes the edges of a random graph of groups, a line each with its weight (label format of MCL). A recipe of
`acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, groups: int, members: int, within: int, between: int, seed: int) -> None:
    """Writes `within` edges of each member in its group, and `between` edges of any two members."""
    draw, count = random.Random(seed), groups * members
    with path.open("w", encoding="ascii") as file:
        for at in range(count):
            group = at - at % members
            for _ in range(within):
                file.write(f"n{at} n{group + draw.randrange(members)} {draw.uniform(0.5, 1.0):.4f}\n")
        for _ in range(between):
            file.write(f"n{draw.randrange(count)} n{draw.randrange(count)} {draw.uniform(0.1, 0.5):.4f}\n")
