"""What the model says of a stored profile: prices, bounds, plans, sensitivity. The numerics are in C++."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.output import Steps
from terrace.store import Store
from terrace.values import Profile, Run

_NO_PLANNERS = ("slow-only", "fast-only", "first-touch")  # placements to compare with: no search
_LEAST_SHARE = 1 / 128


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


class Model:
    """A stored profile, on the machine that it was taken on or on another."""

    def __init__(self, store: Store, run: Run, machine: str | None = None, exact: bool = False) -> None:
        """`machine`: a file or the name of a shipped one; None for the run's own."""
        with core_errors():
            stored = _core.Store(str(store.path))
            self.profile = stored.profile(run.id, exact)
            self.machine = _core.Machine.read(machine) if machine else stored.machine(run.id)
            self.calibration = stored.calibration(run.id)

    @property
    def most_fast(self) -> int:
        """The size of the fastest place of a domain, the smallest where they differ."""
        capacities = self.machine.capacities
        return min(capacities[self.machine.fastest_first(domain)[0]] for domain in self._domains())

    def budget(self, limit: str | None) -> list[int]:
        """Bytes by place of what --budget ("hbm=16GiB") or --fast ("16GiB") says; empty (all) for None."""
        with core_errors():
            return self.machine.budget(limit) if limit else []

    def problem(self, budget: list[int] | None = None) -> _core.Problem:
        """The placement problem under a budget by place."""
        with core_errors():
            return _core.Problem(self.profile, self.machine, budget or [])

    def decide(self, problem: _core.Problem, planner: str) -> _core.Decision:
        """What a planner would do."""
        with core_errors():
            return _core.decide(problem, planner, self.calibration)

    def plan(self, problem: _core.Problem, planner: str) -> _core.Plan:
        """The same as a plan in names, with its lower bound."""
        with core_errors():
            return _core.plan(problem, planner, self.calibration)

    def seconds(self, planner: str) -> float:
        """An iteration under a planner that needs no budget."""
        return self.decide(self.problem(), planner).prediction.total

    def curve(
        self,
        sizes: list[int],
        planner: str,
        steps: Steps | None = None,
        budgets: Mapping[int, list[int]] | None = None,
    ) -> list[CurvePoint]:
        """The planner's predicted time, with its lower bound, for each size; of the fastest kind, where no budgets
        by size are given."""
        points = []
        for size in sizes:
            problem = self.problem(budgets[size] if budgets else self.budget(str(size)))
            decision = self.decide(problem, planner)
            prediction = decision.prediction
            bound = decision.lower_bound or problem.lower_bound(prediction.total)
            points.append(CurvePoint(size, prediction.total, bound, prediction.moves, prediction.moved))
            if steps:
                steps.done()
        return _monotone(points)

    def benefits(self, names: list[str]) -> list[float]:
        """By object: what an iteration gains with it alone in its domain's fastest place; 0 for unknown names."""
        problem = self.problem()
        document = json.loads(problem.to_json())
        domains = [item["domain"] for item in document["items"]]
        home = [document["homes"][domain] for domain in domains]
        fastest = {domain: self.machine.fastest_first(domain)[0] for domain in set(domains)}
        items_of: dict[str, list[int]] = {}
        for number, item in enumerate(document["items"]):
            items_of.setdefault(document["objects"][item["object"]]["name"], []).append(number)
        nothing = problem.predict([home]).total
        gains = []
        for name in names:
            places = list(home)
            for item in items_of.get(name, []):
                places[item] = fastest[domains[item]]
            gains.append(nothing - problem.predict([places]).total if name in items_of else 0.0)
        return gains

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


class core_errors:  # noqa: N801  (reads as what it does)
    """Turns the C++ side's errors into ours."""

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Raises the same line again, with its exit status."""
        if isinstance(error, _core.InvalidError):
            raise WrongCallError(str(error)) from error
        if isinstance(error, _core.Error):
            raise TerraceError(str(error)) from error


def sensitivities(store: Store, run: Run, profile: Profile) -> list[list[str]]:
    """By object and phase: "bandwidth", "latency", "either" by Unimem's thresholds, "" where it is not used."""
    model = Model(store, run, exact=profile.exact)
    position = {item.name: o for o, item in enumerate(profile.objects)}
    result = [["" for _ in profile.phases] for _ in profile.objects]
    for row in model.problem().sensitivities(model.calibration):
        if row["object"] in position and row["phase"] < len(profile.phases):
            result[position[row["object"]]][row["phase"]] = str(row["sensitivity"])
    return result


def price(store: Store, run: Run, profile: Profile, steps: Steps | None = None) -> Pricing:
    """What a report tells of placements: the two ends, each object's benefit, the curve over sizes."""
    model = Model(store, run, exact=profile.exact)
    searching = run.planner in _core.planners() and run.planner not in _NO_PLANNERS
    planner = run.planner if searching else "auto"
    footprint = model.profile.footprint
    return Pricing(
        slow_only=model.seconds("slow-only"),
        fast_only=model.seconds("fast-only"),
        benefits=model.benefits([item.name for item in profile.objects]),
        curve=model.curve(curve_sizes(footprint, model.most_fast), planner, steps),
        planner=planner,
    )


def curve_sizes(footprint: int, most: int) -> list[int]:
    """Sizes to draw a curve through: from a small share of the footprint to all of it, or to all there is."""
    end = min(footprint, most)
    sizes = []
    octave = 4096
    while octave < end:
        # Round numbers: powers of two, and half-way between.
        sizes += [size for size in (octave, octave * 3 // 2) if footprint * _LEAST_SHARE <= size < end]
        octave *= 2
    return [*sizes, end]


def read_plan(path: Path) -> _core.Plan:
    """A plan file."""
    with core_errors():
        return _core.Plan.read(str(path))
