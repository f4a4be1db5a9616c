# SPDX-License-Identifier: Apache-2.0
"""Advises which of an MPI library's own objects to place in fast memory: boxes and cells of messages, copy
buffers, receive pools, windows (Congiu and Balaji, "Evaluating the Impact of High-Bandwidth Memory on MPI
Communications").

`library_objects` has the objects of an installed library by its tables (docs/reference/mpi-objects.md),
`published_objects` those of the paper's library, MPICH with ch3:nemesis, by the paper's formulas. Given a budget
and the messages of a program, `advise` selects the kinds whose placement saves the most time.

The time that a placement saves is that of the bytes which move through the object. A message is written into it
once and read once. A put writes the window, a get reads it. A written byte costs a read as well, because the cache
fetches the line before it is modified. The paper's bandwidths agree: of the three transfers of a copy, a window in
fast memory takes two from slow memory for a put (bound +200 %, measured +105 %), and one for a get (bound +50 %,
measured +36 to 41 %).
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from terrace import _core
from terrace.errors import WrongCallError

KIB = 1024
# The paper's library, section IV.D: boxes and cells have 64 KiB, 64 cells a rank, 8 copy buffers of 32 KiB a pair.
_BOX, _CELL, _CELLS_OF_RANK, _BUFFERS_OF_PAIR, _BUFFER = 64 * KIB, 64 * KIB, 64, 8, 32 * KIB
_EAGER = 64 * KIB  # messages below are short: fastboxes and cells
MESSAGE_KINDS = ("eager", "cells", "copy_buffers", "pools", "fifos")

# Latencies in microseconds without and with the object in fast memory, by size of message (tables II and IV; 32
# pairs of ranks). Below the first size the paper found no difference.
_FASTBOXES = {
    8 * KIB: (5.377, 4.639),
    16 * KIB: (11.496, 8.342),
    32 * KIB: (23.682, 15.068),
}
_COPY_BUFFERS = {
    64 * KIB: (50.975, 44.454),
    128 * KIB: (116.144, 89.120),
    256 * KIB: (530.683, 321.064),
    512 * KIB: (984.598, 663.066),
    1024 * KIB: (1920.218, 1313.256),
    2048 * KIB: (3807.138, 2558.192),
    4096 * KIB: (7567.653, 5090.969),
}
_PUTS = {
    128 * KIB: (71.826, 66.411),
    256 * KIB: (259.659, 92.015),
    512 * KIB: (545.213, 252.521),
    1024 * KIB: (1039.163, 558.357),
    2048 * KIB: (1940.753, 999.427),
    4096 * KIB: (3739.691, 1857.870),
}
_GETS = {
    128 * KIB: (72.506, 65.100),
    256 * KIB: (257.580, 257.371),
    512 * KIB: (545.257, 506.752),
    1024 * KIB: (1037.612, 931.533),
    2048 * KIB: (1939.089, 1717.608),
    4096 * KIB: (3739.174, 3294.915),
}
_PUBLISHED = {"eager": _FASTBOXES, "copy_buffers": _COPY_BUFFERS, "puts": _PUTS, "gets": _GETS}


@dataclass(frozen=True)
class Mix:
    """Messages between ranks of a node. Histograms have the number of messages by their size in bytes."""

    messages: Mapping[int, int] = field(default_factory=dict)
    puts: Mapping[int, int] = field(default_factory=dict)
    gets: Mapping[int, int] = field(default_factory=dict)
    windows: int = 0  # bytes of all windows that MPI allocates
    queued: float = 0.0  # share of short messages that find the fastbox full, and take a cell

    def __post_init__(self) -> None:
        if not 0 <= self.queued <= 1:
            raise WrongCallError(f"queued={self.queued}: the share of queued messages lies between 0 and 1")


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second of a memory, from all cores that communicate."""

    read: float
    write: float

    def seconds(self, written: float, read: float) -> float:
        """Returns the time of written bytes, each after a read of its line, and of bytes that are read."""
        return written * (1 / self.read + 1 / self.write) + read / self.read


@dataclass(frozen=True)
class MessageObject:
    """A kind of object that messages of some sizes pass through, on one node."""

    kind: str
    size: int  # bytes at most, of all objects of the kind
    smallest: int  # messages of these sizes, both included
    largest: int | float
    share: float = 1.0  # of the messages of these sizes


@dataclass(frozen=True)
class Advice:
    """One kind of object: what it costs and saves, and whether it is placed."""

    kind: str
    size: int  # bytes of fast memory
    written: int  # bytes by all ranks
    read: int
    saved: float  # seconds of all transfers together, at the given bandwidths
    published: float | None  # the paper's reduction of latency for these messages; None: it has none for the kind
    is_placed: bool


