# SPDX-License-Identifier: Apache-2.0
"""Computes a lower bound on the time of a recorded program that no software placement can beat. `terrace bounds`,
`lab demo` and the experiments state it.

The dual values of the linear program (docs/explanation/planning.md) are prices. Any prices prove a bound for any
iteration (`Problem.bound_at`, exact), so they may come from a fast approximation: HiGHS solves the mean iteration
with its segments merged into whole phases and into a few parts of phases, in seconds. Subgradient steps on all
segments improve the prices, and again for each iteration that differs from the mean.

The proof evaluates them on the recorded iterations' own counters, in sequence: each iteration starts with the data
where the previous one left it, and the first one with any placement. The proof merges and averages nothing.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from terrace import _core
from terrace.solve.figures import later_half
from terrace.solve.linear import WORK, Prices, in_sequence, prices

Dump = dict[str, Any]
_ALL = 2**31 - 1  # items; a bound with merged chunks would not cover plans that separate them
_SIZES = (0, 30_000)  # items x parts, unless whole phases are more already
_PASSES = 500
_PASSES_AGAIN = 100  # per iteration
_TOGETHER = 8  # repeated iterations in a group
_GAP = 0.01  # between bound and known placement, relative; below, no linear program is solved
_QUICK_CELLS = 2e7  # items x phases x passes of a second or so
_ALIKE = 1e-3  # relative to the mean's bound; prices of such iterations need no improvement


@dataclass(frozen=True)
class Certificate:
    """Bounds in seconds: of the recorded loop, of the later half of its iterations, and of its shortest
    iteration.
    """

    loop: float
    iterations: int
    later: float
    shortest: float


def certificate(store: Path, fast: int, copier: str = "", iterations: int = 0, work: float = WORK) -> Certificate:
    """Returns the bound of the recorded loop under `fast` bytes of fast memory, from its exact counters.

    `copier` sets the cost of moves. The last iteration is repeated until there are `iterations`. `work` limits the
    solver (linear.prices).
    """
    kept = _core.Store(str(store))
    run = kept.runs()[0].id
    return certificate_of(kept, run, kept.machine(run).fast_budget(fast), copier, iterations, work)


def certificate_of(
    kept: _core.Store,
    run: int,
    budget: list[int],
    copier: str = "",
    iterations: int = 0,
    work: float = WORK,
    thorough: bool = True,
    machine: _core.Machine | None = None,
) -> Certificate:
    """Returns the bound of a run's recorded loop under a budget by place (empty: all), from its exact counters.

    Unless `thorough`, the linear program is solved only if subgradients leave a gap, and prices are improved for
    only a few seconds. The bound is then still valid, but may be lower.
    """
    machine, profile = machine or kept.machine(run), kept.profile(run, True)
    if copier:
        machine = machine.with_copier(copier)

    def problem(of: _core.Profile, cyclic: bool) -> _core.Problem:
        return _core.Problem(of, machine, budget, cyclic, _ALL, every_segment=True)

    mean = problem(profile, True)
    target = _core.decide(mean, "auto", quick=True).prediction.total
    starts = proofs_of(mean, target, work) if thorough else _quick_proofs(mean, target, work)
    usual = max(start.proven(mean) for start in starts)

    def own(number: int, fitted: Sequence[Prices]) -> Prices:
        """Returns prices that prove a close bound for one iteration, improved if those of similar ones do not."""
        iteration = each[number]
        proven = [start.proven(iteration) for start in fitted]
        proof = fitted[proven.index(max(proven))]
        share = math.fsum(iteration.measured) / max(math.fsum(mean.measured), 1e-12)
        if max(proven) >= (1 - _ALIKE) * usual * share or passes == 0:
            return proof
        return proof.better(iteration, target * share, passes)

    each = [problem(profile.only(i), False) for i in range(profile.iterations)]
    # Bounds by iteration and initial placement: an iteration may have other phases than the mean one.
    fitted = [[start.fitted(mean, iteration) for start in starts] for iteration in each]
    cells = sum(iteration.items * len(iteration.phases) for iteration in each)
    passes = _PASSES_AGAIN if thorough else min(_PASSES_AGAIN, int(_QUICK_CELLS / max(cells, 1)))
    owned = [own(i, fitted[i]) for i in range(len(each))]
    of_all = [*([proofs[s] for proofs in fitted] for s in range(len(starts))), owned]

    def together(iterations: Sequence[int]) -> float:
        rest = _core.Problem.in_sequence([each[i] for i in iterations])
        return max(in_sequence([proofs[i] for i in iterations]).proven(rest) for proofs in of_all)

    numbers = range(len(each))
    count = max(iterations, len(each))
    alone = owned[-1].proven(each[-1])
    several = together([numbers[-1]] * _TOGETHER) if count > len(each) else 0.0

    def again(times: int) -> float:
        """Returns the bound of `times` repetitions of the last iteration, in groups.

        Each group may start with any placement, which can only lower the bound.
        """
        groups, rest = divmod(times, _TOGETHER)
        return groups * several + rest * alone

    return Certificate(
        together(numbers) + again(count - len(each)),
        count,
        together(later_half(numbers)) if count == len(each) else again(count - count // 2),
        min(proof.proven(iteration) for proof, iteration in zip(owned, each, strict=True)),
    )


def _quick_proofs(problem: _core.Problem, target: float, work: float) -> list[Prices]:
    found = Prices.of(problem, *problem.prices(target, _PASSES))
    if work <= 0 or target <= (1 + _GAP) * found.proven(problem):
        return [found]
    return [found, *proofs_of(problem, target, work, sizes=(0,))]


def proofs_of(
    problem: _core.Problem, target: float, work: float = WORK, sizes: Sequence[int] = _SIZES
) -> list[Prices]:
    """Returns prices that prove a large bound: those of whole phases and of parts, improved on the segments.

    `target` is the best known time in seconds; `work` limits the solver (linear.prices).
    """
    dump = json.loads(problem.to_json())
    several: list[list[int]] = []
    for size in sizes:
        if (begins := parts(dump, size)) not in several:  # phases may have one part each
            several.append(begins)
    return [_prices(dump, begins, work).better(problem, target, _PASSES) for begins in several]


def _prices(dump: Dump, begins: Sequence[int], work: float) -> Prices:
    """Returns prices of the problem's segments, from the linear program of its parts."""
    phases = dump["phases"]
    of_parts = prices({**dump, "phases": merged(phases, begins)}, work)
    lengths = np.diff([*begins, len(phases)])
    capacity = np.zeros((len(phases), len(dump["places"])))
    capacity[begins] = of_parts.capacity  # inside a part data may move freely
    return Prices(np.repeat(of_parts.row, lengths, axis=0), capacity)


