# SPDX-License-Identifier: Apache-2.0
"""Defines dataclasses of a profile store's contents, which reader.py fills. Fields have the names of columns
(docs/reference/store.md)."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A process of the job."""

    id: int
    process: int
    host: str
    program: str
    backend: str
    mode: str
    planner: str
    budget: str
    initiator: int
    cores: float
    core_time_fitted: bool | None  # whether fitted for this program; None: real time
    machine: int | None
    ended: float | None
    how: str | None
    arguments: list[str]
    whole: bool
    core_times: dict[str, float] = field(default_factory=dict)  # per instruction, of phases with their own
    core_time_from: str | None = None  # its basis, or why it is the machine's; None: not recorded
    rank: int | None = None  # in the MPI job; None: no job
    ranks: int | None = None  # of the MPI job

    @property
    def name(self) -> str:
        """Returns the program's name without its folder."""
        return Path(self.program).name or f"process {self.process}"

    @property
    def virtual(self) -> bool:
        """Returns whether its times are virtual."""
        return self.backend == "virtual"

    @property
    def follows_plan(self) -> bool:
        """Returns whether it followed a given plan without refining it."""
        return self.planner == "plan"


@dataclass(frozen=True)
class Node:
    """A node of the machine's tree; `place` is None for inner nodes."""

    id: int
    parent: int | None
    name: str
    place: int | None


@dataclass(frozen=True)
class Place:
    """A memory; sizes in bytes."""

    id: int
    name: str
    kind: str
    capacity: int
    domain: int


@dataclass(frozen=True)
class Initiator:
    """A source of accesses, such as a processor."""

    id: int
    name: str
    cores: int
    instruction_time: float  # core time per instruction, seconds
    domain: int


@dataclass(frozen=True)
class Domain:
    """An initiator with its nearest places; `home` is the default place of its data."""

    id: int
    name: str
    initiator: int
    home: int


@dataclass(frozen=True)
class MachinePath:
    """Bandwidth and latency from an initiator to a place: bytes/s and seconds."""

    initiator: int
    place: int
    read: float
    write: float
    latency: float


@dataclass(frozen=True)
class Machine:
    """The machine of a process."""

    name: str
    description: str
    line: int
    nodes: list[Node]
    places: list[Place]
    initiators: list[Initiator]
    domains: list[Domain]
    paths: list[MachinePath]
    copies: dict[tuple[int, int], float]
    blob: bytes

    def instruction_time(self, initiator: int) -> float:
        """Returns the core time per instruction of an initiator, in seconds."""
        return next(i.instruction_time for i in self.initiators if i.id == initiator)

    def path(self, initiator: int, place: int) -> MachinePath | None:
        """Returns the path from an initiator to a place, or None."""
        return next((p for p in self.paths if p.initiator == initiator and p.place == place), None)


@dataclass(frozen=True)
class Object:
    """A named piece of the program's data."""

    id: int
    name: str
    kind: str
    size: int
    chunk_size: int
    first_chunk: int
    chunks: int
    born: float
    died: float | None


@dataclass(frozen=True)
class Loop:
    """A main loop; `ended`, `iterations` and `observed` are None if the process died inside. `why` states why it
    was detected; empty if it was stated. `iterations` excludes the `turns_before` iterations before detection."""

    number: int
    name: str
    begun: float
    why: str
    turns_before: int
    ended: float | None
    iterations: int | None
    observed: int | None  # completely observed iterations; the others count as the last observed one


@dataclass(frozen=True)
class LoopCandidate:
    """A candidate for the main loop. Shares refer to the work of the program's first thread."""

    name: str
    taken: bool  # whether it was the main loop, possibly for a while
    begins_at: float  # share of the work done before it was first entered
    share: float
    visits: int
    iterations: int  # of all visits
    verdict: str  # why it is not the profiled loop; empty if it is


@dataclass(frozen=True)
class BetweenIterations:
    """Variation of objects between observed iterations, if not all were observed."""

    freedom: int  # iterations minus one; 0 if all were observed or nothing is known
    errors: dict[str, float]  # by object: relative standard error of its mean exposure; 0 if missing


@dataclass(frozen=True)
class PhaseInstance:
    """A phase of an iteration as executed, or with the duration of its last observed instance."""

    iteration: int
    phase: int
    name: str
    begun: float
    ended: float
    waited: float


@dataclass(frozen=True)
class ProfiledPhase:
    """A phase of the profile. Means over the profiled iterations, in seconds."""

    name: str
    time: float
    core: float
    samples: float
    samples_with_access: float
    bandwidth_time: float


