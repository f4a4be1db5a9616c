# SPDX-License-Identifier: Apache-2.0
"""Evaluates the performance model on a stored profile: costs, bounds, plans, sensitivity. `show`, `plan`,
`bounds`, `report` and `export` call it.

C++ does the numerics.
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from terrace import _core
from terrace.errors import core_errors
from terrace.output import Steps
from terrace.solve.lower_bounds import bound_of_profile
from terrace.store.reader import Store
from terrace.store.run_options import last_cache
from terrace.store.summary import groups
from terrace.store.values import BetweenIterations, Profile, Run

# Planners without a search, for comparison.
_MIN_SHARE = 1 / 128
_REFINEMENTS = 3
# Subgradient passes; any number gives a valid bound, more give a tighter one.
_CURVE_PASSES = 200
_QUICK_CURVE_PASSES = 80
_PAGE = 4096
ENOUGH = 0.9  # of the gain


@dataclass(frozen=True)
class CurvePoint:
    """Predicted seconds of an iteration with `size` bytes of fast memory in each domain."""

    size: int
    predicted: float
    lower_bound: float | None = None
    moves: int = 0
    moved_bytes: int = 0


@dataclass(frozen=True)
class Pricing:
    """Predicted costs of placements. Seconds per iteration."""

    slow_only: float
    fast_only: float
    benefits: list[float]  # by object of the profile: gain if it alone is in fast memory
    curve: list[CurvePoint]
    planner: str
    bound: float | None  # lower bound of the mean iteration under the run's own budget
    bound_confidence: float | None  # level; None: proven from exact counters


class Model:
    """A stored profile on its own or another machine."""

    def __init__(
        self,
        store: Store,
        run: Run,
        machine: str | None = None,
        exact: bool = False,
        hints: Path | None = None,
        progress: str | None = None,
    ) -> None:
        """Reads the profile.

        `machine` is a file or the name of a shipped machine; None for the run's own. `hints` is a file whose
        directives override what the profile observed. `progress` sets how plans detect the begin of segments;
        None: as profiled.
        """
        store.require_profile(run, exact)
        self._store, self._run = store, run
        self.asked_machine = machine
        with core_errors():
            self.hints = _core.Hints.read(str(hints)) if hints else None
            stored = _core.Store(str(store.path))
            self.profile = stored.profile(run.id, exact)
            if progress:
                self.profile = self.profile.followed_by(progress)
            self.machine = _core.Machine.read(machine) if machine else stored.machine(run.id)
            self.calibration = stored.calibration(run.id)
            cache = last_cache(run, store.machine(run))
        self.nothing_observed = None if exact else store.nothing_observed(run, self.profile.footprint, cache)

    @cached_property
    def between_iterations(self) -> BetweenIterations:
        """Returns the variation of objects between observed iterations, if not all were observed."""
        return self._store.between_iterations(self._run, self.profile.exact)

    @property
    def most_fast(self) -> int:
        """Returns the capacity of the fastest place of a domain, the minimum over domains."""
        capacities = self.machine.capacities
        return min(capacities[self.machine.fastest_first(domain)[0]] for domain in self._domains())

    @property
    def fast_places(self) -> list[int]:
        """Returns all places except the slowest of each domain."""
        return [place for domain in self._domains() for place in self.machine.fastest_first(domain)[:-1]]

    @property
    def has_choice(self) -> bool:
        """Returns whether any domain has a second place; chunks never leave their domain."""
        return any(len(self.machine.fastest_first(domain)) > 1 for domain in self._domains())

    def budget(self, limit: str | None) -> list[int]:
        """Parses --budget ("hbm=16GiB") or --fast ("16GiB") into bytes by place; empty (all) for None."""
        with core_errors():
            return self.machine.budget(limit) if limit else []

    def problem(self, budget: list[int] | None = None) -> _core.Problem:
        """Returns the placement problem under a budget by place."""
        with core_errors():
            return _core.Problem(self.profile, self.machine, budget or [], hints=self.hints)

    def unused_hints(self) -> list[str]:
        """Returns a sentence for each name in the hints that is not in the profile."""
        return self.hints.unused(self.profile) if self.hints else []

    def decide(self, problem: _core.Problem, planner: str, quick: bool = False) -> _core.Decision:
        """Returns the decision of a planner; `quick`: with the effort of a live run."""
        with core_errors():
            return _core.decide(problem, planner, self.calibration, quick)

    def plan(self, problem: _core.Problem, planner: str) -> _core.Plan:
        """Returns the plan in names, with its lower bound."""
        with core_errors():
            return _core.plan(problem, planner, self.calibration)

    def sure_plan(self, problem: _core.Problem, planner: str, draws: int) -> _core.SurePlan:
        """Returns the plan with its certainty from `draws` resampled profiles."""
        with core_errors():
            return _core.sure_plan(problem, planner, self.calibration, draws)

    def seconds(self, planner: str) -> float:
        """Returns the time of an iteration under a planner that needs no budget."""
        return self.decide(self.problem(), planner).prediction.total

    def curve(
        self,
        sizes: list[int],
        planner: str,
        steps: Steps | None = None,
        budgets: Mapping[int, list[int]] | None = None,
        bounder: "Model | None" = None,
        quick: bool = False,
    ) -> list[CurvePoint]:
        """Returns the planner's predicted time and lower bound for each size, computed by all cores.

        Sizes are of the fastest kind, unless `budgets` gives the budget of each size. The bound is from
        `bounder`'s profile, if given. `quick`: the planner decides with the effort of a live run,
        and bounds are looser.
        """
        passes = _QUICK_CURVE_PASSES if quick else _CURVE_PASSES

        def point(size: int) -> CurvePoint:
            budget = budgets[size] if budgets else self.budget(str(size))
            problem = self.problem(budget)
            prediction = self.decide(problem, planner, quick).prediction
            bound = (bounder.problem(budget) if bounder else problem).lower_bound(prediction.total, passes)
            return CurvePoint(size, prediction.total, bound, prediction.moves, prediction.moved)

        points = []
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # _core releases the interpreter's lock
            for one in pool.map(point, sizes):
                points.append(one)
                if steps:
                    steps.done()
        return _monotone(points)

    def benefits(self, names: list[str]) -> list[float]:
        """Returns by object the gain per iteration if it alone is in its domain's fastest place; 0 for unknown
        names.
        """
        problem = self.problem()
        with core_errors():
            gains = dict(zip(problem.objects, problem.benefits(), strict=True))
        return [gains.get(name, 0.0) for name in names]

    def _domains(self) -> Iterator[int]:
        """Yields the numbers of the machine's domains."""
        domain = 0
        while True:
            try:
                self.machine.fastest_first(domain)
            except (IndexError, _core.Error):
                return
            yield domain
            domain += 1


