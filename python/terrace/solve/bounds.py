"""What `terrace bounds` found: times of an iteration by how data are placed, and the bound."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """The bound under a budget of the fastest kind; seconds of an iteration."""

    size: int
    share: float  # of the footprint
    placed: float
    lower_bound: float  # of the mean iteration of the loop
    usual_lower_bound: float  # of the usual iteration, which plans are made for; comparable with `placed`


@dataclass(frozen=True)
class Bounds:
    """Seconds of an iteration, in all and by phase; None where it is not known."""

    slow_only: list[float]
    cache_mode: list[float] | None  # fast memory as a direct-mapped cache of lines; None from a profile
    guided: list[float] | None  # as the user's plan has it; None without one
    fast_only: list[float]
    managed: list[float]
    lower_bound: list[float]  # by phase: what no placement made for this phase alone could beat
    lower_bound_all: float  # of the mean iteration
    usual_lower_bound: float  # of the usual iteration, as the other times are
    sentence: str  # what that bound says, and how far it is proven
    confidence: float | None  # with which lower_bound_all holds; None where it is proven from exact counters
    sizes: list[Size]  # other budgets, where none was asked for
    phases: list[str]
    source: str
    machine: str
    budget: str
    iterations: int
    observed: str | None  # of all iterations, where not each one was
    solver: str
    warnings: list[str]  # of what was not seen
    core_time: dict[str, Any] | None  # seen.core_time
    uncalibrated: str | None  # seen.uncalibrated

    @property
    def slow(self) -> float:
        """An iteration with nothing in fast memory."""
        return math.fsum(self.slow_only)

    @property
    def fast(self) -> float:
        """An iteration with everything in fast memory."""
        return math.fsum(self.fast_only)

    @property
    def placed(self) -> float:
        """An iteration as the planner places it."""
        return math.fsum(self.managed)
