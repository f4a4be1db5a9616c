# SPDX-License-Identifier: Apache-2.0
"""Computes lower bounds on the time of phases and of a loop over all placements, exact or with a stated
confidence. `plan`, `show`, `bounds` and `report` state them.

`bound_of_profile` gives the bound of a recorded loop and its wording to every subcommand. It is a bound of the
mean iteration, because iterations differ and the last one of a detected loop often ends early.

A bound from exact counters is proven. A bound from samples is an estimate, lowered by its sampling error so that a
run beats it with a probability of at most 1 % as far as that error is concerned. Subgradients find the prices that
prove a bound; if they leave a gap to the best known placement, the linear program is solved as well.

SciPy takes a second to load, so functions that need it import it locally.
"""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from terrace import _core, units
from terrace.errors import TerraceError
from terrace.output import warn
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import PhaseInstance, Run

CONFIDENCE = 0.99  # k_bound_confidence of model/uncertainty/loop_bound.hpp
_PASSES = 300
_MAX_DIFFERENCE = 0.1  # between iterations, by the data they use; beyond, none represents their mean
_GAP = 0.01  # between bound and known placement, relative; below, no solver is run
_SOLVER_SECONDS = 2.0
_SOLVER_SIZE = 2_000  # items x phases; beyond, the simplex method takes more than a second
_MAX_EVALUATED = 256  # observed iterations, each of which is priced by itself
_SAME = 0.01  # relative difference of two iterations' times that counts as equal
_UNPROVEN = "From samples this is an estimate; a profile recorded with --exact has a proven bound."
_SOLVER_WORK = 1e8  # nonzeros x iterations of the first-order method: about a second

_Prices = tuple[list[float], list[float], str]  # dual prices of rows and of capacities, and their method


@dataclass(frozen=True)
class Bound:
    """Lower bound in seconds of a loop's mean iteration over all software placements."""

    seconds: float
    means: str
    confidence: float | None  # level; None: proven from exact counters
    by_phase: list[float]  # by phase name: bound over placements made for this phase alone
    iterations: int  # of the loop
    share: float  # time of the mean iteration over that of the usual one, for which plans are made

    @property
    def of_usual(self) -> float:
        """Returns the bound of the usual iteration, for which plans are made; 0 if no bound is known.

        It is an estimate if the usual iteration differs from the mean one (`is_usual`), because bounds do not
        scale.
        """
        return self.seconds / self.share if self.share > 0 else 0.0

    @property
    def is_usual(self) -> bool:
        """Returns whether the mean iteration takes as long as the usual one."""
        return abs(self.share - 1) <= _SAME

    @property
    def of_regrets(self) -> float:
        """Returns the limit of regrets in seconds: of_usual if it is a bound, else 0, which limits nothing."""
        return self.of_usual if self.is_usual else 0.0

    @property
    def title(self) -> str:
        """Returns the heading of of_usual in tables of the usual iteration."""
        return "lower bound" if self.is_usual else "lower bound, scaled"

    @property
    def sentence(self) -> str:
        """Returns the sentence for the user: the bound, and whether it is proven or an estimate."""
        seconds = units.seconds(self.seconds)
        scaled = "" if self.is_usual else " Tables scale it to the usual iteration, for which it is an estimate."
        if self.confidence is None:
            return (
                f"No placement under this budget runs the {self.iterations} recorded iterations in less than "
                f"{seconds} an iteration in the mean ({self.means}).{scaled}"
            )
        return (
            f"At {units.percent(self.confidence, 0)} confidence, placements under this budget take at least "
            f"{seconds} an iteration in the mean ({self.means}).{scaled} {_UNPROVEN}"
        )

    def gap(self, predicted: float) -> float | None:
        """Returns how far a plan with `predicted` seconds per usual iteration is above the bound,
        relative to it.
        """
        return predicted * self.share / self.seconds - 1 if self.seconds > 0 else None

    def gain_sentence(self, predicted: float) -> str:
        """Returns the sentence on how much better other plans can be; "" if unknown."""
        gap = self.gap(predicted)
        if gap is None:
            return ""
        most = f"{units.percent(max(gap, 0.0))} of the bound on this plan"
        if self.confidence is None:
            return f"No placement can gain more than {most}."
        return f"At {units.percent(self.confidence, 0)} confidence, placements gain at most {most}. {_UNPROVEN}"


def bound_of_profile(
    problem: _core.Problem,
    target: float,
    store: Store,
    run: Run,
    budget: list[int],
    machine: str | None = None,
    quick: bool = False,
) -> Bound:
    """Returns the bound of a run's recorded loop under a budget by place, from exact counters if there are any.

    `problem` has the same counters; `target` is the best known time of its iteration in seconds; `machine` prices
    accesses, None for the run's own. A `quick` bound may be lower.
    """
    if not store.has_profile(run, exact=True):
        return sampled_bound(problem, target, store, run, budget, machine)
    seconds, iterations = bound_of_loop(store, run, budget, machine, quick)
    usual = math.fsum(problem.measured)
    times: dict[int, float] = {}
    for instance in store.phase_instances(run):
        times[instance.iteration] = times.get(instance.iteration, 0.0) + instance.ended - instance.begun
    times |= _times_without_overhead(store, run)
    share = math.fsum(times.values()) / len(times) / usual if times and usual > 0 else 1.0
    return Bound(seconds, "prices of each iteration", None, _by_name(problem), iterations, share)


