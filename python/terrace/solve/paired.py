# SPDX-License-Identifier: Apache-2.0
"""Estimates from paired runs, one with and one without a treatment, the share of time that it saves. `terrace
compare` states it.

The estimate is that of Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963): the median of the Walsh
averages, the means of all pairs of differences. Its interval is that of Wilcoxon's signed-rank test, exact for any
number of pairs; it assumes only that differences are distributed symmetrically. SciPy has neither. Differences are
of logarithms of times, so the estimate is a ratio.

Repeated looks that stop at a suitable interval inflate the error probability (optional stopping). So each look
gets twice the error probability of the next one, and their sum stays below the requested level.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
# Pairs at each look. 7 is the minimum for an interval at half the level.
LOOKS = (7, 10, 14, 20, 28, 40)
MAX = 200  # pairs
_WHOLE = 2**52
_SUFFICIENT_SHARE_OF_GAIN = 0.25  # half-width relative to the gain that is sufficient


@dataclass(frozen=True)
class Pair:
    """Seconds of two consecutive runs."""

    without: float
    with_it: float


@dataclass(frozen=True)
class Gain:
    """The share of time saved: 0.2 if 10 s become 8; negative for a slowdown."""

    share: float
    low: float | None  # if None: too few pairs for an interval
    high: float | None

    @property
    def is_beyond_noise(self) -> bool:
        """Returns whether the sign is significant."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def is_known(self, precision: float) -> bool:
        """Returns whether the interval's half-width is at most `precision` (a share), or a quarter of the gain."""
        if self.low is None or self.high is None:
            return False
        return self.high - self.low <= 2 * max(precision, _SUFFICIENT_SHARE_OF_GAIN * abs(self.share))


def gain(pairs: Sequence[Pair], wrong: float = 1 - CONFIDENCE) -> Gain:
    """Returns the gain of at least one pair, with an interval of error probability at most `wrong`."""
    differences = [math.log(pair.with_it / pair.without) for pair in pairs]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2))
    left_out = _num_excluded(len(pairs), wrong)
    middle = _saved(statistics.median(means))
    if left_out is None:
        return Gain(middle, None, None)
    return Gain(middle, _saved(means[-1 - left_out]), _saved(means[left_out]))


def min_pairs(wrong: float = 1 - CONFIDENCE) -> int:
    """Returns the minimum number of pairs for an interval."""
    return next(pairs for pairs in itertools.count(1) if _num_excluded(pairs, wrong) is not None)


def error_probability_at(look: int, wrong: float = 1 - CONFIDENCE) -> float:
    """Returns the error probability of look number `look`, from 0."""
    return wrong * 0.5 ** (look + 1)


def _saved(logarithm: float) -> float:
    return -math.expm1(logarithm)


def _num_excluded(pairs: int, wrong: float) -> int | None:
    """Returns the number of Walsh averages excluded at each end; None if even the full range is too uncertain."""
    ways = [1]  # number of sign assignments with rank sum 0, 1, 2, ...
    for rank in range(1, pairs + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    # Python integers: the number of assignments exceeds a float.
    allowed = round(wrong / 2 * _WHOLE) * 2**pairs // _WHOLE
    below = 0
    for total, number in enumerate(ways):
        below += number
        if below > allowed:
            return total - 1 if total > 0 else None
    raise AssertionError("the probabilities of all sums do not reach the limit; report this error of Terrace")
