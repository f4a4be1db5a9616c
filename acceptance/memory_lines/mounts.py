"""Mounts private file systems, each in a sparse file: disks that are small, that fail, or that only one test uses.
faults.py and kills.py use them."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import run

from memory_lines.disks import moved


@dataclass(frozen=True)
class Disk:
    """A file system in a sparse file, through a loop device."""

    folder: Path
    backing: Path
    device: str  # "loop0"

    def shrink(self, size: int) -> None:
        """Cuts the device to so many bytes; the file system is not informed, and has I/O errors behind them."""
        with self.backing.open("r+b") as file:
            file.truncate(size)
        run(["losetup", "-c", f"/dev/{self.device}"])

    def written(self) -> int:
        """Returns the bytes written so far, by the kernel's counters."""
        return moved(Path(f"/sys/block/{self.device}")).written


def _unmount(folder: str) -> None:
    """Unmounts; retries, because the kernel releases io_uring's files shortly after their process has ended."""
    until = time.monotonic() + 10
    while subprocess.run(["umount", folder], capture_output=True).returncode != 0:
        if time.monotonic() > until:
            raise RuntimeError(f"{folder} cannot be unmounted: it is still in use")
        time.sleep(0.05)


@contextlib.contextmanager
def mounted(size: int, below: Path) -> Iterator[Disk]:
    """Mounts an ext4 file system of so many bytes, without a journal, in a file of a folder. Its metadata come
    first."""
    backing = below / "disk"
    with backing.open("wb") as file:
        file.truncate(size)
    run(
        ["mkfs.ext4", "-q", "-F", "-m", "0", "-N", "64", "-O", "^has_journal", "-E", "lazy_itable_init=1", backing]
    )
    with tempfile.TemporaryDirectory() as name:
        device = run(["losetup", "--find", "--show", backing]).stdout.strip()
        try:
            run(["mount", device, name])
            try:
                yield Disk(Path(name), backing, Path(device).name)
            finally:
                _unmount(name)
        finally:
            subprocess.run(["losetup", "-d", device], capture_output=True)
