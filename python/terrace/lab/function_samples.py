# SPDX-License-Identifier: Apache-2.0
"""Samples the program counter of a native process to attribute its time to functions. `terrace lab calibrate` uses
it.

The kernel records the user-mode program counter after each period of processor time (perf_event_open, task clock).
The process is stopped before it executes the program, so sampling covers the first instruction. Only the first
thread is sampled. If the kernel forbids sampling, the result is empty and states the reason.
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
_HEAD, _DATA = 1024, 1040  # offsets in the control page: data_head, and data_offset with data_size
_PAGES = (512, 128, 64, 16)  # ring sizes to try; RLIMIT_MEMLOCK may allow less
SHORTEST = 250e-6  # seconds between two samples


@dataclass(frozen=True)
class Mapping:
    """An executable mapping of a file in the process."""

    low: int
    high: int
    offset: int  # in the file, of address `low`
    path: str


@dataclass
class Samples:
    """Samples of one run: seconds by function."""

    time: Counter[str] = field(default_factory=Counter)  # of the program's own functions, by name
    elsewhere: float = 0.0  # seconds in other files, and where the function is unknown
    lost: int = 0  # samples dropped because the ring was full


class Sampler:
    """Samples one process from construction until it ends."""

    def __init__(self, process: int, period: float) -> None:
        """Starts sampling. Raises OSError if the kernel refuses."""
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
        """Returns the samples by function of the program's file. Must be called once, at the end."""
        with self._ring:
            (head,) = struct.unpack_from("=Q", self._ring, _HEAD)
            begin, size = struct.unpack_from("=QQ", self._ring, _DATA)
            content = self._ring[begin : begin + min(head, size)]
        return self._named(content, os.path.realpath(program))

    def _named(self, content: bytes, program: str) -> Samples:
        """Counts the buffer's samples by function, by the symbols of the mapped files."""
        found, names, mappings = Samples(), _Names(program), list[Mapping]()
        addresses = Counter[int]()
        for kind, body in records(content):
            if kind == _RECORD_MMAP:
                mappings.append(mapping(body))
            elif kind == _RECORD_SAMPLE:
                addresses[struct.unpack_from("=Q", body)[0]] += 1
            elif kind == _RECORD_LOST:
                found.lost += struct.unpack_from("=QQ", body)[1]
        # The last of overlapping mappings is valid.
        for address, count in addresses.items():
            at = next((one for one in reversed(mappings) if one.low <= address < one.high), None)
            name = names.find(address - at.low + at.offset) if at is not None and at.path == program else None
            if name is None:
                found.elsewhere += count * self._period
            else:
                found.time[name] += count * self._period  # type: ignore[assignment]
        return found


class _Names:
    """Symbol table of a file."""

    def __init__(self, program: str) -> None:
        self._ranges = sorted(_core.function_ranges(program), key=lambda one: one.begin)
        self._begins = [one.begin for one in self._ranges]

    def find(self, offset: int) -> str | None:
        """Returns the function at a file offset, or None."""
        at = bisect.bisect_right(self._begins, offset) - 1
        return self._ranges[at].name if at >= 0 and offset < self._ranges[at].end else None


def _mapped(file: int) -> mmap.mmap:
    """Maps perf's ring buffer of samples, with as many pages as the kernel grants."""
    for pages in _PAGES:
        try:
            return mmap.mmap(file, (1 + pages) * mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, PermissionError):
            if pages == _PAGES[-1]:
                raise
    raise AssertionError


def records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the type and the body of each complete record."""
    at = 0
    while at + 8 <= len(content):
        kind, _, size = struct.unpack_from("=IHH", content, at)
        if size < 8 or at + size > len(content):
            return
        yield kind, content[at + 8 : at + size]
        at += size


def mapping(body: bytes) -> Mapping:
    """Parses an mmap record."""
    _, _, low, length, offset = struct.unpack_from("=IIQQQ", body)
    return Mapping(low, low + length, offset, os.fsdecode(body[32:].split(b"\0", 1)[0]))
