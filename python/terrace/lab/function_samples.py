"""Samples where a native process spends its time, by function: the kernel writes down the address at which the
process is after each period of its own time on a processor (perf_event_open, the task's clock, user code alone).

The process is stopped before it becomes the program, so that its first instruction counts. Only its first thread
is sampled. Where the kernel does not let a program be sampled there is nothing, and the reason.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import os
import platform
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from terrace import _core

# Linux: include/uapi/linux/perf_event.h.
_OPEN = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _TASK_CLOCK = 1, 1
_SAMPLE_IP = 1
_ENABLE_ON_EXEC, _DISABLED = 1 << 12, 1 << 0
_NO_KERNEL, _NO_HYPERVISOR = 1 << 5, 1 << 6
_MMAP = 1 << 8
_CLOSE_ON_EXEC = 8
_RECORD_MMAP, _RECORD_SAMPLE, _RECORD_LOST = 1, 9, 2
_HEAD, _DATA = 1024, 1040  # where the first page says how far the ring is filled, where it begins, how large it is
_PAGES = (512, 128, 64, 16)  # of the ring; a user may lock so much memory
SHORTEST = 250e-6  # seconds between two samples


@dataclass(frozen=True)
class Mapping:
    """Code of a file in the process."""

    low: int
    high: int
    offset: int  # in the file, of what is at `low`
    path: str


@dataclass
class Samples:
    """Of one run: time by function. Seconds."""

    time: Counter[str] = field(default_factory=Counter)  # of the program's own functions, by name
    elsewhere: float = 0.0  # in code of other files, and where no function is known
    lost: int = 0  # samples that the ring had no room for


class Sampler:
    """One process, from when it is opened until it is over."""

    def __init__(self, process: int, period: float) -> None:
        """Raises OSError where the kernel refuses."""
        self._period = period
        number = _OPEN.get(platform.machine())
        if number is None:
            raise OSError(0, f"unknown system call on {platform.machine()}")
        flags = _DISABLED | _ENABLE_ON_EXEC | _NO_KERNEL | _NO_HYPERVISOR | _MMAP
        wanted = struct.pack("=IIQQQQQ", _SOFTWARE, 64, _TASK_CLOCK, round(period * 1e9), _SAMPLE_IP, 0, flags)
        attributes = ctypes.create_string_buffer(wanted.ljust(64, b"\0"), 64)
        libc = ctypes.CDLL(None, use_errno=True)
        file = libc.syscall(ctypes.c_long(number), attributes, process, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
        if file < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"perf_event_open: {os.strerror(error)}")
        try:
            self._ring = _mapped(file)
        finally:
            os.close(file)

    def read(self, program: str) -> Samples:
        """What was sampled, of the functions of the program's file. Once, at the end."""
        with self._ring:
            (head,) = struct.unpack_from("=Q", self._ring, _HEAD)
            begin, size = struct.unpack_from("=QQ", self._ring, _DATA)
            content = self._ring[begin : begin + min(head, size)]
        return self._named(content, os.path.realpath(program))

    def _named(self, content: bytes, program: str) -> Samples:
        found, names, mappings = Samples(), _Names(program), list[Mapping]()
        addresses = Counter[int]()
        for kind, body in records(content):
            if kind == _RECORD_MMAP:
                mappings.append(mapping(body))
            elif kind == _RECORD_SAMPLE:
                addresses[struct.unpack_from("=Q", body)[0]] += 1
            elif kind == _RECORD_LOST:
                found.lost += struct.unpack_from("=QQ", body)[1]
        # What was mapped last at an address is there.
        for address, count in addresses.items():
            at = next((one for one in reversed(mappings) if one.low <= address < one.high), None)
            name = names.find(address - at.low + at.offset) if at is not None and at.path == program else None
            if name is None:
                found.elsewhere += count * self._period
            else:
                found.time[name] += count * self._period  # type: ignore[assignment]
        return found


class _Names:
    """The functions of a file."""

    def __init__(self, program: str) -> None:
        self._ranges = sorted(_core.function_ranges(program), key=lambda one: one.begin)
        self._begins = [one.begin for one in self._ranges]

    def find(self, offset: int) -> str | None:
        """What runs at an offset."""
        at = bisect.bisect_right(self._begins, offset) - 1
        return self._ranges[at].name if at >= 0 and offset < self._ranges[at].end else None


def _mapped(file: int) -> mmap.mmap:
    for pages in _PAGES:
        try:
            return mmap.mmap(file, (1 + pages) * mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, PermissionError):
            if pages == _PAGES[-1]:
                raise
    raise AssertionError


def records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each whole record."""
    at = 0
    while at + 8 <= len(content):
        kind, _, size = struct.unpack_from("=IHH", content, at)
        if size < 8 or at + size > len(content):
            return
        yield kind, content[at + 8 : at + size]
        at += size


def mapping(body: bytes) -> Mapping:
    """A record of mapped code."""
    _, _, low, length, offset = struct.unpack_from("=IIQQQ", body)
    return Mapping(low, low + length, offset, os.fsdecode(body[32:].split(b"\0", 1)[0]))
