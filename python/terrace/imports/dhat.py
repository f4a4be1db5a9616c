"""valgrind's DHAT: `dhat.out.PID`, JSON of version 2.

It counts what was read and written of each block, by the stack that allocated it, and knows no time, no cache and
nothing but heap blocks.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terrace.imports.measured import DamagedError, Measured, Object, OtherKindError, Phase

MOST_BYTES = 1 << 30
_VERSION = 2
_FRAME = re.compile(r"0x[0-9A-Fa-f]+: (?P<function>.*?)(?: \((?P<where>[^()]*(?:\([^()]*\)[^()]*)*)\))?$")
_PRELOADED = re.compile(r"in .*/(vgpreload|valgrind)")
_RUNTIME = re.compile(r"in .*/(libc\.so|libc-|libstdc\+\+|libgfortran|ld-linux|libgomp|libomp)")
_ALLOCATORS = re.compile(
    r"^(\?\?\?|malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|strdup|strndup"
    r"|operator new(\[\])?.*|_Znwm|_Znam|.*allocator(_traits)?<.*|.*::_M_.*|.*\b_M_(allocate|create)\w*.*)(\(|$)"
)


@dataclass
class Block:
    """A program point: what all blocks that one stack allocated had in common."""

    name: str
    size: int  # bytes at most at a time
    reads: int  # bytes
    writes: int


@dataclass
class Counted:
    """A file of DHAT's."""

    command: str
    process: int
    instructions: int
    blocks: list[Block]


def read(path: Path) -> Counted:
    """The file's contents. DamagedError, in one line, where it is none of DHAT's."""
    if path.stat().st_size > MOST_BYTES:
        raise DamagedError(f"{path}: larger than any file of DHAT's ({MOST_BYTES >> 30} GiB)")
    return parse(path.read_bytes(), str(path))


def parse(text: bytes, file: str = "the file") -> Counted:
    """As read()."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{file}: no JSON, or not all of it: {error}") from None
    if not isinstance(document, dict) or "dhatFileVersion" not in document:
        raise OtherKindError(f"{file}: no file of DHAT's: it has no dhatFileVersion")
    version = document["dhatFileVersion"]
    if version != _VERSION:
        raise DamagedError(f"{file}: DHAT's version {version!r}; version {_VERSION} can be read")
    if document.get("mode") != "heap":
        raise DamagedError(f"{file}: DHAT's mode {document.get('mode')!r}: only that of the heap counts accesses")
    if document.get("bkacc") is not True:
        raise DamagedError(f"{file}: accesses were not counted")
    frames = document.get("ftbl")
    if not isinstance(frames, list) or not all(isinstance(frame, str) for frame in frames):
        raise DamagedError(f"{file}: ftbl is no list of frames")
    points = document.get("pps")
    if not isinstance(points, list):
        raise DamagedError(f"{file}: pps is no list of program points")
    blocks = [_block(point, frames, f"{file}: program point {number}") for number, point in enumerate(points)]
    command = document.get("cmd")
    if not isinstance(command, str):
        raise DamagedError(f"{file}: cmd is no text")
    return Counted(command, _count(document, "pid", file), _count(document, "te", file), blocks)


def _count(of: dict[str, Any], key: str, where: str) -> int:
    value = of.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise DamagedError(f"{where}: {key} is no count")
    return value


def _block(point: object, frames: list[str], where: str) -> Block:
    if not isinstance(point, dict):
        raise DamagedError(f"{where} is no object")
    stack = point.get("fs")
    if not isinstance(stack, list) or not all(
        isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(frames) for at in stack
    ):
        raise DamagedError(f"{where}: fs names frames that there are not")
    size, reads, writes = (_count(point, key, where) for key in ("mb", "rb", "wb"))
    return Block(_name([frames[at] for at in stack]), size, reads, writes)


def _name(stack: list[str]) -> str:
    """By the innermost function that is no allocator's and no run-time library's: "makea cg.cpp:120"."""
    fallback = ""
    for frame in stack:
        parts = _FRAME.match(frame)
        if not parts:
            continue
        function, where = parts["function"], parts["where"] or ""
        if _PRELOADED.search(where) or _ALLOCATORS.match(function):
            continue
        function = re.sub(r"@@?[A-Za-z_0-9.]+$", "", function)
        name = f"{function} {where}" if where and not where.startswith("in ") else function
        if not _RUNTIME.search(where):
            return name
        fallback = fallback or name
    return fallback or "(unknown)"


def measured(counted: Counted, line: int, bandwidth: float) -> Measured:
    """One phase, of which the order and the time of accesses are not known.

    `line`: bytes of a cache line; `bandwidth`: of the memory that the data is taken to be in, bytes a second.
    """
    together: dict[str, Block] = {}
    for block in counted.blocks:
        known = together.setdefault(block.name, Block(block.name, 0, 0, 0))
        known.size += block.size
        known.reads += block.reads
        known.writes += block.writes
    blocks = sorted((block for block in together.values() if block.size > 0), key=lambda one: -one.size)
    if not blocks:
        raise DamagedError("DHAT saw no block of the heap")
    moved = sum(block.reads + block.writes for block in blocks)
    phase = Phase("(whole run)", 0, max(moved / bandwidth, 1e-9), 0)
    for which, block in enumerate(blocks):
        chunks = Object(block.name, "heap", block.size).chunks
        for chunk in range(chunks):
            cell = phase.cell(which, chunk)
            cell.reads = block.reads / line / chunks
            cell.writes = block.writes / line / chunks
    words = counted.command.split()
    return Measured(
        process=counted.process,
        program=words[0] if words else "",
        arguments=words,
        objects=[Object(block.name, "heap", block.size) for block in blocks],
        phases=[phase],
        loop="(whole run)",
        notes=[
            "imported from valgrind's DHAT: accesses of heap blocks, by the stack that allocated them; static "
            "data, stacks and mappings are not in it",
            "DHAT knows no time and no phases: the run is one phase, which takes as long as its accesses at the "
            "bandwidth of this machine's memory",
            "DHAT knows no cache: every byte that was accessed counts as fetched, latencies are not in it; plans "
            "go by accesses for each byte, and what they predict is a bound",
            "within an object accesses are taken to be even; its size is the most that its blocks had at a time",
        ],
    )
