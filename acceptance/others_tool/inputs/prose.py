"""Writes text of words that follow Zipf's law, of a given size (input of compressors). A recipe of
`acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

_LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
_WORDS = 20_000


def make(path: Path, *, size: int, seed: int) -> None:
    """Writes `size` bytes of text."""
    draw = random.Random(seed)
    frequent = [1 / (rank + 1) for rank in range(len(_LETTERS))]
    words = ["".join(draw.choices(_LETTERS, frequent, k=draw.randint(2, 10))) for _ in range(_WORDS)]
    by_rank = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))
    with path.open("w", encoding="ascii") as file:
        written = 0
        while written < size:
            line = " ".join(draw.choices(words, cum_weights=by_rank, k=12)) + "\n"
            written += file.write(line[: size - written])
