"""What no placement beats: lower bounds of phases and of a whole loop, exact or with a stated confidence.

`bound_of_profile` gives the bound of a recorded loop and its wording to every subcommand: of the mean iteration,
since iterations differ and the last one of a detected loop often ends early.

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

from terrace import _core, units
from terrace.errors import TerraceError
from terrace.output import warn
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import PhaseInstance, Run

CONFIDENCE = 0.99
# One-sided quantiles of Student's t at that confidence, for a standard error from so many draws.
_QUANTILES = {20: 2.539, 12: 2.718, 8: 2.998}
_DRAW_WORK = 60_000  # items x phases of a problem of which the most draws take half a second
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
    iterations: int  # of the loop
    share: float  # time of the mean iteration over that of the usual one, which plans are made for

    @property
    def sentence(self) -> str:
        """What the bound says, and whether it is proven or an estimate."""
        seconds = units.seconds(self.seconds)
        if self.confidence is None:
            return (
                f"No placement under this budget runs the {self.iterations} recorded iterations in less than "
                f"{seconds} an iteration in the mean ({self.means})."
            )
        return (
            f"At {units.percent(self.confidence, 0)} confidence, placements under this budget take at least "
            f"{seconds} an iteration in the mean ({self.means}). The profile has samples, which prove no bound: "
            "--collector exact does."
        )

    def gap(self, predicted: float) -> float | None:
        """By what share of the bound a plan is above it, which takes `predicted` seconds in a usual iteration."""
        return predicted * self.share / self.seconds - 1 if self.seconds > 0 else None

    def gain_sentence(self, predicted: float) -> str:
        """How much better than such a plan others can be; "" where it is not known."""
        gap = self.gap(predicted)
        if gap is None:
            return ""
        most = f"{units.percent(max(gap, 0.0))} of the bound on this plan"
        if self.confidence is None:
            return f"No placement can gain more than {most}."
        return (
            f"At {units.percent(self.confidence, 0)} confidence, placements gain at most {most}. "
            "The profile has samples, which prove no bound: --collector exact does."
        )


def bound_of_profile(
    problem: _core.Problem,
    target: float,
    store: Store,
    run: Run,
    budget: list[int],
    machine: str | None = None,
    quick: bool = False,
) -> Bound:
    """The bound of a run's recorded loop under a budget by place, from exact counters if it has them.

    `problem` is of the same counters; `target` is the best time of its iteration that is known, seconds; `machine`
    the one to price on, None for the run's own. A `quick` bound may be lower."""
    if not store.has_profile(run, exact=True):
        return sampled_bound(problem, target, store, run)
    seconds, iterations = bound_of_loop(store, run, budget, machine, quick)
    usual = math.fsum(problem.measured)
    times: dict[int, float] = {}
    for instance in store.phase_instances(run):
        times[instance.iteration] = times.get(instance.iteration, 0.0) + instance.ended - instance.begun
    share = math.fsum(times.values()) / len(times) / usual if times and usual > 0 else 1.0
    return Bound(seconds, "prices of each iteration", None, _by_name(problem), iterations, share)


def bound_of_loop(
    store: Store, run: Run, budget: list[int], machine: str | None = None, quick: bool = False
) -> tuple[float, int]:
    """Seconds of an iteration in the mean, from each iteration's own exact counters, and how many there are."""
    from terrace.solve.certificate import certificate_of  # takes SciPy

    work = 0.0 if quick else _SOLVER_WORK
    kept = _core.Store(str(store.path))
    priced_on = _core.Machine.read(machine) if machine else kept.machine(run.id)
    proven = certificate_of(kept, run.id, budget, work=work, thorough=False, machine=priced_on)
    return proven.loop / proven.iterations, proven.iterations


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
    work = problem.items * len(problem.phases)
    draws = next((draws for draws in _QUANTILES if work * draws <= _DRAW_WORK * max(_QUANTILES)), min(_QUANTILES))
    estimate, drawn, core = problem.loop_bound(shares, iterations, target, row, capacity, draws)
    bias = max(0.0, float(np.mean(drawn)) - estimate)
    error = float(np.std(drawn, ddof=1)) * math.sqrt(1 + 1 / draws)
    seconds = max(core, estimate - bias - _QUANTILES[draws] * error)
    usual = math.fsum(problem.measured)
    mean = math.fsum(share * time for share, time in zip(shares, problem.measured, strict=True))
    share = mean / usual if usual > 0 else 1.0
    return Bound(seconds, means, CONFIDENCE, _by_name(problem), iterations, share)


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
