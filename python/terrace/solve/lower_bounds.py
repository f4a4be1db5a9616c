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
from weakref import WeakKeyDictionary

from terrace import _core, units
from terrace.errors import TerraceError
from terrace.output import warn
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import PhaseInstance, Run

CONFIDENCE = 0.99  # k_bound_confidence of model/uncertainty/loop_bound.hpp
_PASSES = 300
_MAX_DIFFERENCE = 0.1  # of iterations, by the data they use: beyond, none of them is like their mean
_GAP = 0.01  # between bound and known placement, as a share: less, and no solver is tried
_SOLVER_SECONDS = 2.0
_SOLVER_SIZE = 2_000  # items x phases; beyond, the simplex method takes more than a second
_SAME = 0.01  # of the times of two iterations, as a share
_UNPROVEN = "From samples this is an estimate; a profile recorded with --exact has a proven bound."
_SOLVER_WORK = 1e8  # nonzeros x iterations of the first-order method: about a second

_Prices = tuple[list[float], list[float], str]  # dual prices of rows and of capacities, and their method


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
    def of_usual(self) -> float:
        """Seconds of the usual iteration, which plans are made for; 0 where no bound is known.

        An estimate where the usual iteration is not like the mean one (`is_usual`): a bound does not scale."""
        return self.seconds / self.share if self.share > 0 else 0.0

    @property
    def is_usual(self) -> bool:
        """Whether the mean iteration takes as long as the usual one."""
        return abs(self.share - 1) <= _SAME

    @property
    def of_regrets(self) -> float:
        """Seconds that limit regrets: of_usual where it is a bound, else 0, which limits nothing."""
        return self.of_usual if self.is_usual else 0.0

    @property
    def title(self) -> str:
        """Heading of of_usual in a table beside times of the usual iteration."""
        return "lower bound" if self.is_usual else "lower bound, scaled"

    @property
    def sentence(self) -> str:
        """What the bound says, and whether it is proven or an estimate."""
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
    """The bound of a run's recorded loop under a budget by place, from exact counters if it has them.

    `problem` is of the same counters; `target` is the best time of its iteration that is known, seconds; `machine`
    the one to price on, None for the run's own. A `quick` bound may be lower."""
    if not store.has_profile(run, exact=True):
        return sampled_bound(problem, target, store, run, budget, machine)
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


def sampled_bound(
    problem: _core.Problem,
    target: float,
    store: Store,
    run: Run,
    budget: list[int],
    machine: str | None = None,
) -> Bound:
    """The bound of the recorded loop from samples, lowered by their error (model/uncertainty/loop_bound.hpp).

    `target` is the best time of an iteration that is known, seconds. Where iterations use different data, each one
    that was observed is bounded by itself, with data anywhere when it begins.
    """
    instances = store.phase_instances(run)
    seen = _observed(store, run, machine)
    shares, iterations = _shares_of_mean(problem, instances)
    if seen.difference > _MAX_DIFFERENCE:
        seconds = 0.0
        for i, weight in enumerate(seen.weights):
            one = _core.Problem(seen.profile.only(i), seen.machine, budget, False)
            row, capacity = one.prices(math.fsum(one.measured), _PASSES)
            of_one, _ = _shares_of_mean(one, instances)
            warmer = _with_warm_caches(one, of_one, seen.warm, iterations)
            seconds += weight * one.loop_bound(of_one, warmer, 1, row, capacity)[1]
        seconds, means = seconds / math.fsum(seen.weights), "each observed iteration by itself"
    else:
        warmer = _with_warm_caches(problem, shares, seen.warm, iterations)
        # Prices with equal bounds for the cyclic iteration may differ for the loop, whose first and last placement
        # are free: keep the best.
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
    """The iterations of a sampled profile, apart from any budget."""

    profile: _core.Profile
    machine: _core.Machine
    weights: list[float]  # by observed iteration: for how many of the loop it stands
    difference: float  # Problem.iteration_difference
    # Times of phases of the iterations that were observed directly behind another. One behind a pause finds caches
    # cold, and misses what they would hold.
    warm: list[dict[tuple[str, int], float]]


_KNOWN: WeakKeyDictionary[Store, dict[tuple[int, str | None], _Observed]] = WeakKeyDictionary()


def _observed(store: Store, run: Run, machine: str | None) -> _Observed:
    """Returns the observed iterations. They are cached, because they do not depend on the budget."""
    known = _KNOWN.setdefault(store, {})
    if (run.id, machine) not in known:
        kept = _core.Store(str(store.path))
        profile = kept.profile(run.id, False)
        priced_on = _core.Machine.read(machine) if machine else kept.machine(run.id)
        weights = profile.stand_for
        several = range(profile.iterations if profile.iterations > 1 else 0)
        each = [_core.Problem(profile.only(i), priced_on, cyclic=False) for i in several]
        difference = _core.Problem.iteration_difference(each) if each else 0.0
        behind = zip(each[1:], weights, strict=False)
        warm = [_times_of_phases(one) for one, before in behind if before == 1]
        known[run.id, machine] = _Observed(profile, priced_on, weights, difference, warm)
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
        from terrace.solve import certificate  # loads HiGHS: imported late

        for proof in certificate.proofs_of(problem, target, _SOLVER_WORK, sizes=(0,)):
            row, capacity = proof.row.ravel().tolist(), proof.capacity.ravel().tolist()
            found.append((row, capacity, "prices of the linear program"))
    return found


def _shares_of_mean(problem: _core.Problem, instances: Sequence[PhaseInstance]) -> tuple[list[float], int]:
    """By phase of the problem, how much of it the mean iteration of the run has, by time and at most all; and how
    many iterations there are. The last turn of a detected loop may end early, and others may have other phases.
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
    """Shares of the mean iteration if those observed behind a pause are as long as the `warm` ones, which were
    observed directly behind another. An iteration behind a pause misses what caches would still hold.
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
    """The positions at which the problem's phases begin; the others are segments of theirs."""
    return [p for p, name in enumerate(problem.phases) if p == 0 or "@" not in name]


def _by_segment(problem: _core.Problem, values: Sequence[float]) -> list[float]:
    """Values of phases, for each of their segments."""
    spans = itertools.pairwise([*_begins(problem), len(problem.phases)])
    return [value for value, (begin, end) in zip(values, spans, strict=True) for _ in range(begin, end)]


def _times_of_phases(problem: _core.Problem) -> dict[tuple[str, int], float]:
    """Seconds of the phases, with their segments, by name and by how many of that name came before."""
    names, measured = problem.phases, problem.measured
    met = Counter[str]()
    times: dict[tuple[str, int], float] = {}
    for begin, end in itertools.pairwise([*_begins(problem), len(names)]):
        name = names[begin]
        times[name, met[name]] = math.fsum(measured[begin:end])
        met[name] += 1
    return times
