# SPDX-License-Identifier: Apache-2.0
"""Estimates the certainty of ranks and plans by propagating sampling error through the model. `show`, `plan` and
`report` state the intervals.

The numerical part is src/tiering/strategy/confidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from terrace import _core, units
from terrace.errors import WrongCallError, core_errors
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.values import Floats, Run

DRAWS = 20  # resampled plans; each takes about as long as the plan itself
BENEFIT_DRAWS = 400  # of benefits, which need no plan; fewer for large problems
_UNSURE = 0.05  # minimum probability for which a swap of two objects is reported
_MOVED = 0.1  # change of an object's bytes and time in fast memory that makes another placement
_MIN_TIME = 1e-12  # s; smaller benefits count as none
_PAIRS = 3
# Standard error of a predicted time with many samples, relative: a default that is not fitted. Plans of NPB CG and
# FT, class S, took 0.0 to 4.2 % longer than predicted.
_LAW_ERROR = 0.02


@dataclass(frozen=True)
class Benefit:
    """Seconds per iteration that an object gains alone in fast memory, with 90 % interval and rank.

    The true value is the same difference from exact counters: everything else in slow memory, under any budget.
    """

    name: str
    seconds: float
    low: float
    high: float
    rank: int | None  # from 1; None without gain
    rival: str | None  # the object most likely to swap ranks; None if the rank is certain
    swap: float  # probability that the two are in the other order

    @property
    def certainty(self) -> str:
        """Returns the rank in words.

        The plan has its own confidence, which depends on sizes and budget as well.
        """
        if self.rank is None:
            return ""
        if self.rival is None:
            return str(self.rank)
        return f"{self.rank}, may swap with {self.rival} (p = {self.swap:.2f})"


@dataclass(frozen=True)
class Regret:
    """Cost of a plan's sampling error, predicted seconds per iteration: mean and 90 % interval over the draws.

    In each draw the regret is at most the distance from the plan's time to the bound. The true value is the time
    of a run under the plan minus that under the plan of exact counters, and at least 0.
    """

    seconds: float
    low: float
    high: float
    predicted: float  # seconds per iteration with the plan
    draws: int

    @property
    def sentence(self) -> str:
        """Returns the sentence for the user."""
        if self.predicted <= 0:
            return "The effect of sampling error is unknown: there is no prediction."
        share = [units.percent(value / self.predicted) for value in (self.seconds, self.low, self.high)]
        return f"Sampling error costs {share[0]} (90 %: {share[1]} to {share[2]})."


@dataclass(frozen=True)
class PlanTime:
    """Predicted seconds of an iteration with a plan, and the 90 % interval of a run's mean iteration."""

    seconds: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """Returns the sentence for the user."""
        ends = f"{units.seconds(self.low)} to {units.seconds(self.high)}"
        return f"An iteration with this plan takes {units.seconds(self.seconds)} (90 %: {ends})."


def plan_time(sure: _core.SurePlan) -> PlanTime | None:
    """Returns the time of a plan, or None from fewer than two draws.

    Combines two independent errors: sampling error, as the spread of the plan's time over the draws, and the error
    of the time law. A plan is optimised for the estimate, so draws are slower on average: the interval reaches
    from the estimate to their mean, and beyond both.
    """
    times, predicted = np.asarray(sure.times), sure.plan.predicted
    if len(times) < 2 or predicted <= 0:
        return None
    from scipy.special import ndtri, stdtrit  # late import: slow

    sampled = float(times.std(ddof=1)) * float(np.sqrt(1 + 1 / len(times))) * float(stdtrit(len(times) - 1, 0.95))
    law = _LAW_ERROR * predicted * float(ndtri(0.95))
    beyond, mean = float(np.hypot(sampled, law)), float(times.mean())
    return PlanTime(predicted, max(min(predicted, mean) - beyond, 0.0), max(predicted, mean) + beyond)


@dataclass(frozen=True)
class Swap:
    """Two objects of which the draws' plans hold less and more, respectively, in fast memory than the plan."""

    less: str
    more: str
    probability: float


