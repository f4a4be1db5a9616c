"""The C++ extension (python/bindings): machines, profiles, problems, plans. Sizes in bytes, times in seconds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Error(Exception):
    """terrace::Error: a one-line message for the user."""

class InvalidError(Error):
    """A wrong call."""

class NoRoomError(InvalidError):
    """The smallest tile of a stencil chain does not fit into memory."""

class Machine:
    name: str
    kinds: list[str]
    places: list[str]
    capacities: list[int]
    copier: str
    @staticmethod
    def read(name: str) -> Machine: ...
    @staticmethod
    def from_bytes(blob: bytes) -> Machine: ...
    def to_bytes(self) -> bytes: ...
    def to_toml(self) -> str: ...
    def initiator(self, domain: int) -> int: ...
    def with_copier(self, name: str) -> Machine: ...
    def move_time(self, initiator: int, cores: float, source: int, target: int, size: int) -> float: ...
    def home(self, domain: int) -> int: ...
    def fastest_first(self, domain: int) -> list[int]: ...
    def budget(self, text: str) -> list[int]: ...
    def fast_budget(self, fast: int) -> list[int]: ...

def shipped_machines() -> list[str]: ...

class MpiObject:
    name: str
    kind: str
    mappings: list[str]
    functions: list[str]
    max_message: int | None
    created: str
    touched: str
    touched_by: str
    may_bind: bool
    def size(
        self,
        ranks: int,
        size: int = 0,
        total: int | None = None,
        rounded: int | None = None,
        page_size: int = 4096,
    ) -> int | None: ...
    def count(
        self,
        ranks: int,
        size: int = 0,
        total: int | None = None,
        rounded: int | None = None,
        page_size: int = 4096,
    ) -> int | None: ...
    def header(
        self,
        ranks: int,
        size: int = 0,
        total: int | None = None,
        rounded: int | None = None,
        page_size: int = 4096,
    ) -> int | None: ...
    def slice(
        self,
        ranks: int,
        size: int = 0,
        total: int | None = None,
        rounded: int | None = None,
        page_size: int = 4096,
    ) -> int | None: ...

class MpiObjectTable:
    library: str
    checked: list[str]
    objects: list[MpiObject]
    @staticmethod
    def read(path: str) -> MpiObjectTable: ...
    @staticmethod
    def parse(text: str) -> MpiObjectTable: ...
    def describes(self, file_name: str, version: str) -> bool: ...

def shipped_mpi_objects() -> list[MpiObjectTable]: ...

class MpiClassifier:
    def __init__(self, tables: Sequence[MpiObjectTable]) -> None: ...
    def classify(
        self,
        name: str,
        size: int,
        function: str,
        ranks: int,
        requested: int = 0,
        total: int | None = None,
        rounded: int | None = None,
        page_size: int = 4096,
    ) -> MpiObject | None: ...

def format_budget(text: str) -> str: ...
def parse_size(text: str) -> int: ...
def format_size(size: int) -> str: ...

class Profile:
    exact: bool
    loop: str
    cores: float
    unseen: float
    iterations: int
    footprint: int
    @property
    def stand_for(self) -> list[float]: ...
    def only(self, iteration: int) -> Profile: ...
    def followed_by(self, progress: str) -> Profile: ...

class Calibration:
    bandwidth_sensitive: float
    latency_sensitive: float
    peak_bandwidths: list[float]
    factors: list[tuple[float, float]]
    def __init__(self) -> None: ...
    @staticmethod
    def from_bytes(blob: bytes) -> Calibration: ...

class StoredRun:
    id: int
    process: int
    program: str
    backend: str
    mode: str
    sampled_iterations: int
    exact_iterations: int

class Store:
    def __init__(self, path: str) -> None: ...
    def runs(self) -> list[StoredRun]: ...
    def profile(self, run: int, exact: bool = False) -> Profile: ...
    def machine(self, run: int) -> Machine: ...
    def calibration(self, run: int) -> Calibration: ...
    def plans(self, run: int) -> list[tuple[Plan, float, str]]: ...

class Expression:
    text: str
    names: list[str]
    def __init__(self, text: str) -> None: ...
    def value(self, values: Mapping[str, float] = ..., sizes: Mapping[str, float] = ...) -> float: ...

class Hints:
    values: dict[str, float]
    refs: list[tuple[str, str]]
    directives: list[tuple[str, str, bool]]
    @staticmethod
    def parse(text: str, file: str = "hints") -> Hints: ...
    @staticmethod
    def read(path: str) -> Hints: ...
    def unused(self, profile: Profile) -> list[str]: ...

class PhaseTime:
    core: float
    exposed: float
    bandwidth: float
    copies: float
    waiting: float
    asking: float
    total: float

class Prediction:
    phases: list[PhaseTime]
    total: float
    moved: int
    moves: int

def divide_among_ranks(problems: Sequence[Problem], budget: Sequence[int]) -> list[list[int]]: ...

class Problem:
    items: int
    phases: list[str]
    footprint: int
    objects: list[str]
    measured: list[float]
    def __init__(
        self,
        profile: Profile,
        machine: Machine,
        budget: Sequence[int] = ...,
        cyclic: bool = True,
        max_items: int = 4096,
        hints: Hints | None = None,
        every_segment: bool = False,
    ) -> None: ...
    @staticmethod
    def from_dump(dump: dict[str, Any]) -> Problem: ...
    def to_json(self) -> str: ...
    def predict(self, places: Sequence[Sequence[int]]) -> Prediction: ...
    def within_budget(self, places: Sequence[Sequence[int]]) -> bool: ...
    def lower_bound(self, target: float | None = None, passes: int = 400) -> float: ...
    def bound_at(self, row: Sequence[float], capacity: Sequence[float]) -> float: ...
    def better_prices(
        self, row: Sequence[float], capacity: Sequence[float], target: float, passes: int
    ) -> tuple[list[float], list[float]]: ...
    def prices(self, target: float, passes: int) -> tuple[list[float], list[float]]: ...
    def loop_bound(
        self,
        shares: Sequence[float],
        warm: Sequence[float],
        iterations: int,
        row: Sequence[float],
        capacity: Sequence[float],
    ) -> tuple[float, float]: ...
    @staticmethod
    def iteration_difference(iterations: Sequence[Problem]) -> float: ...
    def bounds_of_phases(self) -> list[float]: ...
    @staticmethod
    def in_sequence(iterations: Sequence[Problem]) -> Problem: ...
    def benefits(self) -> list[float]: ...
    def sensitivities(self, calibration: Calibration) -> list[dict[str, Any]]: ...

class Decision:
    places: list[list[int]]
    prediction: Prediction
    gap: float
    lower_bound: float

class Plan:
    planner: str
    machine: str
    loop: str
    budget: list[str]
    phases: list[str]
    segments: list[str]
    rate_limits: list[float]
    objects: list[dict[str, Any]]
    moves: list[dict[str, Any]]
    predicted: float
    predicted_slow: float
    lower_bound: float
    gap: float
    draws: int
    regret: tuple[float, float, float]
    @staticmethod
    def parse(text: str, file: str = "plan") -> Plan: ...
    @staticmethod
    def read(path: str) -> Plan: ...
    @staticmethod
    def from_bytes(blob: bytes) -> Plan: ...
    def to_bytes(self) -> bytes: ...
    def to_toml(self) -> str: ...
    def write(self, path: str) -> None: ...

def segment_labels(names: list[str]) -> list[str]: ...
def planners() -> list[str]: ...
def profiling_planners() -> list[str]: ...
def policies() -> list[str]: ...
def planner_parts() -> list[str]: ...
def leave_out(parts: list[str]) -> None: ...
def decide(
    problem: Problem, planner: str = "auto", calibration: Calibration | None = None, quick: bool = False
) -> Decision: ...
def plan(problem: Problem, planner: str = "auto", calibration: Calibration = ...) -> Plan: ...
def sweep(
    profile: Profile,
    machine: Machine,
    budgets: Sequence[Sequence[int]],
    planners: Sequence[str],
    calibration: Calibration,
    max_items: int = 4096,
) -> list[dict[str, Any]]: ...

class SurePlan:
    plan: Plan
    decision: Decision
    regrets: list[float]
    times: list[float]
    shares: list[tuple[float, list[float]]]
    def limit_regrets(self, bound: float) -> None: ...

def sure_plan(
    problem: Problem, planner: str = "auto", calibration: Calibration | None = None, draws: int = 100
) -> SurePlan: ...
def regret_under(
    estimate: Problem,
    truth: Problem,
    chosen: Decision,
    planner: str = "auto",
    calibration: Calibration | None = None,
) -> float: ...
def benefit_draws(problem: Problem, draws: int) -> tuple[list[list[float]], list[list[float]]]: ...
def draw(problem: Problem, number: int, spread: bool = False) -> Problem: ...

class TracedObject:
    name: str
    kind: str
    size: int
    lines: tuple[int, int, int]

class TracedPlace:
    object: int
    code: int
    site: str
    lines: int

class TraceMisses:
    loops_only: bool
    accesses: tuple[int, int, int]
    objects: list[TracedObject]
    places: list[TracedPlace]
    whole: bool
    limited: bool
    reason: str

def trace_misses(
    path: str,
    machine: Machine,
    initiator: int = 0,
    caches: Sequence[str] = (),
    big_block: int = 16384,
    whole_run: bool = False,
) -> TraceMisses: ...

class PimGeometry:
    rows: int
    columns: int
    subarrays: int
    banks: int
    devices: int
    width: int
    units: int
    row_bytes: int
    capacity: int
    def __init__(self, rows: int, columns: int, subarrays: int, banks: int, devices: int = 1) -> None: ...
    @staticmethod
    def of_machine(machine: Machine, place: str = "") -> PimGeometry: ...
    def shape_of(self, size: int, dim: str = "h") -> tuple[int, int]: ...

class PimLargestFree:
    units: int
    rows: int
    subarrays: int
    position: tuple[int, int, int]
    fragmentation: float

class PimFragmentation:
    units: int
    free: int
    rectangle: PimLargestFree
    horizontal: PimLargestFree
    vertical: PimLargestFree

class PimAllocator:
    geometry: PimGeometry
    free_units: int
    def __init__(self, geometry: PimGeometry, tag: int = 1) -> None: ...
    def allocate(
        self,
        rows: int,
        subarrays: int,
        dim: str = "h",
        fit: str = "first",
        within: str = "device",
        align: tuple[int, int] = (1, 1),
        beside: int = 0,
        share: str = "subarray",
    ) -> int: ...
    def release(self, handle: int) -> str: ...
    def block(self, handle: int) -> tuple[int, int, int, int, int] | None: ...
    def snapshot(self) -> NDArray[np.bool_]: ...
    def fragmentation(self) -> PimFragmentation: ...

class PimTrace:
    geometry: PimGeometry
    @staticmethod
    def parse(text: str, file: str = "trace") -> PimTrace: ...
    @staticmethod
    def read(path: str) -> PimTrace: ...
    def __len__(self) -> int: ...

class PimReplay:
    geometry: PimGeometry
    operations: int
    allocations: int
    releases: int
    failures: int
    used: tuple[int, int]
    blocks: int
    peak: int
    peak_operations: int
    compared: int
    differ: int
    differences: list[tuple[int, int, str, str]]
    fragmentation: PimFragmentation
    samples: list[tuple[int, tuple[int, int], int, tuple[float, float, float]]]
    def occupancy(self) -> NDArray[np.uint8]: ...

def replay_pim(
    trace: PimTrace, geometry: PimGeometry | None = None, samples: int = 0, until: int | None = None
) -> PimReplay: ...
def this_machine() -> Machine: ...
def memory_at_home(machine: Machine) -> tuple[int, float, float, float]: ...

class ProfileWriter:
    """Writes a journal of another tool's measurement: one loop with one iteration."""

    def __init__(self, path: str) -> None: ...
    def run(self, process: int, program: str, arguments: list[str], machine: Machine) -> None: ...
    def object(self, name: str, kind: str, size: int, chunk_size: int, address: int) -> int: ...
    def loop(self, name: str, at: float) -> None: ...
    def phase(
        self,
        name: str,
        begun: float,
        ended: float,
        core: float,
        samples: float,
        samples_with_access: float,
        unowned_lines: float,
        chunks: Sequence[int],
        reads: Sequence[float],
        writes: Sequence[float],
        exposures: Sequence[float],
        cell_samples: Sequence[float],
        squares: Sequence[float],
    ) -> None: ...
    def note(self, severity: str, text: str) -> None: ...
    def end(self, at: float) -> None: ...

