"""What a profile store holds, as values: docs/store.md says what each field means. Fields are named as columns."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """One process of the job."""

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
    core_time_fitted: bool | None  # for this program, or the machine's; None where time is real
    machine: int | None
    ended: float | None
    how: str | None
    arguments: list[str]
    whole: bool
    core_times: dict[str, float] = field(default_factory=dict)  # of an instruction, where phases have their own
    core_time_from: str | None = None  # what it rests on, or why it is the machine's; None where nobody said

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return Path(self.program).name or f"process {self.process}"

    @property
    def virtual(self) -> bool:
        """Whether its times are virtual."""
        return self.backend == "virtual"

    @property
    def obeys_a_plan(self) -> bool:
        """Whether it was given a plan, and nobody to better it."""
        return self.planner == "plan"


@dataclass(frozen=True)
class Node:
    """A node of the machine's tree; `place` is None where it only groups."""

    id: int
    parent: int | None
    name: str
    place: int | None


@dataclass(frozen=True)
class Place:
    """One memory; sizes in bytes."""

    id: int
    name: str
    kind: str
    capacity: int
    domain: int


@dataclass(frozen=True)
class Initiator:
    """What issues accesses."""

    id: int
    name: str
    cores: int
    instruction_time: float  # seconds of core time
    domain: int


@dataclass(frozen=True)
class Domain:
    """An initiator with the places nearest to it; `home` is where data is when nobody asks for another place."""

    id: int
    name: str
    initiator: int
    home: int


@dataclass(frozen=True)
class MachinePath:
    """How an initiator sees a place: bytes/s and seconds."""

    initiator: int
    place: int
    read: float
    write: float
    latency: float


@dataclass(frozen=True)
class Machine:
    """The machine that a process ran on."""

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
        """Seconds of core time that an access takes an initiator."""
        return next(i.instruction_time for i in self.initiators if i.id == initiator)

    def path(self, initiator: int, place: int) -> MachinePath | None:
        """The path from an initiator to a place, if there is one."""
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
    """A main loop; `ended`, `iterations` and `observed` are None when the process died inside. `why` says why it
    was taken for one, where nobody said so: it had made `turns_before` turns by then, which `iterations` lacks."""

    number: int
    name: str
    begun: float
    why: str
    turns_before: int
    ended: float | None
    iterations: int | None
    observed: int | None  # of the iterations, whole; the others count as the last one observed


@dataclass(frozen=True)
class LoopCandidate:
    """A loop that could have been the main loop. Shares are of the work of the program's first thread."""

    name: str
    taken: bool  # for the main loop, if only for a while
    begins_at: float  # share of the work that was done when it was first entered
    share: float
    visits: int
    iterations: int  # of all visits
    verdict: str  # why the profile is not of it; empty where it is


@dataclass(frozen=True)
class BetweenIterations:
    """How far objects differ between the iterations that were observed, where others were not."""

    freedom: int  # iterations less one; 0 where nothing was left out, or nothing is known
    errors: dict[str, float]  # by object: standard error of its mean exposure, over that mean; 0 where missing


@dataclass(frozen=True)
class PhaseInstance:
    """One phase of one iteration, as it ran, or as long as the last one of its like that was observed."""

    iteration: int
    phase: int
    name: str
    begun: float
    ended: float
    waited: float


@dataclass(frozen=True)
class ProfiledPhase:
    """A phase of the profile: means over the profiled iterations, in seconds."""

    name: str
    time: float
    core: float
    samples: float
    samples_with_access: float
    bandwidth_time: float


@dataclass(frozen=True)
class Profile:
    """Objects x phases, means over the profiled iterations; every matrix is [object, phase]."""

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
    """A transfer that the runtime asked for."""

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
    """All transfers from one place to another, without those that were refused."""

    source: int
    target: int
    moves: int
    chunks: int
    size: int  # bytes


@dataclass(frozen=True)
class PlanPart:
    """Chunks [first, first + chunks) of an object (in the plan's own units) are on `place` at first."""

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
    """An object as the plan names it, cut into `chunks` equal parts."""

    name: str
    size: int
    chunks: int
    pinned: bool


@dataclass(frozen=True)
class Plan:
    """A plan that the runtime made or was given; times are seconds an iteration."""

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
    """What a process did in all; times in seconds."""

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
        """The share of all accesses that hooks reported and nobody could follow."""
        return self.unseen / max(1, self.accesses + self.unseen)


@dataclass(frozen=True)
class Level:
    """A cache beyond the first, or a place, in virtual time: accesses that reached it, seconds in which it served
    hits and in which misses waited alone."""

    name: str
    accesses: float
    hit_time: float
    pure_miss_time: float

    @property
    def camat(self) -> float | None:
        """Seconds of active time an access; None where none reached it."""
        return (self.hit_time + self.pure_miss_time) / self.accesses if self.accesses else None


@dataclass(frozen=True)
class CoveredCode:
    """Seconds of the program's time in a loaded file's code; `path` is in brackets where it is no file."""

    path: str
    hooks: bool
    in_loop: float
    elsewhere: float

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name


@dataclass(frozen=True)
class Coverage:
    """How much of a process the hooks reached, measured in the run itself; shares are of 1, sizes bytes."""

    sample_period: float
    not_sampled: str
    samples: int
    time_share: float
    time_at_least: float
    heap: float
    heap_uncovered: float
    in_loop: bool  # shares are of the time in main loops
    code: list[CoveredCode]  # most time first
    objects: list[tuple[str, int]]  # name, and bytes that only code without hooks used

    @property
    def heap_share(self) -> float:
        """The share of the heap that only code without hooks used."""
        return self.heap_uncovered / self.heap if self.heap > 0 else 0.0

    def label(self, code: CoveredCode) -> str:
        """Its name; where only some of the file's code has no hooks, that."""
        return f"parts of {code.name}" if any(c.hooks and c.path == code.path for c in self.code) else code.name

    def uncovered(self) -> list[tuple[CoveredCode, float]]:
        """Code without hooks, with its part of `time_share`, most first."""
        code = [
            (item, item.in_loop + (0 if self.in_loop else item.elsewhere)) for item in self.code if not item.hooks
        ]
        total = sum(spent for _, spent in code)
        return [(item, self.time_share * spent / total) for item, spent in code if spent > 0]


@dataclass(frozen=True)
class Note:
    """A line that the program's side or the merger wrote down."""

    severity: str
    text: str
    at: float | None
