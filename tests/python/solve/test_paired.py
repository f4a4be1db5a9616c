"""Gains from pairs of runs: compared with tables, with all sign assignments, and with known truths."""

from __future__ import annotations

import itertools
import random

import pytest
from terrace.solve.paired import CONFIDENCE, LOOKS, MAX, Pair, error_probability_at, gain, min_pairs

# Wilcoxon's signed ranks, both sides 0.05: the largest rank sum that is significant, as tables have it.
CRITICAL = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 14: 21, 16: 29, 20: 52, 25: 89}


def _pairs(ratios: list[float]) -> list[Pair]:
    return [Pair(2.0, 2.0 * ratio) for ratio in ratios]


@pytest.mark.parametrize("count", CRITICAL)
def test_interval_excludes_as_many_means_as_tables(count):
    """Ratios whose logarithms are powers of two: all pairwise means differ, so they can be counted."""
    found = gain(_pairs([1.0 + 2.0**-exponent for exponent in range(1, count + 1)]))
    means = sorted(
        ((1.0 + 2.0**-a) * (1.0 + 2.0**-b)) ** 0.5
        for a, b in itertools.combinations_with_replacement(range(1, count + 1), 2)
    )
    assert found.high == pytest.approx(1 - means[CRITICAL[count]])
    assert found.low == pytest.approx(1 - means[-1 - CRITICAL[count]])


@pytest.mark.parametrize("count", [6, 8, 10])
def test_at_most_one_in_twenty_sign_assignments_is_significant(count):
    """And nearly that many: the interval is not wider than necessary."""
    sizes = [1.01 + 0.013 * number**1.5 for number in range(count)]
    wrong = sum(
        gain(_pairs([size if up else 1 / size for size, up in zip(sizes, signs, strict=True)])).is_beyond_noise
        for signs in itertools.product((True, False), repeat=count)
    )
    assert 0.02 <= wrong / 2**count <= 0.05


@pytest.mark.parametrize("count", [1, 5])
def test_too_few_pairs_have_no_interval(count):
    found = gain(_pairs([0.8] * count))
    assert found.share == pytest.approx(0.2)
    assert found.low is found.high is None
    assert not found.is_known(1.0)
    assert not found.is_beyond_noise


def test_outlier_does_not_move_the_gain():
    found = gain(_pairs([0.8, 0.81, 0.79, 0.8, 0.8, 0.8, 0.8, 9.0]))
    assert found.share == pytest.approx(0.2, abs=0.01)


def test_gain_is_known_to_a_quarter_or_to_the_precision():
    """Half of the interval against the larger of the two."""
    assert gain(_pairs([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5])).is_known(0.01)
    noise = [1.004, 0.996, 1.003, 0.997, 1.002, 0.998, 1.0]
    assert gain(_pairs(noise)).is_known(0.01)
    assert not gain(_pairs(noise)).is_known(0.001)


def test_sequential_looks_keep_total_error_probability():
    """A thousand comparisons of a program with itself, each until it is known."""
    assert sum(error_probability_at(look) for look in range(len(LOOKS))) <= 1 - CONFIDENCE
    draw = random.Random(7)
    wrong = 0
    for _ in range(1000):
        ratios = [draw.lognormvariate(0, 0.05) for _ in range(LOOKS[-1])]
        looks = [gain(_pairs(ratios[:count]), error_probability_at(look)) for look, count in enumerate(LOOKS)]
        wrong += any(look.is_beyond_noise for look in looks)
    assert wrong / 1000 <= 0.05


def test_maximum_number_of_pairs_has_an_interval():
    """There are more sign assignments than a float can represent."""
    found = gain(_pairs([0.8 + 0.0001 * number for number in range(MAX)]))
    assert found.low < found.share < found.high


def test_min_pairs_equals_tables():
    assert min_pairs() == 6
    assert min_pairs(error_probability_at(0)) <= LOOKS[0]