def _offset(name: str) -> int:
    """Returns the offset at which a segment begins in its phase ("resid.7@1048576"); 0 for the phase itself."""
    _, at, offset = name.rpartition("@")
    return int(offset) if at and offset.isdigit() else 0


def parts(dump: Dump, largest: int) -> list[int]:
    """Returns the first segments of parts of about equal duration.

    Items x parts stay below `largest`, unless whole phases exceed it already.
    """
    phases = dump["phases"]
    most = largest // max(1, len(dump["items"]))
    every = _of_length(phases, 0.0)
    shortest, longest = 0.0, math.fsum(phase["measured"] for phase in phases)
    if len(every) <= most:
        return every
    best = _of_length(phases, math.inf)
    for _ in range(30):
        middle = (shortest + longest) / 2
        if len(tried := _of_length(phases, middle)) <= most:
            longest, best = middle, tried
        else:
            shortest = middle
    return best


def _of_length(phases: Sequence[Dump], length: float) -> list[int]:
    """Returns parts that end with the segment in which they reach `length` seconds, or with their phase."""
    begins, passed = [], 0.0
    for k, phase in enumerate(phases):
        if k == 0 or not _offset(phase["name"]) or passed >= length:
            begins.append(k)
            passed = 0.0
        passed += phase["measured"]
    return begins


def whole_phases(dump: Dump) -> Dump:
    """Returns the problem with the segments of each phase merged."""
    return {**dump, "phases": merged(dump["phases"], _of_length(dump["phases"], math.inf))}


def merged(phases: Sequence[Dump], begins: Sequence[int]) -> list[Dump]:
    """Merges each segment that begins no part into the preceding one."""
    return [_sum(phases[begin:end]) for begin, end in zip(begins, [*begins[1:], len(phases)], strict=True)]


def _sum(segments: Sequence[Dump]) -> Dump:
    """Merges segments of a phase into one, with summed cells."""
    every = [cell for segment in segments for cell in segment["cells"]]
    cells: list[list[float]] = []
    if every:
        numbers = np.array(every, dtype=np.float64)
        items, at = np.unique(numbers[:, 0].astype(np.int64), return_inverse=True)
        of_items = [np.bincount(at, weights=column) for column in numbers[:, 1:].T]
        cells = [
            [item, *sums] for item, *sums in zip(items.tolist(), *(c.tolist() for c in of_items), strict=True)
        ]
    sums: Dump = {
        key: math.fsum(segment[key] for segment in segments)
        for key in ("core", "measured", "unexplained")
        if key in segments[0]
    }
    return {**segments[0], **sums, "cells": cells}
