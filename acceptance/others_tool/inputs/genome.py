"""Writes a genome of random bases with repeats, and reads that were drawn from it with errors, as FASTA (input
of read mappers). A recipe of `acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path

_REPEAT = 3_000  # bases of a segment that is copied elsewhere


def make(
    path: Path,
    *,
    bases: int,
    seed: int,
    reads: int = 0,
    length: int = 0,
    errors: float = 0.0,
    repeats: float = 0.1,
) -> None:
    """Writes the genome itself without `reads`; with them that many segments of `length` bases of the genome."""
    draw = random.Random(seed)
    parts: list[str] = []
    while len(parts) * _REPEAT < bases:
        again = parts and draw.random() < repeats
        parts.append(draw.choice(parts) if again else "".join(draw.choices("ACGT", k=_REPEAT)))
    genome = "".join(parts)[:bases]
    with path.open("w", encoding="ascii") as file:
        if not reads:
            file.write(f">genome\n{genome}\n")
        for number in range(reads):
            at = draw.randrange(bases - length)
            read = genome[at : at + length]
            wrong = {draw.randrange(length): draw.choice("ACGT") for _ in range(int(errors * length))}
            file.write(f">read{number}\n{''.join(wrong.get(i, base) for i, base in enumerate(read))}\n")