def _monotone(points: list[CurvePoint]) -> list[CurvePoint]:
    """Makes bounds monotone: more fast memory is never slower, so a bound of a larger size holds for
    smaller ones.
    """
    result: list[CurvePoint] = []
    best = 0.0
    for point in sorted(points, key=lambda p: -p.size):
        best = max(best, point.lower_bound or 0.0)
        result.append(replace(point, lower_bound=best))
    return sorted(result, key=lambda p: p.size)


def sensitivities(store: Store, run: Run, profile: Profile) -> list[list[str]]:
    """Returns "bandwidth", "latency", "either" (Unimem's thresholds) or "" (unused), by object and phase.

    `profile` has one phase of each name (`by_name`); those that the usual iteration lacks have "". Phases of the
    usual iteration that the profile lacks are skipped: iterations of an MPI program may differ in their calls.
    Of several phases of one name, the one with the most traffic decides.
    """
    model = Model(store, run, exact=profile.exact)
    position = {item.name: o for o, item in enumerate(profile.objects)}
    problem = model.problem()
    named = {phase.name: c for c, phase in enumerate(profile.phases)}
    column = {
        phase: named[name] for name, phases in groups(problem.phases).items() if name in named for phase in phases
    }
    result = [["" for _ in profile.phases] for _ in profile.objects]
    most: dict[tuple[int, int], float] = {}
    for row in problem.sensitivities(model.calibration):
        if row["object"] not in position or row["phase"] not in column:
            continue
        cell = (position[row["object"]], column[row["phase"]])
        traffic = row["read_bytes"] + row["write_bytes"]
        if traffic > most.get(cell, 0.0):
            most[cell] = traffic
            result[cell[0]][cell[1]] = str(row["sensitivity"])
    return result


def price(store: Store, run: Run, profile: Profile, steps: Steps | None = None) -> Pricing:
    """Returns the costs of a report: the two extremes, each object's benefit, and the curve over sizes."""
    model = Model(store, run, exact=profile.exact)
    exact = store.has_profile(run, exact=True)
    bounder = Model(store, run, exact=True) if exact else model
    planner = run.planner if run.planner in _core.profiling_planners() else "auto"
    slow, fast = model.seconds("slow-only"), model.seconds("fast-only")
    sizes = curve_sizes(model.profile.footprint, model.most_fast)
    curve = model.curve(sizes, planner, steps, None, bounder, quick=True)
    for _ in range(_REFINEMENTS):
        # Refine the curve around the sufficient size, which is the page's headline.
        size = _between(curve, slow - ENOUGH * (slow - fast))
        if size is not None:
            curve = _monotone([*curve, *model.curve([size], planner, None, None, bounder, quick=True)])
    budget = model.budget(run.budget or None)
    placed = model.decide(model.problem(budget), planner).prediction.total
    bound = bound_of_profile(bounder.problem(budget), placed, store, run, budget, quick=True)
    return Pricing(
        slow_only=slow,
        fast_only=fast,
        benefits=model.benefits([item.name for item in profile.objects]),
        curve=curve,
        planner=planner,
        bound=bound.seconds,
        bound_confidence=bound.confidence,
    )


def _between(curve: list[CurvePoint], target: float) -> int | None:
    """Returns the middle between the last size above the target and the first at or below; None without both."""
    for below, above in itertools.pairwise(curve):
        if below.predicted > target >= above.predicted:
            size = (below.size + above.size) // 2 // _PAGE * _PAGE
            return size if below.size < size < above.size else None
    return None


def curve_sizes(footprint: int, most: int) -> list[int]:
    """Returns sizes for a curve, from a small share of the footprint to all of it or to the largest size."""
    end = min(footprint, most)
    sizes = []
    octave = _PAGE
    while octave < end:
        # Round numbers: powers of two, and half-way points.
        sizes += [size for size in (octave, octave * 3 // 2) if footprint * _MIN_SHARE <= size < end]
        octave *= 2
    return [*sizes, end]
