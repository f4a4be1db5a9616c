# SPDX-License-Identifier: Apache-2.0
"""Converts files of valgrind's DHAT (`dhat.out.PID`, JSON of version 2) into profiles.

DHAT counts the bytes read and written in each heap block, by allocation stack. It models no time and no cache, and
it does not observe static data, stacks or mappings.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from terrace.imports.dhat_names import Namer, by_words, namer
from terrace.imports.measured import DamagedError, Measured, Object, OtherKindError, Phase

MAX_BYTES = 1 << 30
_VERSION = 2
_RECORD_AGAIN = "record again with `valgrind --tool=dhat`"
# Smaller blocks are no objects of their own in a recorded run either.
_SMALL, _SMALL_BLOCKS = 16384, "(small blocks)"
_MAX_EQUAL_NAMES = 1024  # objects of one name
_NAMED_AS_IN_RUNS = "object names are those of terrace run"
_NAMED_BY_DHAT = (
    "the program was not found or has changed since: object names are DHAT's, and terrace run may use other names"
)


@dataclass
class Block:
    """A program point of DHAT: the totals of all blocks that one stack allocated."""

    name: str
    size: int  # maximum bytes live at a time
    reads: int  # bytes
    writes: int
    count: int = 1  # maximum blocks live at a time


@dataclass
class DhatFile:
    """Contents of a DHAT file."""

    command: str
    process: int
    instructions: int
    blocks: list[Block]
    is_named_as_in_runs: bool = False


def read(path: Path) -> DhatFile:
    """Reads a file. Raises DamagedError, with a one-line message, if it is not a DHAT file."""
    if path.stat().st_size > MAX_BYTES:
        raise DamagedError(
            f"{path}: larger than {MAX_BYTES >> 30} GiB, the limit for DHAT files; record a shorter run"
        )
    return parse(path.read_bytes(), str(path), path.parent)


def parse(text: bytes, file: str = "the file", folder: Path | None = None) -> DhatFile:
    """Parses the text of a file. `folder`: where the file lies; symbols come from the program if it is found."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{file}: not JSON, or truncated: {error}; {_RECORD_AGAIN}") from None
    if not isinstance(document, dict) or "dhatFileVersion" not in document:
        raise OtherKindError(
            f"{file}: not a DHAT file: dhatFileVersion is missing; name a file that `valgrind --tool=dhat` wrote"
        )
    version = document["dhatFileVersion"]
    if version != _VERSION:
        raise DamagedError(
            f"{file}: DHAT version {version!r}; only version {_VERSION} is supported; "
            f"record with a Valgrind that writes version {_VERSION}"
        )
    if document.get("mode") != "heap":
        raise DamagedError(
            f"{file}: DHAT mode {document.get('mode')!r}; only heap mode counts accesses; "
            "record again with `valgrind --tool=dhat --mode=heap`"
        )
    if document.get("bkacc") is not True:
        raise DamagedError(
            f"{file}: accesses were not counted; record again with `valgrind --tool=dhat --mode=heap`"
        )
    frames = document.get("ftbl")
    if not isinstance(frames, list) or not all(isinstance(frame, str) for frame in frames):
        raise DamagedError(f"{file}: key 'ftbl' is not a list of frames; {_RECORD_AGAIN}")
    points = document.get("pps")
    if not isinstance(points, list):
        raise DamagedError(f"{file}: key 'pps' is not a list of program points; {_RECORD_AGAIN}")
    command = document.get("cmd")
    if not isinstance(command, str):
        raise DamagedError(f"{file}: key 'cmd' is not a string; {_RECORD_AGAIN}")
    by_program = namer(command, frames, folder) if folder is not None else None
    name = by_program or by_words
    blocks = [
        _block(point, frames, name, f"{file}: program point {number}") for number, point in enumerate(points)
    ]
    return DhatFile(command, _count(document, "pid", file), _count(document, "te", file), blocks, bool(by_program))


def _count(of: dict[str, Any], key: str, where: str) -> int:
    value = of.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise DamagedError(f"{where}: key '{key}' is not a count; {_RECORD_AGAIN}")
    return value


def _block(point: object, frames: list[str], name: Namer, where: str) -> Block:
    """Checks one allocation point of DHAT's file, and returns it as a named block."""
    if not isinstance(point, dict):
        raise DamagedError(f"{where} is not an object; {_RECORD_AGAIN}")
    stack = point.get("fs")
    if not isinstance(stack, list) or not all(
        isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(frames) for at in stack
    ):
        raise DamagedError(f"{where}: key 'fs' refers to frames that do not exist; {_RECORD_AGAIN}")
    size, reads, writes = (_count(point, key, where) for key in ("mb", "rb", "wb"))
    count = _count(point, "mbk", where) if "mbk" in point else 1
    return Block(name([frames[at] for at in stack]), size, reads, writes, max(count, 1))


def _objects(blocks: list[Block]) -> list[Block]:
    """Splits program points into objects as a recorded run names them.

    Equal names are numbered (name#2), and small blocks are merged into one object.

    The allocation order of blocks of one name is unknown, so their counts are divided equally.
    """
    together: dict[str, Block] = {}
    for block in blocks:
        is_small = block.size < _SMALL * block.count
        known = together.setdefault(_SMALL_BLOCKS if is_small else block.name, Block(block.name, 0, 0, 0, 0))
        known.size += block.size
        known.reads += block.reads
        known.writes += block.writes
        known.count += block.count
    objects = []
    for name, whole in together.items():
        count = 1 if name == _SMALL_BLOCKS or whole.count > _MAX_EQUAL_NAMES else max(whole.count, 1)
        share = Block(name, -(-whole.size // count), whole.reads // count, whole.writes // count)
        objects += [replace(share, name=name if i == 0 else f"{name}#{i + 1}") for i in range(count)]
        objects[-1].reads += whole.reads % count
        objects[-1].writes += whole.writes % count
    return sorted((one for one in objects if one.size > 0), key=lambda one: -one.size)


def measured(counted: DhatFile, line: int, bandwidth: float) -> Measured:
    """Returns a profile with a single phase, because DHAT records neither order nor time of accesses.

    `line`: bytes of a cache line; `bandwidth`: bytes per second of the memory that is assumed to hold the data.
    """
    blocks = _objects(counted.blocks)
    if not blocks:
        raise DamagedError(
            f"DHAT recorded no heap block of '{counted.command}'; record a program that allocates heap memory"
        )
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
        objects=[
            Object(block.name, "small" if block.name == _SMALL_BLOCKS else "heap", block.size) for block in blocks
        ],
        phases=[phase],
        loop="(whole run)",
        notes=[
            "imported from valgrind's DHAT: accesses of heap blocks, by the stack that allocated them; static "
            "data, stacks and mappings are not in it",
            "DHAT knows no time and no phases: the run is one phase, which takes as long as its accesses at the "
            "bandwidth of this machine's memory",
            "DHAT knows no cache: every byte that was accessed counts as fetched, latencies are not in it; plans "
            "go by accesses for each byte, and what they predict is a bound",
            "within an object accesses are taken to be even, and among blocks that one line of code allocated",
            _NAMED_AS_IN_RUNS if counted.is_named_as_in_runs else _NAMED_BY_DHAT,
        ],
    )
