"""The intervals of a plan's time and of a benefit against known truths."""

from types import SimpleNamespace

import numpy as np
import pytest
from terrace.solve.confidence import _interval, plan_time


def sure(predicted, times):
    return SimpleNamespace(times=list(times), plan=SimpleNamespace(predicted=predicted))


@pytest.mark.parametrize("sampling", [0.005, 0.03, 0.1])
def test_plan_time_of_normal_errors_covers_as_often_as_it_says(sampling):
    """An estimate errs about the truth by sampling and by the law's 2 %; draws err about it by sampling alone."""
    random = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        truth = 1.0
        estimate = truth * (1 + sampling * random.standard_normal() + 0.02 * random.standard_normal())
        time = plan_time(sure(estimate, estimate * (1 + sampling * random.standard_normal(20))))
        held += time.low <= truth <= time.high
    assert 0.85 <= held / 2000 <= 0.97


def test_plan_time_draws_that_are_slower_widens_upwards():
    """A plan that was chosen for a lucky estimate is slower in what the samples might have come from."""
    time = plan_time(sure(1.0, [1.2, 1.3, 1.25, 1.22]))
    assert time.low < 1.0
    assert time.high > 1.3


def test_plan_time_of_one_draw_is_none():
    assert plan_time(sure(1.0, [1.0])) is None


@pytest.mark.parametrize("expected", [5.0, 20.0, 200.0])
def test_benefit_of_poisson_counts_covers_as_often_as_it_says(expected):
    """Counts are Poisson about the truth, draws are Gamma about the counts."""
    random = np.random.default_rng(11)
    counts = random.poisson(expected, 2000)
    counts = counts[counts > 0].astype(float)  # an object that no sample met has no interval
    intervals = [_interval(k, draws, draws) for k in counts for draws in [random.gamma(k, size=400)]]
    held = np.mean([low <= expected <= high for low, high in intervals])
    assert 0.85 <= held <= 0.97


def test_benefit_that_may_be_nothing_begins_at_nothing():
    """A bias of sampling moves no end that is 0."""
    draws = np.concatenate([np.zeros(100), np.full(300, 1.0)])
    low, high = _interval(1.0, np.full(400, 0.8), draws)
    assert low == 0.0
    assert high > 1.0
