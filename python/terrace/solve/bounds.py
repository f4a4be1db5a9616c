# SPDX-License-Identifier: Apache-2.0
"""Holds the results of `terrace bounds`: seconds per iteration under several placements, and the lower bound."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """The bound under a budget of the fastest kind. Seconds per iteration."""

    size: int
    share: float  # of the footprint
    placed: float
    lower_bound: float  # of the loop's mean iteration
    usual_lower_bound: float  # of the usual iteration, for which plans are made; comparable with `placed`


@dataclass(frozen=True)
class Bounds:
    """Seconds per iteration, in total and by phase. None where unknown."""

    slow_only: list[float]
    cache_mode: list[float] | None  # fast memory as a direct-mapped cache of lines; None from a profile
    guided: list[float] | None  # under the user's plan; None without one
    fast_only: list[float]
    managed: list[float]
    lower_bound: list[float]  # by phase: the bound over placements made for this phase alone
    lower_bound_all: float  # of the mean iteration
    usual_lower_bound: float  # of the usual iteration, like the other times
    sentence: str  # what the bound means, and whether it is proven
    confidence: float | None  # of lower_bound_all; None: proven from exact counters
    sizes: list[Size]  # further budgets, if the user gave none
    phases: list[str]
    source: str
    machine: str
    budget: str
    iterations: int
    observed: str | None  # how many iterations were observed, if not all
    solver: str
    warnings: list[str]  # about unobserved accesses
    core_time: dict[str, Any] | None  # report.observation.core_time
    uncalibrated: str | None  # report.observation.uncalibrated

    @property
    def slow(self) -> float:
        """Returns the time of an iteration with no data in fast memory."""
        return math.fsum(self.slow_only)

    @property
    def fast(self) -> float:
        """Returns the time of an iteration with all data in fast memory."""
        return math.fsum(self.fast_only)

    @property
    def placed(self) -> float:
        """Returns the time of an iteration under the planner's placement."""
        return math.fsum(self.managed)
