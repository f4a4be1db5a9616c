"""How sure ranks and plans are: sampling error carried through the model (src/tiering/strategy/confidence)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from terrace import _core, units
from terrace.errors import WrongCallError, core_errors
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.values import Floats, Run

DRAWS = 20  # of a plan: each takes about as long as the plan itself
BENEFIT_DRAWS = 400  # of benefits, which need no plan; of large problems fewer
_UNSURE = 0.05  # more probable than that, two objects may swap
_MOVED = 0.1  # of an object's bytes and time: so much more or less of it in fast memory is another placement
_MIN_TIME = 1e-12  # s: a benefit below that is none
_PAIRS = 3
# Standard error of a predicted time where samples are many, as a share: a default that is not fitted. Plans of NPB
# CG and FT, class S, took 0.0 to 4.2 % longer than predicted.
_LAW_ERROR = 0.02


@dataclass(frozen=True)
class Benefit:
    """Benefit of an object: seconds that an iteration gains with it alone in fast memory, 90 % interval and rank.

    The truth is the same difference by the time law on exact counters: all else is in slow memory, at any budget.
    """

    name: str
    seconds: float
    low: float
    high: float
    rank: int | None  # from 1; None where nothing is gained
    rival: str | None  # with which it most probably swaps ranks; None where the rank is certain
    swap: float  # how probably the order of the two is the other one

    @property
    def certainty(self) -> str:
        """The rank in words. A plan has its own confidence: it also depends on sizes and the budget."""
        if self.rank is None:
            return ""
        if self.rival is None:
            return str(self.rank)
        return f"{self.rank}, may swap with {self.rival} (p = {self.swap:.2f})"


@dataclass(frozen=True)
class Regret:
    """Regret of a plan by sampling error, predicted seconds an iteration: mean and 90 % interval over the draws.

    No draw's regret exceeds what the bound leaves of the plan's time in that draw.

    The truth is the time of a run under the plan less that under the plan of exact counters, and no less than 0.
    """

    seconds: float
    low: float
    high: float
    predicted: float  # an iteration with the plan
    draws: int

    @property
    def sentence(self) -> str:
        """For people."""
        if self.predicted <= 0:
            return "Sampling error says nothing: nothing is predicted."
        share = [units.percent(value / self.predicted) for value in (self.seconds, self.low, self.high)]
        return f"Sampling error costs {share[0]} (90 %: {share[1]} to {share[2]})."


@dataclass(frozen=True)
class PlanTime:
    """Seconds of an iteration with a plan: predicted, and a 90 % interval of a run's mean iteration under it."""

    seconds: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """For people."""
        ends = f"{units.seconds(self.low)} to {units.seconds(self.high)}"
        return f"An iteration with this plan takes {units.seconds(self.seconds)} (90 %: {ends})."


def plan_time(sure: _core.SurePlan) -> PlanTime | None:
    """The time of a plan; None from fewer than two draws.

    Two errors, which do not depend on each other: that of sampling, by the times that the plan would take if draws
    were true, and that of the time law. A plan is chosen for what the estimate promises, so draws are slower on
    average: the interval reaches from the estimate to their mean, and beyond both.
    """
    times, predicted = np.asarray(sure.times), sure.plan.predicted
    if len(times) < 2 or predicted <= 0:
        return None
    from scipy.special import ndtri, stdtrit  # late, as their import takes long

    sampled = float(times.std(ddof=1)) * float(np.sqrt(1 + 1 / len(times))) * float(stdtrit(len(times) - 1, 0.95))
    law = _LAW_ERROR * predicted * float(ndtri(0.95))
    beyond, mean = float(np.hypot(sampled, law)), float(times.mean())
    return PlanTime(predicted, max(min(predicted, mean) - beyond, 0.0), max(predicted, mean) + beyond)


@dataclass(frozen=True)
class Swap:
    """Of two objects, one that the draws' plans hold less of in fast memory than the plan, the other more."""

    less: str
    more: str
    probability: float


def benefits(model: Model, names: Sequence[str], draws: int = BENEFIT_DRAWS) -> list[Benefit]:
    """By name: what objects gain, and how sure their order is; 0 for unknown names.

    Errors, which do not depend on each other: those of samples and of the spread of prefetched lines within the
    iterations that were observed, drawn, and that of the iterations that were not, which the differences of those
    that were tell (Student's t).
    """
    problem = model.problem()
    position = {name: o for o, name in enumerate(problem.objects)}
    with core_errors():
        estimates = np.asarray(problem.benefits())
        sampled, drawn = (
            np.asarray(rows).reshape(-1, len(problem.objects)) for rows in _core.benefit_draws(problem, draws)
        )
    known = [name for name in names if name in position and estimates[position[name]] > _MIN_TIME]
    known.sort(key=lambda name: -estimates[position[name]])
    between = model.between_iterations
    columns = [position[name] for name in known]
    errors = np.array([between.errors.get(name, 0.0) for name in known])
    orders = drawn[:, columns]
    if errors.any():
        normal = np.random.default_rng(0).standard_normal(orders.shape)
        orders = orders * np.maximum(1 + normal * errors, 0.0)
    intervals = [
        _widened(estimate, _interval(estimate, by_sampling, both), error * estimate, between.freedom)
        for estimate, by_sampling, both, error in zip(
            estimates[columns], sampled[:, columns].T, drawn[:, columns].T, errors, strict=True
        )
    ]
    ranked = _ranked(known, estimates[columns], orders, intervals)
    return [ranked.get(name, Benefit(name, 0.0, 0.0, 0.0, None, None, 0.0)) for name in names]


