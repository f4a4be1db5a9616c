"""What any schedule must move between a file and a memory that is too small.

It follows from what the program touches and writes in windows of time (bench/paging/windows.c). A window begins with
at most M bytes of what it touches in memory, so it reads the rest; and of what it writes at most M bytes can still be
in memory alone when it ends, so the rest was written. Summed over windows that follow one another this holds for the
whole run, whatever the windows' length; several lengths are tried, and the largest sum counts.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Unavailable

PARTS = (2, 4, 8, 16, 32, 64)  # windows in the time that the program takes


@dataclass(frozen=True)
class Windows:
    """Bytes touched and bytes written, by window; one list a length."""

    of_length: tuple[tuple[tuple[int, int], ...], ...]

    def reads(self, memory: int) -> int:
        """Bytes, at least."""
        return max(sum(max(touched - memory, 0) for touched, _ in windows) for windows in self.of_length)

    def writes(self, memory: int) -> int:
        """Bytes, at least."""
        return max(sum(max(written - memory, 0) for _, written in windows) for windows in self.of_length)


def windows(command: Sequence[str | Path], library: Path, seconds: float) -> Windows:
    """Of a program that takes about so many seconds with all the memory that it wants."""
    found = []
    for parts in PARTS:
        with tempfile.NamedTemporaryFile("r", suffix=".windows") as file:
            env = {
                **os.environ,
                "LD_PRELOAD": str(library),
                "WINDOWS_FILE": file.name,
                "WINDOWS_LENGTH": f"{seconds / parts:.4f}",
            }
            done = subprocess.run(
                list(map(str, command)), env=env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            if done.returncode == 99:
                raise Unavailable(done.stderr.strip())
            lines = [line.split() for line in file.read().splitlines()]
            found.append(tuple((int(touched), int(written)) for touched, written in lines))
    return Windows(tuple(found))