def _times_without_overhead(store: Store, run: Run) -> dict[int, float]:
    """Returns the seconds of each observed iteration by number, without the collector's overhead, which phase
    instances include.
    """
    kept = _core.Store(str(store.path))
    profile, machine = kept.profile(run.id, True), kept.machine(run.id)
    return {
        number: math.fsum(_core.Problem(profile.only(i), machine, cyclic=False).measured)
        for i, number in enumerate(store.profiled_iterations(run, exact=True))
    }


def bound_of_loop(
    store: Store, run: Run, budget: list[int], machine: str | None = None, quick: bool = False
) -> tuple[float, int]:
    """Returns the mean bound per iteration from each iteration's own exact counters, and the number of
    iterations.
    """
    from terrace.solve.certificate import certificate_of  # loads SciPy

    work = 0.0 if quick else _SOLVER_WORK
    kept = _core.Store(str(store.path))
    priced_on = _core.Machine.read(machine) if machine else kept.machine(run.id)
    proven = certificate_of(kept, run.id, budget, work=work, thorough=False, machine=priced_on)
    return proven.loop / proven.iterations, proven.iterations


def lower_bounds(problem: _core.Problem, target: float) -> tuple[list[float], float, str]:
    """Returns bounds of the problem's iteration by phase name and in total, and the method.

    The bound of a phase allows any placement at its begin and at its end.
    """
    row, capacity, means = _prices(problem, target)
    overall = problem.bound_at(row, capacity)
    if target > (1 + _GAP) * overall and problem.items * len(problem.phases) <= _SOLVER_SIZE:
        from terrace.solve import linear  # loads SciPy

        try:
            overall = max(overall, linear.linear_bound(json.loads(problem.to_json()), _SOLVER_SECONDS))
            means = "linear program"
        except TerraceError as error:
            warn(f"{error}; the bound shown is valid, but may be lower than necessary")
    return _by_name(problem), overall, means


def sampled_bound(
    problem: _core.Problem,
    target: float,
    store: Store,
    run: Run,
    budget: list[int],
    machine: str | None = None,
) -> Bound:
    """Returns the bound of the recorded loop from samples, lowered by their error
    (model/uncertainty/loop_bound.hpp).

    `target` is the best known time of an iteration in seconds. If iterations use different data, each observed one
    is bounded separately, with any placement at its begin.
    """
    instances = store.phase_instances(run)
    seen = _observed(store, run, machine)
    shares, iterations = _shares_of_mean(problem, instances)
    if seen.difference > _MAX_DIFFERENCE:
        seconds = 0.0
        for i, weight in zip(seen.numbers, seen.weights, strict=True):
            one = _core.Problem(seen.profile.only(i), seen.machine, budget, False)
            row, capacity = one.prices(math.fsum(one.measured), _PASSES)
            of_one, _ = _shares_of_mean(one, instances)
            warmer = _with_warm_caches(one, of_one, seen.warm, iterations)
            seconds += weight * one.loop_bound(of_one, warmer, 1, row, capacity)[1]
        seconds, means = seconds / math.fsum(seen.weights), "each observed iteration by itself"
    else:
        warmer = _with_warm_caches(problem, shares, seen.warm, iterations)
        # Prices with equal bounds for the cyclic iteration may differ for the loop, whose first and last placement
        # are free. Keep the best.
        (_, seconds), means = max(
            (
                (problem.loop_bound(shares, warmer, iterations, row, capacity), means)
                for row, capacity, means in _candidates(problem, target)
            ),
            key=lambda found: found[0][0],
        )
    usual = math.fsum(problem.measured)
    mean = math.fsum(share * time for share, time in zip(shares, problem.measured, strict=True))
    share = mean / usual if usual > 0 else 1.0
    return Bound(seconds, means, CONFIDENCE, _by_name(problem), iterations, share)


@dataclass(frozen=True)
class _Observed:
    """The iterations of a sampled profile, independent of any budget."""

    profile: _core.Profile
    machine: _core.Machine
    numbers: list[
        int
    ]  # of the observed iterations that are evaluated, from 0: all, or one of each of _MAX_EVALUATED parts
    weights: list[float]  # of each: the number of iterations that it represents
    difference: float  # Problem.iteration_difference
    # Times of phases in iterations that were observed directly after another one. After an unobserved iteration
    # caches appear cold, and misses are counted that they would avoid.
    warm: list[dict[tuple[str, int], float]]


_KNOWN: WeakKeyDictionary[Store, dict[tuple[int, str | None], _Observed]] = WeakKeyDictionary()