def published_objects(ranks: int, pairs: int | None = None, queued: float = 0.0) -> list[MessageObject]:
    """Returns the objects of the paper's library by its formulas (section IV.D).

    `pairs` is the number of ordered pairs of ranks that exchange messages: by default N (N - 1), of which first
    touch leaves fewer (224 in a halo exchange of 8 x 8 ranks instead of 4,032).
    """
    pairs = ranks * (ranks - 1) if pairs is None else pairs
    return [
        MessageObject("eager", pairs * _BOX, 0, _EAGER - 1, 1 - queued),
        MessageObject("cells", ranks * _CELLS_OF_RANK * _CELL, 0, _EAGER - 1, queued),
        MessageObject("copy_buffers", pairs * _BUFFERS_OF_PAIR * _BUFFER, _EAGER, math.inf),
    ]


def library_objects(tables: Sequence[_core.MpiObjectTable], ranks: int) -> list[MessageObject]:
    """Returns the objects of a library that carry messages, by the tables that describe it and UCX.

    If the library has such objects of its own, those of UCX carry nothing. The largest messages are copied by the
    kernel and pass through none.
    """
    for is_ucx in (False, True):
        largest: dict[str, int] = {}
        size: dict[str, int] = {}
        for table in tables:
            if (table.library == "UCX") != is_ucx:
                continue
            for row in table.objects:
                if row.kind in MESSAGE_KINDS and row.may_bind and row.max_message:
                    largest[row.kind] = max(row.max_message, largest.get(row.kind, 0))
                    size[row.kind] = size.get(row.kind, 0) + (row.size(ranks) or 0) * (row.count(ranks) or 1)
        if largest:
            found = []
            smallest = 0
            for kind in sorted(largest, key=lambda kind: largest[kind]):
                found.append(MessageObject(kind, size[kind], smallest, largest[kind]))
                smallest = largest[kind] + 1
            return found
    return []


def advise(
    objects: Sequence[MessageObject], mix: Mix, budget: int, slow: Bandwidth, fast: Bandwidth
) -> list[Advice]:
    """Returns all kinds, those first that save most: the placed ones save the most time together within the
    budget, and cost the fewest bytes of those that save as much.
    """
    rows = [_of_messages(each, mix, slow, fast) for each in objects]
    if mix.windows:
        rows.append(_of_windows(mix, slow, fast))
    best: tuple[float, int] = (0.0, 0)
    placed: tuple[Advice, ...] = ()
    for count in range(len(rows) + 1):
        for chosen in itertools.combinations(rows, count):
            size = sum(row.size for row in chosen)
            value = (math.fsum(row.saved for row in chosen), -size)
            if size <= budget and value > best:
                best, placed = value, chosen
    marked = [replace(row, is_placed=any(row is each for each in placed)) for row in rows]
    return sorted(marked, key=lambda row: (-row.saved, row.size))


def published_reduction(kind: str, messages: Mapping[int, int]) -> float | None:
    """Returns the share of latency that the paper saved for messages ("eager", "copy_buffers", "puts", "gets"), by
    the nearest size of its tables below each; None if it has no table, or there are no messages.
    """
    table = _PUBLISHED.get(kind)
    if table is None:
        return None
    sizes = sorted(table)
    without = placed = 0.0
    for size, number in messages.items():
        at = bisect_right(sizes, size)
        if at == 0:  # as long as the smallest of the table at most, and the same in both memories
            base = table[sizes[0]][0] * size / sizes[0]
            without, placed = without + number * base, placed + number * base
        else:
            base, moved = table[sizes[at - 1]]
            without, placed = without + number * base, placed + number * moved
    return 1 - placed / without if without > 0 else None


def _bytes(messages: Mapping[int, int]) -> int:
    return sum(size * number for size, number in messages.items())


def _saved(written: float, read: float, slow: Bandwidth, fast: Bandwidth) -> float:
    return slow.seconds(written, read) - fast.seconds(written, read)


def _of_messages(each: MessageObject, mix: Mix, slow: Bandwidth, fast: Bandwidth) -> Advice:
    carried = {size: number for size, number in mix.messages.items() if each.smallest <= size <= each.largest}
    moved = round(_bytes(carried) * each.share)
    return Advice(
        each.kind,
        each.size,
        moved,
        moved,
        _saved(moved, moved, slow, fast),
        published_reduction(each.kind, carried),
        False,
    )


def _of_windows(mix: Mix, slow: Bandwidth, fast: Bandwidth) -> Advice:
    written, read = _bytes(mix.puts), _bytes(mix.gets)
    reductions = [published_reduction("puts", mix.puts), published_reduction("gets", mix.gets)]
    known = [(each, weight) for each, weight in zip(reductions, (written, read), strict=True) if each is not None]
    total = sum(weight for _, weight in known)
    published = sum(each * weight for each, weight in known) / total if total else None
    return Advice("windows", mix.windows, written, read, _saved(written, read, slow, fast), published, False)
