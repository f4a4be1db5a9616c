# SPDX-License-Identifier: Apache-2.0
"""Reads what the ranks of an MPI job did on a common time axis: phases, calls, messages, and the bytes that each
rank has in each place. `terrace report` draws them.

Each process has a clock of its own that begins with it. Here times count from the start of the job's first rank,
by the start times that the processes read from their nodes' clocks.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from terrace.store.mpi import MpiCall, MpiMessages, read_calls, read_messages
from terrace.store.reader import Store
from terrace.store.values import Loop, Machine, Move, Object, PhaseInstance, Run

# Phases that are calls of MPI have its name (docs/how-to/mpi.md).
_CALL = "MPI_"


@dataclass(frozen=True)
class Usage:
    """Bytes of a rank in a place from `time` (seconds of the job) on."""

    time: float
    bytes: int


@dataclass(frozen=True)
class Rank:
    """A rank of the job. `start`: seconds after the first rank's start; other times count from its own start."""

    number: int
    run: Run
    start: float
    machine: Machine
    loop: Loop | None
    phases: list[PhaseInstance]
    moves: list[Move]
    calls: list[MpiCall]
    messages: list[MpiMessages]
    usage: dict[int, list[Usage]]  # by place

    @property
    def time_in_mpi(self) -> float:
        """Returns the seconds in MPI, summed over threads."""
        return sum(call.time for call in self.calls)

    @property
    def is_killed(self) -> bool:
        """Returns whether the process did not end by itself."""
        return self.run.ended is None


def is_call(phase: str) -> bool:
    """Returns whether the phase is a call of MPI, and not computation."""
    return phase.startswith(_CALL)


def rank_numbers(store: Store) -> list[int]:
    """Returns the ranks in the file, ascending; empty outside of MPI jobs."""
    return sorted({run.rank for run in store.runs() if run.rank is not None})


def read_ranks(store: Store) -> list[Rank]:
    """Returns the ranks of the job. A rank of several processes is the one with the longest main loop."""
    columns, rows = store.table("run")
    started = {row[columns.index("id")]: row[columns.index("started_unix_ns")] for row in rows}
    runs = [store.run(rank=number) for number in rank_numbers(store)]
    first = min((started[run.id] for run in runs), default=0)
    placed = _initial_places(store)
    ranks = []
    for run in runs:
        start, moves = (started[run.id] - first) * 1e-9, store.moves(run)
        usage = usage_by_place(store.objects(run), placed[run.id], moves, start)
        ranks.append(
            Rank(
                number=run.rank or 0,
                run=run,
                start=start,
                machine=store.machine(run),
                loop=store.loop(run),
                phases=store.phase_instances(run),
                moves=moves,
                calls=read_calls(store, run),
                messages=read_messages(store, run),
                usage=usage,
            )
        )
    return ranks


@dataclass(frozen=True)
class InitialPlace:
    """Chunks [first, first + chunks) of an object, which was allocated in `place`."""

    object: int
    first: int
    chunks: int
    place: int


def _initial_places(store: Store) -> dict[int, list[InitialPlace]]:
    """Returns the initial places by run."""
    places: dict[int, list[InitialPlace]] = defaultdict(list)
    for run, *row in store.table("object_place")[1]:
        places[run].append(InitialPlace(*row))
    return places


def usage_by_place(
    objects: Iterable[Object], placed: Iterable[InitialPlace], moves: Iterable[Move], start: float
) -> dict[int, list[Usage]]:
    """Returns the bytes in each place over time, by place; a value holds until the next one.

    A chunk belongs to its target from the end of the move on; both places have it meanwhile, which is not counted.
    """
    by_id = {item.id: item for item in objects}
    # Time, order of kinds at the same time, and what happens.
    events: list[tuple[float, int, Any]] = [
        (by_id[part.object].born, 0, part) for part in placed if part.object in by_id
    ]
    events += [(move.done, 1, move) for move in moves if not move.refused and move.object in by_id]
    events += [(item.died, 2, item) for item in by_id.values() if item.died is not None]
    held: dict[int, dict[int, int]] = {item: defaultdict(int) for item in by_id}  # by object and place
    totals: dict[int, int] = defaultdict(int)
    usage: dict[int, list[Usage]] = defaultdict(list)

    def change(item: int, place: int, size: int, time: float) -> None:
        held[item][place] += size
        totals[place] += size
        steps = usage[place]
        if steps and steps[-1].time == time + start:
            steps.pop()
        steps.append(Usage(time + start, totals[place]))

    for time, _, what in sorted(events, key=lambda event: event[:2]):
        if isinstance(what, InitialPlace):
            change(what.object, what.place, _size_of(by_id[what.object], what.first, what.chunks), time)
        elif isinstance(what, Move):
            died = by_id[what.object].died
            if died is None or time <= died:
                size = min(what.size, held[what.object][what.source])
                change(what.object, what.source, -size, time)
                change(what.object, what.target, size, time)
        else:
            for place, size in list(held[what.id].items()):
                change(what.id, place, -size, time)
    return dict(usage)


def _size_of(item: Object, first: int, chunks: int) -> int:
    """Returns the bytes of chunks of an object, whose last chunk may be shorter."""
    return max(min((first + chunks) * item.chunk_size, item.size) - first * item.chunk_size, 0)


def bytes_at(steps: Sequence[Usage], times: Sequence[float]) -> list[int]:
    """Returns the bytes at ascending times."""
    result, position, present = [], 0, 0
    for time in times:
        while position < len(steps) and steps[position].time <= time:
            present = steps[position].bytes
            position += 1
        result.append(present)
    return result


def peak(steps: Sequence[Usage]) -> int:
    """Returns the largest number of bytes."""
    return max((step.bytes for step in steps), default=0)


def union(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the intervals, ascending and disjoint."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > begin:
            merged.append((begin, end))
    return merged


def overlap(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> float:
    """Returns the length of what two lists of ascending, disjoint intervals have in common."""
    common, i, k = 0.0, 0, 0
    while i < len(one) and k < len(other):
        common += max(min(one[i][1], other[k][1]) - max(one[i][0], other[k][0]), 0.0)
        if one[i][1] <= other[k][1]:
            i += 1
        else:
            k += 1
    return common
