"""Recomputes the gain of a plan that a run reports, from the iterations of its journal. guests.py checks each run
by it.

It is independent of the program's own verdict: iterations are added up from their phases. The times at which plans
came into force, their moves were done or a plan was undone tell which iterations were without and with it.
Adjacent ones count: the last without the plan and the first with it, or, if it was withdrawn, the last with it and
the first after it.
"""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

KEPT = 16  # iterations at most, of which the median is taken
SAME = 1e-3  # share by which times may differ that are the same
MIN_SHARE = 0.75  # of the journal's iterations: those with a phase that was notified late do not count
# How the notes begin that end the comparison with iterations without a plan that was in force.
_UNDONE, _AGAIN = "the plan is undone%", "the plan is in force again%"
_NOISE = "no gain beyond noise"
_SAID = re.compile(r"(gained|lost|undone, as it lost) ([0-9.]+) %")


@dataclass(frozen=True)
class Iteration:
    """Iteration of a loop, in the journal's seconds; `time` is the sum of its phases."""

    number: int
    begun: float
    ended: float
    time: float


@dataclass(frozen=True)
class Proof:
    """The program's verdict, and the iterations of its journal."""

    unplaced: float
    placed: float
    iterations_unplaced: int
    iterations_placed: int
    undone: bool
    without: list[Iteration]
    with_it: list[Iteration]
    taken_away: bool = False  # once: then `with_it` is before `without`

    @property
    def gain(self) -> float:
        return 1 - self.placed / self.unplaced

    @property
    def gain_by_iterations(self) -> float | None:
        """Returns the gain by the journal's iterations."""
        if not self.without or not self.with_it:
            return None
        before, after = (statistics.median(times) for times in self.times(0, 0))
        return 1 - after / before

    def times(self, more_without: int, more_with: int) -> tuple[list[float], list[float]]:
        """Returns the times of adjacent iterations without and with the plan, and of so many more."""
        without, with_it = ([one.time for one in some] for some in (self.without, self.with_it))
        if self.taken_away:
            return without[-KEPT - more_without :], with_it[-KEPT - more_with :]
        return without[-KEPT - more_without :], with_it[: KEPT + more_with]

    @property
    def noise(self) -> float:
        """Returns the share of an iteration's time by which medians may differ without another cause: the larger
        range of quartiles."""
        return max(SAME, *(_spread(times) for times in self.times(0, 0)))


def _spread(times: Sequence[float]) -> float:
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return (high - low) / middle


