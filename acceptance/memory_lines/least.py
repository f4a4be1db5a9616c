"""What any schedule must move between a file and a memory that is too small.

It follows from what the program touches and writes in windows of time (bench/paging/windows.c). A window begins
with at most M bytes of what it touches in memory, so it reads the rest, but for pages that it touches for the
first time; and of what it writes at most M bytes can still be in memory alone when it ends, so the rest was
written (zeros are not told apart). Summed over windows that follow one another this holds for the whole run,
whatever the windows' length; several lengths are tried, and the largest sum counts. What is touched and what is
written come from runs of their own: whoever watches writes makes page faults.
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
    """Bytes by window, one list a length: touched and not for the first time; written."""

    touched: tuple[tuple[int, ...], ...]
    written: tuple[tuple[int, ...], ...]

    def reads(self, memory: int) -> int:
        """Bytes, at least."""
        return _over(self.touched, memory)

    def writes(self, memory: int) -> int:
        """Bytes, at least."""
        return _over(self.written, memory)


def _over(of_length: tuple[tuple[int, ...], ...], memory: int) -> int:
    return max(sum(max(size - memory, 0) for size in sizes) for sizes in of_length)


def windows(command: Sequence[str | Path], library: Path, seconds: float) -> Windows:
    """Of a program that takes about so many seconds with all the memory that it wants."""
    touched = [_sizes(command, library, seconds / parts, "touched") for parts in PARTS]
    written = [_sizes(command, library, seconds / parts, "written") for parts in PARTS]
    return Windows(tuple(touched), tuple(written))


def _sizes(command: Sequence[str | Path], library: Path, length: float, what: str) -> tuple[int, ...]:
    with tempfile.NamedTemporaryFile("r", suffix=".windows") as file:
        env = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "WINDOWS_FILE": file.name,
            "WINDOWS_LENGTH": f"{length:.4f}",
            "WINDOWS_OF": what,
        }
        done = subprocess.run(
            list(map(str, command)), env=env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if done.returncode == 99:
            raise Unavailable(done.stderr.strip())
        return tuple(int(line) for line in file.read().split())
