# SPDX-License-Identifier: Apache-2.0
"""Reads statistics of MPI calls (docs/reference/store.md, tables mpi_call, mpi_message and
mpi_object)."""

from collections import defaultdict
from dataclasses import dataclass

from terrace.store.reader import Store
from terrace.store.values import Run


@dataclass(frozen=True)
class MpiCall:
    """Calls of one function. `time`: seconds of real time, summed over threads; `sent` and `received`: bytes."""

    function: str
    calls: int
    time: float
    sent: int
    received: int


@dataclass(frozen=True)
class MpiMessages:
    """Messages sent to one rank (None: unknown) of less than 2**size_class bytes, and at least half of that."""

    peer: int | None
    size_class: int
    messages: int
    bytes: int

    @property
    def least_bytes(self) -> int:
        """Returns the smallest size of the class."""
        return 0 if self.size_class == 0 else 1 << (self.size_class - 1)


@dataclass(frozen=True)
class MpiObjectUse:
    """Memory that the MPI library allocated for itself, of shared objects the process's own part.

    `place`: where it was bound; None: where the library put it. `bytes`: at most at one time. `elsewhere`: those
    that did not get there.
    """

    library: str
    kind: str
    object: str
    place: str | None
    objects: int
    bytes: int
    elsewhere: int


def read_objects(store: Store, run: Run) -> list[MpiObjectUse]:
    """Returns the memory of the process's MPI library, by kind and place."""
    return [MpiObjectUse(*row[1:]) for row in store.table("mpi_object")[1] if row[0] == run.id]


def read_calls(store: Store, run: Run) -> list[MpiCall]:
    """Returns the functions that the process called, those with the most time first."""
    calls = [MpiCall(*row[1:]) for row in store.table("mpi_call")[1] if row[0] == run.id]
    return sorted(calls, key=lambda call: (-call.time, call.function))


def read_messages(store: Store, run: Run) -> list[MpiMessages]:
    """Returns the messages that the process sent, by receiver and size; unknown receivers first."""
    return [
        MpiMessages(None if peer < 0 else peer, *rest)
        for number, peer, *rest in store.table("mpi_message")[1]
        if number == run.id
    ]


def read_rank_times(store: Store) -> dict[int, float]:
    """Returns the seconds in MPI of each rank of the job that called MPI and ended."""
    times: dict[int, float] = defaultdict(float)
    for number, _, _, time, *_ in store.table("mpi_call")[1]:
        times[number] += time
    return {run.rank: times[run.id] for run in store.runs() if run.rank is not None and run.id in times}