def bounds(times: Sequence[float], count: int) -> tuple[float, float]:
    """Returns the range of the median of any so many of these times."""
    low = high = statistics.median(sorted(times))
    if count < len(times):
        in_order = sorted(times)
        low, high = in_order[(count - 1) // 2], in_order[len(times) - 1 - (count - 1) // 2]
    return low, high


def proofs(store: sqlite3.Connection) -> Iterator[Proof]:
    """Yields the proof of each loop that has one. A withdrawn plan is compared with the last iterations before its
    outcome was reported."""
    rows = store.execute(
        "SELECT run, loop, unplaced, placed, iterations_unplaced, iterations_placed, undone FROM proof"
    ).fetchall()
    for run, loop, unplaced, placed, count_unplaced, count_placed, undone in rows:
        iterations = [
            Iteration(*row)
            for row in store.execute(
                "SELECT iteration, MIN(begun), MAX(ended), SUM(ended - begun) FROM phase_instance "
                "WHERE run = ? AND loop = ? GROUP BY iteration ORDER BY iteration",
                (run, loop),
            )
        ]
        without, with_it = _in_force(store, run, iterations)
        judged = _noted(store, run, _UNDONE if undone else _AGAIN)
        if judged is not None:
            ended = [one for one in iterations if one.ended <= judged]
            without = ended[max(len(ended) - count_unplaced, 0) :]
            with_it = [one for one in with_it if one.begun < without[0].begun]
        elif undone:
            without, with_it = [], []
        counts = (count_unplaced, count_placed)
        yield Proof(unplaced, placed, *counts, bool(undone), without, with_it, judged is not None)


def _in_force(
    store: sqlite3.Connection, run: int, iterations: list[Iteration]
) -> tuple[list[Iteration], list[Iteration]]:
    """Returns the iterations without and with the plan. Without: those that ended before the first plan, except
    the first, which does much set-up. With: those that began with the last plan in force, except the last, whose
    end is the loop's. A plan is in force from the first iteration that begins without a move in flight; one that
    replaces such a plan is at once."""
    rows = store.execute("SELECT at FROM plan WHERE run = ? ORDER BY at", (run,))
    plans = [at for (at,) in rows if at < iterations[-1].ended]
    if not plans:
        return [], []
    moves = store.execute("SELECT asked, done FROM move WHERE run = ?", (run,)).fetchall()

    def quiet(after: float) -> float:
        begins = (one.begun for one in iterations if one.begun > after)
        return next((at for at in begins if not any(asked < at < done for asked, done in moves)), float("inf"))

    begins = plans[-1] if quiet(plans[0]) < plans[-1] else quiet(plans[-1])
    without = [one for one in iterations[1:] if one.ended <= plans[0]]
    return without, [one for one in iterations[:-1] if one.begun >= begins]


def _noted(store: sqlite3.Connection, run: int, text: str) -> float | None:
    """Returns the time of that note."""
    (at,) = store.execute("SELECT MAX(at) FROM note WHERE run = ? AND text LIKE ?", (run, text)).fetchone()
    return None if at is None else float(at)


def said_gain(lines: Sequence[str]) -> float | None:
    """Returns the gain in the closing line, negative for a loss."""
    for line in lines:
        if found := _SAID.search(line):
            return (1 if found[1] == "gained" else -1) * float(found[2]) / 100
    return None


def _rounding(gain: float) -> float:
    """Returns the rounding of a reported gain: whole per cent, or tenths below ten."""
    return 0.0051 if abs(gain) >= 0.0995 else 0.00051


def wrong(found: Sequence[Proof], lines: Sequence[str]) -> list[str]:
    """Describes reported gains that differ from the journal's proof or from its iterations."""
    texts = []
    said = said_gain(lines)
    if any(_NOISE in line for line in lines):
        texts += [text for one in found for text in _wrong_noise(one)]
    elif said is None:
        texts.append("nothing is said of a gain")
    elif not any(abs(one.gain - said) <= _rounding(one.gain) for one in found):
        gains = ", ".join(f"{one.gain:+.2%}" for one in found) or "none"
        texts.append(f"said {said:+.1%}, in the journal's proof {gains}")
    for one in found:
        texts += _wrong_times(one)
        texts += _wrong_sign(one, said)
    return texts


def _wrong_noise(one: Proof) -> Iterator[str]:
    """Describes a gain beyond doubt, where none was reported: of several iterations on both sides, each of one
    side takes longer than all of the other."""
    without, with_it = one.times(0, 0)
    if min(len(without), len(with_it)) < 4:
        return
    if min(without) > max(with_it) or min(with_it) > max(without):
        yield f"said noise, by the journal {one.gain_by_iterations:+.1%}"


def _wrong_sign(one: Proof, said: float | None) -> Iterator[str]:
    """Describes a wrong sign. Where other programs used the processor less in iterations with the plan than
    before, the plan's gain may be reported smaller, but not as a loss."""
    by_journal = one.gain_by_iterations
    if said is None or by_journal is None or abs(by_journal) <= one.noise:
        return
    if said * by_journal < 0 and abs(said) > max(one.noise, _rounding(said)):
        yield f"said {said:+.1%}, by the journal {by_journal:+.1%} and the noise {one.noise:.1%}"


def _more(count: int, there: int) -> int:
    """Returns how many of the journal's iterations may be missing among the adjacent ones."""
    return min(there - count, round(KEPT / MIN_SHARE) - KEPT)


def _wrong_times(one: Proof) -> Iterator[str]:
    """Yields contradictions between a reported proof and the iterations of the journal."""
    counts = (one.iterations_unplaced, one.iterations_placed)
    there = (len(one.without), len(one.with_it))
    named = tuple(zip(("without", "with"), counts, there, strict=True))
    wrong_counts = [
        f"{count} iterations {name} the plan, by the journal {most}"
        for name, count, most in named
        if count == 0 or not MIN_SHARE * min(most, KEPT) <= count <= most
    ]
    if wrong_counts:
        yield from wrong_counts
        return
    times = one.times(*(_more(count, most) for _, count, most in named))
    low, high = zip(
        *(bounds(some, min(count, KEPT)) for some, count in zip(times, counts, strict=True)), strict=True
    )
    # Interference by other programs while the plan was in force may reduce its gain, but is no loss: an iteration
    # with it is reported to take at most as long as one without.
    most = (high[0], max(high))
    for (name, _, _), median, least, longest in zip(named, (one.unplaced, one.placed), low, most, strict=True):
        if not least * (1 - SAME) <= median <= longest * (1 + SAME):
            yield f"an iteration {name} the plan: said {median:.6f} s, by the journal {least:.6f} to {longest:.6f}"