@dataclass(frozen=True)
class Profile:
    """Objects x phases. Means over the profiled iterations; every matrix is [object, phase]."""

    exact: bool
    iterations: int
    phases: list[ProfiledPhase]
    objects: list[Object]
    reads: Floats
    writes: Floats
    exposure: Floats
    samples: Floats


@dataclass(frozen=True)
class Move:
    """A transfer that the runtime requested."""

    object: int
    first: int
    chunks: int
    source: int
    target: int
    iteration: int
    ask: int
    need: int
    size: int
    benefit: float
    cost: float
    asked: float
    begun: float
    done: float
    waited: float
    refused: bool


@dataclass(frozen=True)
class Moved:
    """Totals of all completed transfers from one place to another."""

    source: int
    target: int
    moves: int
    chunks: int
    size: int  # bytes


@dataclass(frozen=True)
class PlanPart:
    """Initial place of chunks [first, first + chunks) of an object, in the plan's own units."""

    object: int
    first: int
    chunks: int
    place: str


@dataclass(frozen=True)
class PlanMove:
    """A move that the plan repeats in every iteration."""

    object: int
    first: int
    chunks: int
    target: str
    ask: int
    need: int
    benefit: float
    cost: float
    awaited: bool


@dataclass(frozen=True)
class PlanObject:
    """An object as the plan names it, divided into `chunks` equal parts."""

    name: str
    size: int
    chunks: int
    pinned: bool


@dataclass(frozen=True)
class Plan:
    """A plan that the runtime made or was given. Times are seconds per iteration."""

    at: float
    why: str
    planner: str
    machine: str
    loop: str
    budget: list[str]
    phases: list[str]
    predicted: float
    predicted_slow: float
    lower_bound: float
    gap: float
    objects: list[PlanObject]
    parts: list[PlanPart]
    moves: list[PlanMove]
    blob: bytes


@dataclass(frozen=True)
class Counters:
    """Totals of a process. Times in seconds."""

    accesses: int
    misses: int
    unseen: int
    dropped: int
    core: float
    exposed: float
    stalled: float
    waited: float
    charged: float

    @property
    def unseen_share(self) -> float:
        """Returns the share of instrumented accesses that could not be processed."""
        return self.unseen / max(1, self.accesses + self.unseen)


@dataclass(frozen=True)
class Level:
    """A cache beyond the first, or a place, in virtual time: the accesses that reached it, the seconds in which it
    served hits, and those in which only misses were outstanding."""

    name: str
    accesses: float
    hit_time: float
    pure_miss_time: float

    @property
    def camat(self) -> float | None:
        """Returns active seconds per access; None without accesses."""
        return (self.hit_time + self.pure_miss_time) / self.accesses if self.accesses else None


@dataclass(frozen=True)
class CoveredCode:
    """Seconds of the program's time in a loaded file's code; `path` is in brackets if it is not a file."""

    path: str
    hooks: bool
    in_loop: float
    elsewhere: float

    @property
    def name(self) -> str:
        """Returns the file's name without its folder."""
        return Path(self.path).name


@dataclass(frozen=True)
class Coverage:
    """How much of a process was instrumented, measured during the run; shares are of 1, sizes in bytes."""

    sample_period: float
    not_sampled: str
    samples: int
    time_share: float
    time_at_least: float
    heap: float
    heap_uncovered: float
    in_loop: bool  # whether shares refer to the time in main loops
    code: list[CoveredCode]  # longest time first
    objects: list[tuple[str, int]]  # name, and bytes used only by uninstrumented code

    @property
    def heap_share(self) -> float:
        """Returns the share of the heap used only by uninstrumented code."""
        return self.heap_uncovered / self.heap if self.heap > 0 else 0.0

    def label(self, code: CoveredCode) -> str:
        """Returns the name of the code, marked as a part if only some of the file's code is uninstrumented."""
        return f"parts of {code.name}" if any(c.hooks and c.path == code.path for c in self.code) else code.name

    def uncovered(self) -> list[tuple[CoveredCode, float]]:
        """Returns uninstrumented code with its part of `time_share`, longest first."""
        code = [
            (item, item.in_loop + (0 if self.in_loop else item.elsewhere)) for item in self.code if not item.hooks
        ]
        total = sum(spent for _, spent in code)
        return [(item, self.time_share * spent / total) for item, spent in code if spent > 0]


@dataclass(frozen=True)
class Note:
    """A message recorded by the run or by the merger of its journals."""

    severity: str
    text: str
    at: float | None
