"""What no placement beats: lower bounds of phases and of a whole loop, exact or with a stated confidence.

A bound from exact counters is proven. A bound from samples is an estimate, lowered by its sampling error: as far
as that error goes, a run beats it with a probability of at most 1 %. Subgradients find the prices that prove a
bound; where they leave a gap to the placement that is known, the linear program is tried as well.

SciPy takes a second to load: what takes it is imported where it is used.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from terrace import _core
from terrace.errors import TerraceError
from terrace.output import warn
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import PhaseInstance, Run

CONFIDENCE = 0.99
_QUANTILE = 2.326  # standard errors, one-sided
_DRAWS = 20
_PASSES = 300
_GAP = 0.01  # between bound and known placement, as a share: less, and no solver is tried
_SOLVER_SECONDS = 2.0
_SOLVER_SIZE = 2_000  # items x phases; beyond, the simplex method takes more than a second
_SOLVER_WORK = 1e8  # nonzeros x iterations of the first-order method: about a second


@dataclass(frozen=True)
class Bound:
    """Seconds that no placement by software beats, of a loop's mean iteration."""

    seconds: float
    means: str
    confidence: float | None  # with which it holds; None where it is proven from exact counters
    by_phase: list[float]  # by name of phase: what no placement for this phase alone beats


def bound_of_loop(store: Store, run: Run, budget: list[int]) -> float:
    """Seconds of an iteration in the mean, from each iteration's own exact counters."""
    from terrace.solve.certificate import certificate_of  # takes SciPy

    proven = certificate_of(_core.Store(str(store.path)), run.id, budget, work=_SOLVER_WORK)
    return proven.loop / proven.iterations


def lower_bounds(problem: _core.Problem, target: float) -> tuple[list[float], float, str]:
    """Of the problem's iteration, by name of phase and in all, and by which means.

    A phase's own bound lets data be anywhere when it begins and anywhere when it ends.
    """
    row, capacity, means = _prices(problem, target)
    overall = problem.bound_at(row, capacity)
    if target > (1 + _GAP) * overall and problem.items * len(problem.phases) <= _SOLVER_SIZE:
        from terrace.solve import linear  # takes SciPy

        try:
            overall = max(overall, linear.linear_bound(json.loads(problem.to_json()), _SOLVER_SECONDS))
            means = "linear program"
        except TerraceError as error:
            warn(f"{error}; the bound is what its prices prove")
    return _by_name(problem), overall, means


def sampled_bound(problem: _core.Problem, target: float, store: Store, run: Run) -> Bound:
    """The bound of the recorded loop from samples: lowered by what the draws of their error are off.

    `target` is the best time of an iteration that is known, seconds.
    """
    row, capacity, means = _prices(problem, target)
    shares, iterations = _shares_of_mean(problem, store.phase_instances(run))
    estimate, drawn = problem.loop_bound(shares, iterations, target, row, capacity, _DRAWS)
    core = _core_time(problem, shares)
    drawn = [seconds for seconds in drawn if math.isfinite(seconds)]
    if len(drawn) < _DRAWS // 2:
        return Bound(core, "core time: too few samples for more", CONFIDENCE, _by_name(problem))
    bias = max(0.0, float(np.mean(drawn)) - estimate)
    error = float(np.std(drawn, ddof=1))
    return Bound(max(core, estimate - bias - _QUANTILE * error), means, CONFIDENCE, _by_name(problem))


def _core_time(problem: _core.Problem, shares: Sequence[float]) -> float:
    """Seconds of the mean iteration that no memory shortens: instructions alone, which are not sampled."""
    phases = json.loads(problem.to_json())["phases"]
    return math.fsum(share * phase["core"] for share, phase in zip(shares, phases, strict=True))


def _by_name(problem: _core.Problem) -> list[float]:
    alone = problem.bounds_of_phases()
    return [math.fsum(alone[p] for p in positions) for positions in groups(problem.phases).values()]


def _prices(problem: _core.Problem, target: float) -> tuple[list[float], list[float], str]:
    """Row and capacity, and how they were found."""
    row, capacity = problem.prices(target, _PASSES)
    found = problem.bound_at(row, capacity)
    if target <= (1 + _GAP) * found:
        return row, capacity, "subgradients"
    from terrace.solve import certificate  # takes SciPy

    for proof in certificate.proofs_of(problem, target, _SOLVER_WORK, sizes=(0,)):
        if (proven := proof.proven(problem)) > found:
            row, capacity, found = proof.row.ravel().tolist(), proof.capacity.ravel().tolist(), proven
    return row, capacity, "prices of the linear program"


def _shares_of_mean(problem: _core.Problem, instances: Sequence[PhaseInstance]) -> tuple[list[float], int]:
    """By phase of the problem, how much of it the mean iteration of the run has, by time and at most all; and how
    many iterations there are. The last turn of a detected loop may end early, and others may have other phases.
    """
    begins = [p for p, name in enumerate(problem.phases) if p == 0 or "@" not in name]
    ends = [*begins[1:], len(problem.phases)]
    names = [problem.phases[p] for p in begins]
    usual = [math.fsum(problem.measured[p] for p in range(b, e)) for b, e in zip(begins, ends, strict=True)]
    run_of = [0.0] * len(names)
    iterations = 0
    for _, each in itertools.groupby(instances, key=lambda instance: instance.iteration):
        iterations += 1
        left = Counter[str]()
        times: dict[tuple[str, int], float] = {}
        for instance in each:
            times[instance.name, left[instance.name]] = instance.ended - instance.begun
            left[instance.name] += 1
        met = Counter[str]()
        for i, name in enumerate(names):
            time = times.get((name, met[name]), 0.0)
            met[name] += 1
            run_of[i] += min(1.0, time / usual[i]) if usual[i] > 0 else float((name, met[name] - 1) in times)
    shares: list[float] = []
    for begin, end, sum_of in zip(begins, ends, run_of, strict=True):
        shares += [sum_of / max(iterations, 1)] * (end - begin)
    return shares, iterations
