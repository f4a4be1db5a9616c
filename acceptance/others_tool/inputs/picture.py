"""Writes a picture of smooth colours with noise, as a binary PPM (input of image codecs). A recipe of
`acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path

_NOISE = 24  # levels


def make(path: Path, *, width: int, height: int, seed: int) -> None:
    """Writes the picture; all rows differ."""
    draw = random.Random(seed)
    with path.open("wb") as file:
        file.write(f"P6\n{width} {height}\n255\n".encode())
        for y in range(height):
            noise = draw.randbytes(3 * width)
            row = bytearray(3 * width)
            for colour in range(3):
                shade = [(x * (colour + 1) // 7 + y * (3 - colour) // 5) & 127 for x in range(width)]
                row[colour::3] = bytes(
                    level + each % _NOISE for level, each in zip(shade, noise[colour::3], strict=True)
                )
            file.write(row)