def _widened(estimate: float, interval: tuple[float, float], error: float, freedom: int) -> tuple[float, float]:
    """By the standard error of something else, which does not depend on it, of so many degrees of freedom."""
    if error <= 0:
        return interval
    from scipy.special import stdtrit  # its import takes half of the time of a subcommand that never comes here

    more = error * float(stdtrit(freedom, 0.95))
    low, high = (float(np.hypot(end - estimate, more)) for end in interval)
    return max(estimate - low, 0.0), estimate + high


def _ranked(
    known: list[str], estimates: Floats, draws: Floats, intervals: list[tuple[float, float]]
) -> dict[str, Benefit]:
    """`known` is in the order of the estimates; a column of the draws for each."""
    result = {}
    for r, name in enumerate(known):
        own = draws[:, r : r + 1]
        # As many draws in the other order; equal ones count half.
        other_way = np.where(np.arange(len(known)) > r, draws > own, draws < own).mean(axis=0)
        other_way += 0.5 * (draws == own).mean(axis=0)
        other_way[r] = 0.0
        rival = int(other_way.argmax()) if len(known) > 1 else r
        swap = float(other_way[rival])
        rival_name = known[rival] if swap > _UNSURE else None
        result[name] = Benefit(name, float(estimates[r]), *intervals[r], r + 1, rival_name, swap)
    return result


def _interval(estimate: float, sampled: Floats, draws: Floats) -> tuple[float, float]:
    """90 % of what is true, given an estimate, draws of sampling's error about it, and draws of all errors.

    The draws are to the estimate what estimates are to the truth (the bootstrap principle: Efron and Tibshirani,
    An Introduction to the Bootstrap, chapter 10). A benefit is no linear function of the counts: estimates above
    the time of a phase are scaled down to it and those below are not, and a phase takes the larger of two terms.
    So noise biases it, by as much in the draws against the estimate as in the estimate against the truth: the
    quantiles of the draws are moved back by twice that, those below the estimate by as much of it as they are of
    the estimate: where an object may gain nothing, no shift says otherwise. Where the bias exceeds the width of
    the interval, the interval reaches to the estimate: the estimate is not corrected, since plans are made of it.
    """
    bias = float(sampled.mean()) - estimate
    low, high = (
        float(value) - 2 * bias * min(1.0, float(value) / estimate) for value in np.quantile(draws, (0.05, 0.95))
    )
    return min(estimate, max(low, 0.0)), max(estimate, high)


class Certainty:
    """What the draws of one plan say of it."""

    def __init__(self, sure: _core.SurePlan, names: Sequence[str]) -> None:
        """`names` are the problem's objects."""
        self.draws = len(sure.regrets)
        self._names = list(names)
        planned = np.asarray([share for share, _ in sure.shares])
        drawn = np.asarray([shares for _, shares in sure.shares]).reshape(len(names), -1)
        self._less = drawn < planned[:, None] - _MOVED
        self._more = drawn > planned[:, None] + _MOVED
        self._placed = planned > 0

    @property
    def certain(self) -> list[str]:
        """Objects of which the plan has a share in fast memory, and nearly all draws about as much."""
        unsure = (self._less | self._more).mean(axis=1) > _UNSURE
        return [name for o, name in enumerate(self._names) if self._placed[o] and not unsure[o]]

    @property
    def swaps(self) -> list[Swap]:
        """Pairs of which draws hold less of one and more of the other, the most probable first."""
        pairs = [
            Swap(self._names[int(a)], self._names[int(b)], float((self._less[a] & self._more[b]).mean()))
            for a in np.flatnonzero(self._less.mean(axis=1) > _UNSURE)
            for b in np.flatnonzero(self._more.mean(axis=1) > _UNSURE)
        ]
        return sorted((pair for pair in pairs if pair.probability > _UNSURE), key=lambda pair: -pair.probability)

    @property
    def sentence(self) -> str:
        """For people: "Certain: a, p. May swap between fast and slow memory: q and z (p = 0.31)."."""
        words = []
        if certain := self.certain:
            words.append(f"Certain: {', '.join(certain)}.")
        if swaps := self.swaps[:_PAIRS]:
            words.append(
                "May swap between fast and slow memory: "
                + ", ".join(f"{s.less} and {s.more} (p = {s.probability:.2f})" for s in swaps)
                + "."
            )
        return " ".join(words)

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "certain": self.certain,
            "may_swap": [{"less": s.less, "more": s.more, "probability": s.probability} for s in self.swaps],
        }


def regret_of(plan: _core.Plan) -> Regret | None:
    """What a plan says of its sampling error; None where nobody asked."""
    if plan.draws == 0:
        return None
    return Regret(*plan.regret, predicted=plan.predicted, draws=plan.draws)


def sampling_regret(
    store: Store,
    limit: str,
    *,
    run: Run | None = None,
    machine: str | None = None,
    planner: str = "auto",
    draws: int = DRAWS,
) -> Regret:
    """The estimated cost of sampling error of the plan that a store's samples give under a budget ("64MiB" of the
    fastest kind, or "hbm=1GiB,..."). Raises WrongCallError for less than one draw."""
    if draws < 1:
        raise WrongCallError(f"{draws} draws say nothing of sampling error: give 1 or more")
    from terrace.solve.lower_bounds import bound_of_profile  # imported late, because it takes long

    run = run or store.run()
    model = Model(store, run, machine)
    budget = model.budget(limit)
    problem = model.problem(budget)
    sure = model.sure_plan(problem, planner, draws)
    bound = bound_of_profile(problem, sure.plan.predicted, store, run, budget, machine, quick=True)
    sure.limit_regrets(bound.of_regrets)
    regret = regret_of(sure.plan)
    assert regret is not None
    return regret
