"""What the model says of a stored profile: prices, bounds, plans, sensitivity. The numerics are in C++."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from terrace import _core
from terrace.errors import core_errors
from terrace.output import Steps
from terrace.solve.lower_bounds import bound_of_profile
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import BetweenIterations, Profile, Run

# Placements to compare with: no search.
_NO_PLANNERS = ("slow-only", "fast-only", "first-touch", "interleave", "weighted-interleave")
_MIN_SHARE = 1 / 128
_REFINEMENTS = 3
_CURVE_PASSES = 200  # any number gives a valid bound; more come closer
_PAGE = 4096
ENOUGH = 0.9  # of the gain


@dataclass(frozen=True)
class CurvePoint:
    """An iteration with `size` bytes of fast memory in each domain; seconds."""

    size: int
    predicted: float
    lower_bound: float | None = None
    moves: int = 0
    moved_bytes: int = 0


@dataclass(frozen=True)
class Pricing:
    """What placements would cost; seconds an iteration."""

    slow_only: float
    fast_only: float
    benefits: list[float]  # by object of the profile: gained with it alone in fast memory
    curve: list[CurvePoint]
    planner: str
    bound: float | None  # what no placement under the run's own budget beats in the mean iteration
    bound_confidence: float | None  # with which; None where it is proven from exact counters


class Model:
    """A stored profile, on the machine that it was taken on or on another."""

    def __init__(
        self,
        store: Store,
        run: Run,
        machine: str | None = None,
        exact: bool = False,
        hints: Path | None = None,
        progress: str | None = None,
    ) -> None:
        """`machine`: a file or the name of a shipped one; None for the run's own. `hints`: a file whose directives
        go before what the profile has seen of uses. `progress`: what plans' segments begin by; None for what the
        profile says."""
        store.require_profile(run, exact)
        self._store, self._run = store, run
        self.asked_machine = machine
        self.nothing_seen = None if exact else store.nothing_seen(run)
        with core_errors():
            self.hints = _core.Hints.read(str(hints)) if hints else None
            stored = _core.Store(str(store.path))
            self.profile = stored.profile(run.id, exact)
            if progress:
                self.profile = self.profile.followed_by(progress)
            self.machine = _core.Machine.read(machine) if machine else stored.machine(run.id)
            self.calibration = stored.calibration(run.id)

    @cached_property
    def between_iterations(self) -> BetweenIterations:
        """How far objects differ between the iterations that were observed, where others were not."""
        return self._store.between_iterations(self._run, self.profile.exact)

    @property
    def most_fast(self) -> int:
        """The size of the fastest place of a domain, the smallest where they differ."""
        capacities = self.machine.capacities
        return min(capacities[self.machine.fastest_first(domain)[0]] for domain in self._domains())

    @property
    def has_choice(self) -> bool:
        """Whether any domain has a second place: a chunk stays in its domain."""
        return any(len(self.machine.fastest_first(domain)) > 1 for domain in self._domains())

    def budget(self, limit: str | None) -> list[int]:
        """Bytes by place of what --budget ("hbm=16GiB") or --fast ("16GiB") says; empty (all) for None."""
        with core_errors():
            return self.machine.budget(limit) if limit else []

    def problem(self, budget: list[int] | None = None) -> _core.Problem:
        """The placement problem under a budget by place."""
        with core_errors():
            return _core.Problem(self.profile, self.machine, budget or [], hints=self.hints)

    def unused_hints(self) -> list[str]:
        """A sentence for each name in the hints that the profile does not have."""
        return self.hints.unused(self.profile) if self.hints else []

    def decide(self, problem: _core.Problem, planner: str) -> _core.Decision:
        """What a planner would do."""
        with core_errors():
            return _core.decide(problem, planner, self.calibration)

    def plan(self, problem: _core.Problem, planner: str) -> _core.Plan:
        """The same as a plan in names, with its lower bound."""
        with core_errors():
            return _core.plan(problem, planner, self.calibration)

    def sure_plan(self, problem: _core.Problem, planner: str, draws: int) -> _core.SurePlan:
        """The same plan, and how sure it is by so many draws."""
        with core_errors():
            return _core.sure_plan(problem, planner, self.calibration, draws)

    def seconds(self, planner: str) -> float:
        """An iteration under a planner that needs no budget."""
        return self.decide(self.problem(), planner).prediction.total

    def curve(
        self,
        sizes: list[int],
        planner: str,
        steps: Steps | None = None,
        budgets: Mapping[int, list[int]] | None = None,
        bounder: "Model | None" = None,
    ) -> list[CurvePoint]:
        """The planner's predicted time, with its lower bound, for each size; of the fastest kind, where no budgets
        by size are given. The bound is from `bounder`'s profile, if there is one."""
        points = []
        for size in sizes:
            budget = budgets[size] if budgets else self.budget(str(size))
            problem = self.problem(budget)
            prediction = self.decide(problem, planner).prediction
            bound = (bounder.problem(budget) if bounder else problem).lower_bound(prediction.total, _CURVE_PASSES)
            points.append(CurvePoint(size, prediction.total, bound, prediction.moves, prediction.moved))
            if steps:
                steps.done()
        return _monotone(points)

    def benefits(self, names: list[str]) -> list[float]:
        """By object: what an iteration gains with it alone in its domain's fastest place; 0 for unknown names."""
        problem = self.problem()
        with core_errors():
            gains = dict(zip(problem.objects, problem.benefits(), strict=True))
        return [gains.get(name, 0.0) for name in names]

    def _domains(self) -> Iterator[int]:
        domain = 0
        while True:
            try:
                self.machine.fastest_first(domain)
            except (IndexError, _core.Error):
                return
            yield domain
            domain += 1


