"""A bound that no placement of a recorded program can beat, whatever its iterations were.

Every row of the linear program (docs/planning.md) rises with each of its counters. So the program made of the
smallest value that each counter had in any recorded iteration bounds every one of them, and its optimum times
the iterations bounds the loop. Segments of a phase are merged: a sum of maxima is at least the maximum of the
sums, so merged segments are bounded from below, and the linear program stays small. Once all of a phase is
merged, and once as many parts are left as the solver manages in seconds: within a part data may come and go as if
there were room for all of it, so that short parts prove more, above all of small fast memories. Data may lie
anywhere when an iteration begins and ends.
"""

import functools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.errors import TerraceError
from terrace.optimum import linear_bound

Dump = dict[str, Any]
_SOLVER_SECONDS = 60.0
_ALL = 2**31 - 1  # items: a bound of merged chunks would not hold for plans that tell them apart
_LARGEST = 20_000  # items x parts: mostly solved in ten seconds or so
_ALIKE = 0.995  # of the mean traffic: an iteration with less is another kind of iteration


def proven_bound(store: Path, fast: int) -> float:
    """Seconds of an iteration with `fast` bytes of fast memory, from the store's exact profile."""
    return _bound(_least(store), _budget(store, fast))


@dataclass(frozen=True)
class Stretch:
    """Iterations one after the other, and the smallest value that each counter had in any of them: in whole
    phases, and in parts. Either may prove more, since the smallest counters of parts add up to less."""

    iterations: int
    least: Dump
    in_parts: Dump


def stretches(store: Path, most: int = 8) -> list[Stretch]:
    """The loop in at most that many stretches, and in one where all iterations have nearly the same traffic."""
    dumps = list(_iterations(store))
    traffic = [
        sum(cell[1] + cell[2] for phase in whole["phases"] for cell in phase["cells"]) for whole, _ in dumps
    ]
    count = 1 if min(traffic) >= _ALIKE * sum(traffic) / len(traffic) else min(most, len(dumps))
    ends = [len(dumps) * (part + 1) // count for part in range(count)]
    return [_stretch(dumps[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _stretch(dumps: Sequence[tuple[Dump, Dump]]) -> Stretch:
    whole, in_parts = zip(*dumps, strict=True)
    return Stretch(len(dumps), functools.reduce(smallest, whole), functools.reduce(smallest, in_parts))


def loop_bound(store: Path, parts: list[Stretch], fast: int) -> float:
    """Seconds of the whole loop: what data does where stretches meet is free, as where iterations do."""
    budget = _budget(store, fast)
    return math.fsum(part.iterations * _bound(part, budget) for part in parts)


def _budget(store: Path, fast: int) -> list[int]:
    kept = _core.Store(str(store))
    return kept.machine(kept.runs()[0].id).fast_budget(fast)


def _bound(stretch: Stretch, budget: list[int]) -> float:
    def bound(least: Dump) -> float:
        places = [{**place, "budget": size} for place, size in zip(least["places"], budget, strict=True)]
        return linear_bound({**least, "places": places}, _SOLVER_SECONDS)

    whole = bound(stretch.least)
    if len(stretch.in_parts["phases"]) == len(stretch.least["phases"]):  # phases of one part each
        return whole
    try:
        return max(whole, bound(stretch.in_parts))
    except TerraceError:  # not in time: whole phases prove what they prove
        return whole


@functools.cache
def _least(store: Path) -> Stretch:
    """All recorded iterations."""
    return _stretch(list(_iterations(store)))


def _iterations(store: Path) -> Iterator[tuple[Dump, Dump]]:
    """The problem of each recorded iteration: in whole phases, and with its phases in the same parts."""
    kept = _core.Store(str(store))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    profile = kept.profile(run, True)
    parts: set[str] = set()
    for iteration in range(profile.iterations):
        problem = _core.Problem(profile.only(iteration), machine, [], False, _ALL)
        dump = json.loads(problem.to_json())
        parts = parts or _parts(dump)
        yield whole_phases(dump), merged(dump, parts)


def _offset(name: str) -> int:
    """Where in its phase a segment begins ("resid.7@1048576"): 0 for the phase itself."""
    _, at, offset = name.rpartition("@")
    return int(offset) if at and offset.isdigit() else 0


def _parts(dump: Dump) -> set[str]:
    """The segments with which parts of phases begin: parts of equal time, as many as stay below _LARGEST."""
    phases = dump["phases"]
    most = _LARGEST // max(1, len(dump["items"]))

    def few_enough(parts: set[str]) -> bool:
        return sum(_begins(phase["name"], parts) for phase in phases) <= most

    if few_enough(every := _of_length(phases, 0.0)):
        return every
    parts: set[str] = set()
    shortest, longest = 0.0, sum(phase["measured"] for phase in phases)
    for _ in range(30):
        middle = (shortest + longest) / 2
        if few_enough(tried := _of_length(phases, middle)):
            longest, parts = middle, tried
        else:
            shortest = middle
    return parts


def _begins(name: str, parts: set[str]) -> bool:
    """Whether a part of a phase begins there, the first one included."""
    return not _offset(name) or name in parts


def _of_length(phases: list[Dump], length: float) -> set[str]:
    """A part ends with the segment in which it gets as long as that, in seconds."""
    parts, passed = set(), math.inf
    for phase in phases:
        if passed >= length and _offset(phase["name"]):
            parts.add(phase["name"])
            passed = 0.0
        elif not _offset(phase["name"]):
            passed = 0.0
        passed += phase["measured"]
    return parts


def whole_phases(dump: Dump) -> Dump:
    """The problem with the segments of each phase added to the phase."""
    return merged(dump, set())


def merged(dump: Dump, parts: set[str]) -> Dump:
    """The problem with each segment that begins no part added to what comes before it in its phase."""
    phases: list[Dump] = []
    for phase in dump["phases"]:
        if phases and not _begins(phase["name"], parts):
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
