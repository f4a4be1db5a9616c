"""Writes sequences of one ancestor, as FASTA: each a mutated copy of an earlier one, all of the same length
(input of alignment programs). A recipe of `acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, count: int, length: int, seed: int, letters: str = "ACGT", changed: float = 0.08) -> None:
    """Writes sequences; `changed` is the share of letters in which a copy differs from its origin."""
    draw = random.Random(seed)
    family = ["".join(draw.choices(letters, k=length))]
    while len(family) < count:
        copy = list(draw.choice(family))
        for at in draw.sample(range(length), int(changed * length)):
            copy[at] = draw.choice(letters)
        family.append("".join(copy))
    with path.open("w", encoding="ascii") as file:
        file.writelines(f">s{number}\n{sequence}\n" for number, sequence in enumerate(family))