def _monotone(points: list[CurvePoint]) -> list[CurvePoint]:
    """With more fast memory no optimum gets slower: what bounds a larger size also bounds a smaller one."""
    result: list[CurvePoint] = []
    best = 0.0
    for point in sorted(points, key=lambda p: -p.size):
        best = max(best, point.lower_bound or 0.0)
        result.append(replace(point, lower_bound=best))
    return sorted(result, key=lambda p: p.size)


def sensitivities(store: Store, run: Run, profile: Profile) -> list[list[str]]:
    """By object and name of phase (as `by_name` orders them): "bandwidth", "latency" or "either" by Unimem's
    thresholds, "" where the object is not used. Of several phases of a name the one with most traffic speaks."""
    model = Model(store, run, exact=profile.exact)
    position = {item.name: o for o, item in enumerate(profile.objects)}
    problem = model.problem()
    together = groups(problem.phases)
    column = {phase: c for c, phases in enumerate(together.values()) for phase in phases}
    result = [["" for _ in together] for _ in profile.objects]
    most: dict[tuple[int, int], float] = {}
    for row in problem.sensitivities(model.calibration):
        if row["object"] not in position:
            continue
        cell = (position[row["object"]], column[row["phase"]])
        traffic = row["read_bytes"] + row["write_bytes"]
        if traffic > most.get(cell, 0.0):
            most[cell] = traffic
            result[cell[0]][cell[1]] = str(row["sensitivity"])
    return result


def price(store: Store, run: Run, profile: Profile, steps: Steps | None = None) -> Pricing:
    """What a report tells of placements: the two ends, each object's benefit, the curve over sizes."""
    model = Model(store, run, exact=profile.exact)
    exact = store.has_profile(run, exact=True)
    bounder = Model(store, run, exact=True) if exact else model
    searching = run.planner in _core.planners() and run.planner not in _NO_PLANNERS
    planner = run.planner if searching else "auto"
    slow, fast = model.seconds("slow-only"), model.seconds("fast-only")
    curve = model.curve(curve_sizes(model.profile.footprint, model.most_fast), planner, steps, None, bounder)
    for _ in range(_REFINEMENTS):
        # Closer to where the curve passes what is enough: that size is the page's headline.
        size = _between(curve, slow - ENOUGH * (slow - fast))
        if size is not None:
            curve = _monotone([*curve, *model.curve([size], planner, None, None, bounder)])
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
    """The size half-way between the last point above the target and the first at or below; None without both."""
    for below, above in itertools.pairwise(curve):
        if below.predicted > target >= above.predicted:
            size = (below.size + above.size) // 2 // _PAGE * _PAGE
            return size if below.size < size < above.size else None
    return None


def curve_sizes(footprint: int, most: int) -> list[int]:
    """Sizes to draw a curve through: from a small share of the footprint to all of it, or to all there is."""
    end = min(footprint, most)
    sizes = []
    octave = _PAGE
    while octave < end:
        # Round numbers: powers of two, and half-way between.
        sizes += [size for size in (octave, octave * 3 // 2) if footprint * _MIN_SHARE <= size < end]
        octave *= 2
    return [*sizes, end]
