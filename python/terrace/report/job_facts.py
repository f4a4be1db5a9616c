# SPDX-License-Identifier: Apache-2.0
"""Derives the figures of an MPI job from what its ranks did: imbalance by phase, fast memory by rank, moves hidden
in waits, messages by pair and size. job_page.py renders them.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.store import job
from terrace.store.job import Rank
from terrace.store.reader import Store
from terrace.store.summary import base_name
from terrace.store.values import Note

_OTHERS = "other functions"


@dataclass(frozen=True)
class PhaseBalance:
    """A phase of the main loop. `by_rank`: mean seconds in an iteration, of the ranks that have the phase."""

    name: str
    by_rank: dict[int, float]

    @property
    def mean(self) -> float:
        """Returns the mean over ranks."""
        return sum(self.by_rank.values()) / len(self.by_rank)

    @property
    def slowest(self) -> int:
        """Returns the rank that takes longest."""
        return max(self.by_rank, key=lambda rank: (self.by_rank[rank], -rank))

    @property
    def most(self) -> float:
        """Returns the seconds of the slowest rank."""
        return self.by_rank[self.slowest]

    @property
    def imbalance(self) -> float:
        """Returns by how much the slowest rank exceeds the mean, as a share of the mean."""
        return self.most / self.mean - 1 if self.mean > 0 else 0.0


@dataclass(frozen=True)
class HiddenMoves:
    """Moves of a rank.

    `moving`: seconds in which any were in progress; `hidden`: of these, seconds in which the rank was in phases
    that are calls of MPI; `waited`: seconds in which its phases waited for moves.
    """

    moves: int
    bytes: int
    moving: float
    hidden: float
    waited: float


@dataclass(frozen=True)
class PairMessages:
    """Messages from one rank to another; `receiver` is None if unknown."""

    sender: int
    receiver: int | None
    messages: int
    bytes: int


@dataclass
class JobFacts:
    """Data of an MPI job."""

    file: Path
    ranks: list[Rank]
    notes: list[Note]

    @property
    def name(self) -> str:
        """Returns the program's name."""
        return self.ranks[0].run.name

    @property
    def killed(self) -> list[int]:
        """Returns the ranks that did not end by themselves."""
        return [rank.number for rank in self.ranks if rank.is_killed]

    @property
    def end(self) -> float:
        """Returns the time at which the last rank ended, or its last phase did."""
        return max(rank.start + run_time(rank) for rank in self.ranks)

    def outside_mpi(self) -> dict[int, float]:
        """Returns the seconds that each rank did not spend in MPI; without ranks of which that is unknown."""
        return {
            rank.number: max(run_time(rank) - rank.time_in_mpi, 0.0)
            for rank in self.ranks
            if rank.calls and not rank.is_killed
        }

    def phases(self) -> list[PhaseBalance]:
        """Returns the phases of the main loop, those with the longest slowest rank first."""
        times: dict[str, dict[int, float]] = defaultdict(dict)
        for rank in self.ranks:
            iterations = len({one.iteration for one in rank.phases})
            for one in rank.phases:
                of_phase = times[base_name(one.name)]
                seconds = (one.ended - one.begun) / iterations
                of_phase[rank.number] = of_phase.get(rank.number, 0.0) + seconds
        return sorted((PhaseBalance(*item) for item in times.items()), key=lambda phase: -phase.most)

    def fast_places(self) -> dict[str, dict[int, list[job.Usage]]]:
        """Returns the usage of the fastest memory of each domain by rank, by host and place."""
        hosts = {rank.run.host for rank in self.ranks}
        places: dict[str, dict[int, list[job.Usage]]] = defaultdict(dict)
        for rank in self.ranks:
            ordered = _core.Machine.from_bytes(rank.machine.blob)
            fastest = {ordered.fastest_first(domain.id)[0] for domain in rank.machine.domains}
            if len(fastest) == len(rank.machine.places):
                continue  # one kind of memory
            for place in sorted(fastest):
                steps = rank.usage.get(place, [])
                if job.peak(steps) > 0:
                    name = rank.machine.places[place].name
                    places[name if len(hosts) == 1 else f"{name} of {rank.run.host}"][rank.number] = steps
        return dict(places)

    def hidden_moves(self) -> dict[int, HiddenMoves]:
        """Returns the moves of each rank that moved anything."""
        return {rank.number: found for rank in self.ranks if (found := hidden_moves(rank)).moves > 0}

    def pairs(self) -> list[PairMessages]:
        """Returns the messages by pair of ranks, those with most bytes first."""
        sums: dict[tuple[int, int | None], list[int]] = {}
        for rank in self.ranks:
            for one in rank.messages:
                total = sums.setdefault((rank.number, one.peer), [0, 0])
                total[0] += one.messages
                total[1] += one.bytes
        pairs = [PairMessages(*key, *total) for key, total in sums.items()]
        return sorted(pairs, key=lambda pair: (-pair.bytes, pair.sender, pair.receiver or 0))

    def sizes(self) -> dict[int, tuple[int, int]]:
        """Returns number and bytes of messages by the smallest size of their class."""
        sums: dict[int, tuple[int, int]] = {}
        for rank in self.ranks:
            for one in rank.messages:
                messages, total = sums.get(one.least_bytes, (0, 0))
                sums[one.least_bytes] = (messages + one.messages, total + one.bytes)
        return dict(sorted(sums.items()))

    def functions(self, most: int) -> dict[str, dict[int, float]]:
        """Returns the seconds in MPI by function and rank: the longest functions, then all others together."""
        times: dict[str, dict[int, float]] = defaultdict(dict)
        for rank in self.ranks:
            for call in rank.calls:
                times[call.function][rank.number] = call.time
        order = sorted(times, key=lambda name: -sum(times[name].values()))
        shown = {f"MPI_{name}": times[name] for name in order[:most]}
        rest: dict[int, float] = defaultdict(float)
        for name in order[most:]:
            for rank_number, time in times[name].items():
                rest[rank_number] += time
        return {**shown, _OTHERS: dict(rest)} if rest else shown


def run_time(rank: Rank) -> float:
    """Returns the seconds of the process; of a killed one, those until its last phase ended."""
    return rank.run.ended or max((one.ended for one in rank.phases), default=0.0)


def hidden_moves(rank: Rank) -> HiddenMoves:
    """Returns the rank's moves, and how long they coincided with its phases in MPI."""
    done = [move for move in rank.moves if not move.refused]
    moving = job.union((move.begun, move.done) for move in done)
    calls = job.union((one.begun, one.ended) for one in rank.phases if job.is_call(one.name))
    return HiddenMoves(
        moves=len(done),
        bytes=sum(move.size for move in done),
        moving=sum(end - begin for begin, end in moving),
        hidden=job.overlap(moving, calls),
        waited=sum(one.waited for one in rank.phases),
    )


def gather(file: Path) -> JobFacts:
    """Reads the data of the page of a job. Requires: the profile has ranks."""
    store = Store(file)
    ranks = job.read_ranks(store)
    notes: list[Note] = []
    for rank in ranks:
        notes += [note for note in store.notes(rank.run) if note not in notes]
    return JobFacts(file, ranks, notes)
