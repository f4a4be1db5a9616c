"""Reads the kernel's counters of a disk: the bytes read and written by all processes, Terrace or not. Criteria
that run out of core use them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512  # bytes; of the account (Documentation/block/stat.rst), whatever the disk's own are


@dataclass(frozen=True)
class DiskBytes:
    """Bytes."""

    read: int
    written: int

    def since(self, before: DiskBytes) -> DiskBytes:
        return DiskBytes(self.read - before.read, self.written - before.written)


def device_of(folder: Path) -> Path | None:
    """Returns the block device or partition of a folder's file system, or None if it has none of its own."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return device.resolve() if device.exists() else None


def moved(device: Path) -> DiskBytes:
    """Returns the bytes that a block device (/sys/dev/block/MAJOR:MINOR or /sys/block/NAME) has moved since it
    exists."""
    fields = (device / "stat").read_text().split()
    return DiskBytes(SECTOR * int(fields[2]), SECTOR * int(fields[6]))
