"""What pairs of runs, one with something and one without, say about the share of time that it saves.

The estimate is Hodges and Lehmann's (Annals of Mathematical Statistics 34, 1963): the median of the Walsh
averages, the means of all two differences. Its interval is that of Wilcoxon's signed ranks, exact for any number
of pairs; it asks that differences are spread alike above and below their middle, and nothing else. SciPy has
neither. Differences are those of the times' logarithms, so what is estimated is a ratio.

Who looks several times and ends when an interval suits him is wrong more often than one interval says. So each
look has half of the chance to be wrong of the look before, and all together have no more than what was asked.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
LOOKS = (7, 10, 14, 20, 28, 40)  # pairs: the first at which half of the chance is enough for an interval, and on
MAX = 200  # pairs that anybody wants
_WHOLE = 2**52
_OF_THE_GAIN = 0.25  # an interval that is as narrow as this part of the gain says enough


@dataclass(frozen=True)
class Pair:
    """Seconds of two runs, one behind the other."""

    without: float
    with_it: float


@dataclass(frozen=True)
class Gain:
    """The share of time that is saved: 0.2 where 10 s become 8; below 0 where it takes longer."""

    share: float
    low: float | None  # None: too few pairs for an interval
    high: float | None

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the sign is known."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def is_known(self, precision: float) -> bool:
        """Whether the interval is no wider than `precision` (a share) on either side, or than a quarter of the
        gain."""
        if self.low is None or self.high is None:
            return False
        return self.high - self.low <= 2 * max(precision, _OF_THE_GAIN * abs(self.share))


def gain(pairs: Sequence[Pair], wrong: float = 1 - CONFIDENCE) -> Gain:
    """Of one pair at least: the gain, and an interval that misses the truth with a chance of `wrong` at most."""
    differences = [math.log(pair.with_it / pair.without) for pair in pairs]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2))
    left_out = _left_out(len(pairs), wrong)
    middle = _saved(statistics.median(means))
    if left_out is None:
        return Gain(middle, None, None)
    return Gain(middle, _saved(means[-1 - left_out]), _saved(means[left_out]))


def fewest(wrong: float = 1 - CONFIDENCE) -> int:
    """How many pairs an interval takes."""
    return next(pairs for pairs in itertools.count(1) if _left_out(pairs, wrong) is not None)


def chance_at(look: int, wrong: float = 1 - CONFIDENCE) -> float:
    """Of being wrong, what the look of this number may use, from 0."""
    return wrong * 0.5 ** (look + 1)


def _saved(logarithm: float) -> float:
    return -math.expm1(logarithm)


def _left_out(pairs: int, wrong: float) -> int | None:
    """How many means the interval leaves out at each end; None where even all of them say too little."""
    ways = [1]  # in which signs make a rank sum of 0, 1, 2, ...
    for rank in range(1, pairs + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    # Whole numbers: there are more ways than a float can count.
    allowed = round(wrong / 2 * _WHOLE) * 2**pairs // _WHOLE
    below = 0
    for total, number in enumerate(ways):
        below += number
        if below > allowed:
            return total - 1 if total > 0 else None
    raise AssertionError("all sums together are more than a half")
