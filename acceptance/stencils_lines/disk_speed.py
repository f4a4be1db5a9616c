"""Measures a disk with the requests of streaming: direct I/O, of chunks, several at once. over_file.py sets its
times against the disk's."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

THREADS = 8
SIZE = 1 << 30


@dataclass(frozen=True)
class Speed:
    """Bytes a second: reads alone, writes alone, both at a time together."""

    read: float
    write: float
    both: float


def _work(file: int, pieces: list[int], write: bool, piece_bytes: int) -> None:
    """Reads or writes pieces of a file, as one of several concurrent threads."""
    memory = mmap.mmap(-1, piece_bytes)
    for piece in pieces:
        if write:
            os.pwritev(file, [memory], piece * piece_bytes)
        else:
            os.preadv(file, [memory], piece * piece_bytes)


def _timed(file: int, size: int, ways: list[bool], piece: int) -> float:
    """Returns the bytes a second of threads that read and write, half the file each if there are both."""
    pieces = size // piece
    each = pieces // len(ways)
    threads = []
    for number, write in enumerate(ways):
        own = list(range(number * each, (number + 1) * each))
        count = THREADS // len(ways)
        threads += [threading.Thread(target=_work, args=(file, own[i::count], write, piece)) for i in range(count)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return each * len(ways) * piece / (time.perf_counter() - begun)


def measure(folder: Path, piece: int, size: int = SIZE) -> Speed:
    """Measures a temporary file in the folder, by requests of `piece` bytes."""
    with tempfile.NamedTemporaryFile(dir=folder) as named:
        file = os.open(named.name, os.O_RDWR | os.O_DIRECT)
        try:
            os.posix_fallocate(file, 0, size)
            _timed(file, size, [True], piece)  # unwritten blocks are not on the disk
            written = _timed(file, size, [True], piece)
            read = _timed(file, size, [False], piece)
            return Speed(read, written, _timed(file, size, [False, True], piece))
        finally:
            os.close(file)