def _observed(store: Store, run: Run, machine: str | None) -> _Observed:
    """Returns the observed iterations. They are cached, because they do not depend on the budget."""
    known = _KNOWN.setdefault(store, {})
    if (run.id, machine) not in known:
        kept = _core.Store(str(store.path))
        profile = kept.profile(run.id, False)
        priced_on = _core.Machine.read(machine) if machine else kept.machine(run.id)
        stand_for = profile.stand_for
        count = min(len(stand_for), _MAX_EVALUATED)
        # One of each equal part, drawn at random: every n-th iteration may be a special one, with a reduction.
        draw = random.Random(0)
        begins = [i * len(stand_for) // count for i in range(count + 1)]
        numbers = [draw.randrange(low, high) for low, high in itertools.pairwise(begins)]
        weights = [math.fsum(stand_for[low:high]) for low, high in itertools.pairwise(begins)]
        several = numbers if count > 1 else []
        each = [_core.Problem(profile.only(i), priced_on, cyclic=False) for i in several]
        difference = _core.Problem.iteration_difference(each) if each else 0.0
        warm = [
            _times_of_phases(one) for i, one in zip(several, each, strict=True) if i > 0 and stand_for[i - 1] == 1
        ]
        known[run.id, machine] = _Observed(profile, priced_on, numbers, weights, difference, warm)
    return known[run.id, machine]


def _by_name(problem: _core.Problem) -> list[float]:
    alone = problem.bounds_of_phases()
    return [math.fsum(alone[p] for p in positions) for positions in groups(problem.phases).values()]


def _prices(problem: _core.Problem, target: float) -> _Prices:
    """Returns the dual prices with the largest lower bound of the iteration."""
    return max(_candidates(problem, target), key=lambda prices: problem.bound_at(*prices[:2]))


def _candidates(problem: _core.Problem, target: float) -> list[_Prices]:
    """Returns candidate dual prices: from subgradients, and from the linear program if these leave a gap."""
    row, capacity = problem.prices(target, _PASSES)
    found: list[_Prices] = [(row, capacity, "subgradients")]
    if target > (1 + _GAP) * problem.bound_at(row, capacity):
        from terrace.solve import certificate  # late import: loads HiGHS

        for proof in certificate.proofs_of(problem, target, _SOLVER_WORK, sizes=(0,)):
            row, capacity = proof.row.ravel().tolist(), proof.capacity.ravel().tolist()
            found.append((row, capacity, "prices of the linear program"))
    return found


def _shares_of_mean(problem: _core.Problem, instances: Sequence[PhaseInstance]) -> tuple[list[float], int]:
    """Returns by phase the fraction of it that the run's mean iteration contains, at most 1, and the iteration
    count.

    The last iteration of a detected loop may end early, and others may have other phases.
    """
    usual = _times_of_phases(problem)
    run_of = [0.0] * len(usual)
    iterations = 0
    for _, each in itertools.groupby(instances, key=lambda instance: instance.iteration):
        iterations += 1
        left = Counter[str]()
        times: dict[tuple[str, int], float] = {}
        for instance in each:
            times[instance.name, left[instance.name]] = instance.ended - instance.begun
            left[instance.name] += 1
        for i, (phase, time) in enumerate(usual.items()):
            run_of[i] += min(1.0, times.get(phase, 0.0) / time) if time > 0 else float(phase in times)
    return _by_segment(problem, [sum_of / max(iterations, 1) for sum_of in run_of]), iterations


def _with_warm_caches(
    problem: _core.Problem,
    shares: Sequence[float],
    warm: Sequence[dict[tuple[str, int], float]],
    iterations: int,
) -> list[float]:
    """Returns the shares of the mean iteration if every observed iteration had warm caches.

    `warm` are times of iterations that were observed directly after another one. After a pause in observation, an
    iteration misses what caches would still hold.
    """
    if not warm:
        return list(shares)
    measured = min(len(warm) / max(iterations, 1), 1.0)
    most = [
        math.fsum(times.get(phase, 0.0) for times in warm) / len(warm) / time if time > 0 else 1.0
        for phase, time in _times_of_phases(problem).items()
    ]
    limits = zip(shares, _by_segment(problem, most), strict=True)
    return [measured * share + (1 - measured) * min(share, limit) for share, limit in limits]


def _begins(problem: _core.Problem) -> list[int]:
    """Returns the positions at which phases begin; the other positions are segments of phases."""
    return [p for p, name in enumerate(problem.phases) if p == 0 or "@" not in name]


def _by_segment(problem: _core.Problem, values: Sequence[float]) -> list[float]:
    """Expands values of phases to their segments."""
    spans = itertools.pairwise([*_begins(problem), len(problem.phases)])
    return [value for value, (begin, end) in zip(values, spans, strict=True) for _ in range(begin, end)]


def _times_of_phases(problem: _core.Problem) -> dict[tuple[str, int], float]:
    """Returns the seconds of phases, including segments, by name and number of previous occurrences."""
    names, measured = problem.phases, problem.measured
    met = Counter[str]()
    times: dict[tuple[str, int], float] = {}
    for begin, end in itertools.pairwise([*_begins(problem), len(names)]):
        name = names[begin]
        times[name, met[name]] = math.fsum(measured[begin:end])
        met[name] += 1
    return times