class ProgramSite:
    name: str
    function: str
    is_allocator: bool

class ProgramSites:
    def __init__(self, program: str, bias: int) -> None: ...
    def find(self, address: int) -> ProgramSite | None: ...

class FunctionRange:
    begin: int
    end: int
    name: str

def function_ranges(file: str) -> list[FunctionRange]: ...

class ProfileName:
    @staticmethod
    def next_free(path: str) -> ProfileName: ...
    @staticmethod
    def given(path: str) -> ProfileName: ...

def merge_journals(journals: list[str], name: ProfileName) -> str: ...
def stencil_programs() -> list[tuple[str, str, str]]: ...
def stencil_modes() -> list[str]: ...
def price_stencil(
    program: str,
    arguments: dict[str, str],
    machine: Machine,
    *,
    how: str,
    memory: int = 0,
    slow_memory: int = 0,
    bandwidth: float = 0.0,
    tiled: bool = True,
    cyclic: bool = True,
    prefetched: bool = True,
    processes: float = 1.0,
) -> dict[str, float]: ...
def gpu_programs() -> list[tuple[str, str, str, list[tuple[str, str]], bool]]: ...
def write_warps(program: str, size: str, path: str, times: int = 1) -> str: ...
def simulate_gpu_share(
    machine: Machine,
    path: str,
    share: float,
    *,
    allocations: str = "",
    memory: int | None = None,
    by_kernel: bool = False,
    every: int = 0,
) -> dict[str, Any]: ...
def simulate_gpu_oracle(
    machine: Machine,
    path: str,
    page_bytes: Sequence[int],
    *,
    share: float,
    allocations: str = "",
    memory: int | None = None,
) -> dict[str, Any]: ...
def gpu_policies() -> list[str]: ...
def simulate_gpu_policy(
    machine: Machine,
    path: str,
    policy: str,
    *,
    threshold: int = 1,
    range: int = 0,
    balanced: bool = False,
    evicts: bool = False,
    reverses: bool = False,
    shootdown: int | None = None,
    allocations: str = "",
    memory: int | None = None,
    fault: int | None = None,
    drains: bool | None = None,
    by_kernel: bool = False,
    every: int = 0,
) -> dict[str, Any]: ...
def gpu_policy_interval(policy: str) -> float: ...
def gpu_balance(machine: Machine) -> float: ...
def gpu_with_remote_bandwidth(machine: Machine, bytes_per_second: float) -> Machine: ...
def camat_of_accesses(accesses: Sequence[tuple[int, int, int]]) -> dict[str, Any]: ...
def camat_of_counters(counters: Mapping[str, int]) -> dict[str, Any]: ...