def benefits(model: Model, names: Sequence[str], draws: int = BENEFIT_DRAWS) -> list[Benefit]:
    """Returns by name what objects gain and how certain their order is; 0 for unknown names.

    Combines independent errors: the draws cover the samples and the spread of prefetched lines within observed
    iterations; unobserved iterations are covered by the differences between observed ones (Student's t).
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
    """Widens the interval by an independent standard error with `freedom` degrees of freedom."""
    if error <= 0:
        return interval
    from scipy.special import (
        stdtrit,
    )  # late import: half of the start-up time

    more = error * float(stdtrit(freedom, 0.95))
    low, high = (float(np.hypot(end - estimate, more)) for end in interval)
    return max(estimate - low, 0.0), estimate + high


def _ranked(
    known: list[str], estimates: Floats, draws: Floats, intervals: list[tuple[float, float]]
) -> dict[str, Benefit]:
    """Ranks `known`, which is in the order of the estimates and of the draws' columns."""
    result = {}
    for r, name in enumerate(known):
        own = draws[:, r : r + 1]
        # Share of draws in the opposite order; ties count half.
        other_way = np.where(np.arange(len(known)) > r, draws > own, draws < own).mean(axis=0)
        other_way += 0.5 * (draws == own).mean(axis=0)
        other_way[r] = 0.0
        rival = int(other_way.argmax()) if len(known) > 1 else r
        swap = float(other_way[rival])
        rival_name = known[rival] if swap > _UNSURE else None
        result[name] = Benefit(name, float(estimates[r]), *intervals[r], r + 1, rival_name, swap)
    return result


def _interval(estimate: float, sampled: Floats, draws: Floats) -> tuple[float, float]:
    """Returns the 90 % interval of the true value from the estimate, draws of sampling error, and draws of all
    errors.

    The draws relate to the estimate as estimates to the true value (bootstrap principle: Efron and Tibshirani, An
    Introduction to the Bootstrap, chapter 10). A benefit is not linear in the counts: estimates above the time of
    a phase are scaled down to it and those below are not, and a phase takes the larger of two terms. So noise
    biases it, by the same amount in the draws against the estimate as in the estimate against the truth. The
    quantiles of the draws are shifted back by twice that bias. Below the estimate the shift is proportional to the
    draw, so that an object that may gain nothing keeps this possibility. If the bias exceeds the width of the
    interval, the interval is extended to the estimate: the estimate itself is not corrected, because plans are
    made from it.
    """
    bias = float(sampled.mean()) - estimate
    low, high = (
        float(value) - 2 * bias * min(1.0, float(value) / estimate) for value in np.quantile(draws, (0.05, 0.95))
    )
    return min(estimate, max(low, 0.0)), max(estimate, high)


class Certainty:
    """Summary of the draws of one plan."""

    def __init__(self, sure: _core.SurePlan, names: Sequence[str]) -> None:
        """Compares the draws with the plan; `names` are the problem's objects."""
        self.draws = len(sure.regrets)
        self._names = list(names)
        planned = np.asarray([share for share, _ in sure.shares])
        drawn = np.asarray([shares for _, shares in sure.shares]).reshape(len(names), -1)
        self._less = drawn < planned[:, None] - _MOVED
        self._more = drawn > planned[:, None] + _MOVED
        self._placed = planned > 0

    @property
    def certain(self) -> list[str]:
        """Returns the objects that the plan and nearly all draws hold in fast memory to about the same share."""
        unsure = (self._less | self._more).mean(axis=1) > _UNSURE
        return [name for o, name in enumerate(self._names) if self._placed[o] and not unsure[o]]

    @property
    def swaps(self) -> list[Swap]:
        """Returns pairs of which draws hold less of one and more of the other, the most probable first."""
        pairs = [
            Swap(self._names[int(a)], self._names[int(b)], float((self._less[a] & self._more[b]).mean()))
            for a in np.flatnonzero(self._less.mean(axis=1) > _UNSURE)
            for b in np.flatnonzero(self._more.mean(axis=1) > _UNSURE)
        ]
        return sorted((pair for pair in pairs if pair.probability > _UNSURE), key=lambda pair: -pair.probability)

    @property
    def sentence(self) -> str:
        """Returns the sentence: "Certain: a, p. May swap between fast and slow memory: q and z (p = 0.31)."."""
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
        """Returns the JSON document."""
        return {
            "certain": self.certain,
            "may_swap": [{"less": s.less, "more": s.more, "probability": s.probability} for s in self.swaps],
        }


def regret_of(plan: _core.Plan) -> Regret | None:
    """Returns the regret of a plan by sampling error, or None if it was not computed."""
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
    """Returns the estimated cost of sampling error of the plan that a store's samples give under a budget.

    `limit` is a budget such as "64MiB" of the fastest kind or "hbm=1GiB,...". Raises WrongCallError for no draws.
    """
    if draws < 1:
        raise WrongCallError(f"{draws} draws cannot estimate the sampling error: give 1 or more")
    from terrace.solve.lower_bounds import bound_of_profile  # late import: slow

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
