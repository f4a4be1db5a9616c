"""A bound that no placement of a recorded program can beat, whatever its iterations were.

Every row of the linear program (docs/planning.md) rises with each of its counters. So the program made of the
smallest value that each counter had in any recorded iteration bounds every one of them, and its optimum times
the iterations bounds the loop. Segments of a phase are merged: a sum of maxima is at least the maximum of the
sums, so whole phases bound their segments from below, and the linear program stays small. Data may lie anywhere
when an iteration begins and ends.
"""

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.optimum import linear_bound

Dump = dict[str, Any]
_SOLVER_SECONDS = 60.0
_ALL = 2**31 - 1  # items: a bound of merged chunks would not hold for plans that tell them apart
_ALIKE = 0.995  # of the mean traffic: an iteration with less is another kind of iteration


def proven_bound(store: Path, fast: int) -> float:
    """Seconds of an iteration with `fast` bytes of fast memory, from the store's exact profile."""
    return _bound(_least(store), _budget(store, fast))


@dataclass(frozen=True)
class Stretch:
    """Iterations one after the other, and the smallest value that each counter had in any of them."""

    iterations: int
    least: Dump


def stretches(store: Path, most: int = 8) -> list[Stretch]:
    """The loop in at most that many stretches, and in one where all iterations have nearly the same traffic."""
    dumps = list(_iterations(store))
    traffic = [sum(cell[1] + cell[2] for phase in dump["phases"] for cell in phase["cells"]) for dump in dumps]
    count = 1 if min(traffic) >= _ALIKE * sum(traffic) / len(traffic) else min(most, len(dumps))
    ends = [len(dumps) * (part + 1) // count for part in range(count)]
    return [
        Stretch(end - begin, functools.reduce(smallest, dumps[begin:end]))
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def loop_bound(store: Path, parts: list[Stretch], fast: int) -> float:
    """Seconds of the whole loop: what data does where stretches meet is free, as where iterations do."""
    budget = _budget(store, fast)
    return math.fsum(part.iterations * _bound(part.least, budget) for part in parts)


def _budget(store: Path, fast: int) -> list[int]:
    kept = _core.Store(str(store))
    return kept.machine(kept.runs()[0].id).fast_budget(fast)


def _bound(least: Dump, budget: list[int]) -> float:
    places = [{**place, "budget": size} for place, size in zip(least["places"], budget, strict=True)]
    return linear_bound({**least, "places": places}, _SOLVER_SECONDS)


@functools.cache
def _least(store: Path) -> Dump:
    """The problem of the smallest counters of all recorded iterations, in whole phases."""
    return functools.reduce(smallest, _iterations(store))


def _iterations(store: Path) -> Iterator[Dump]:
    """The problem of each recorded iteration, in whole phases."""
    kept = _core.Store(str(store))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    profile = kept.profile(run, True)
    for iteration in range(profile.iterations):
        problem = _core.Problem(profile.only(iteration), machine, [], False, _ALL)
        yield whole_phases(json.loads(problem.to_json()))


def whole_phases(dump: Dump) -> Dump:
    """The problem with the segments of each phase ("resid.7@1048576") added to the phase."""
    phases: list[Dump] = []
    for phase in dump["phases"]:
        _, at, offset = phase["name"].rpartition("@")
        if at and offset.isdigit() and phases:
            previous = phases[-1]
            for key in ("core", "measured", "unexplained"):
                if key in previous:
                    previous[key] += phase[key]
            previous["cells"] = _add(previous["cells"], phase["cells"])
        else:
            phases.append({**phase})
    return {**dump, "phases": phases}


def _add(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    cells = {cell[0]: cell for cell in a}
    for item, *numbers in b:
        known = cells.get(item)
        cells[item] = (
            [item, *numbers]
            if known is None
            else [item, *(x + y for x, y in zip(known[1:], numbers, strict=True))]
        )
    return [cells[item] for item in sorted(cells)]


def smallest(a: Dump, b: Dump) -> Dump:
    """Of two iterations of one program, the smaller of each counter; a counter that one lacks is 0."""
    phases = []
    for one, other in zip(a["phases"], b["phases"], strict=False):
        cells = {cell[0]: cell for cell in other["cells"]}
        phases.append(
            {
                **one,
                "core": min(one["core"], other["core"]),
                "cells": [
                    [cell[0], *(min(x, y) for x, y in zip(cell[1:], cells[cell[0]][1:], strict=True))]
                    for cell in one["cells"]
                    if cell[0] in cells
                ],
            }
        )
    return {**a, "phases": phases}
