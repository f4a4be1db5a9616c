# SPDX-License-Identifier: Apache-2.0
"""Selects data by a single number each, for the metric study of `terrace lab experiment two-level`.

A metric assigns a number to every item (an object or a chunk) from the sampled profile. Fast memory is filled with
the items of the largest numbers that fit, for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tomli_w

from terrace import _core

Dump = dict[str, Any]
Values = list[float]


def _sum(dump: Dump, of: Callable[[Dump, Sequence[float]], float]) -> Values:
    """Sums over all phases by item; `of` takes a phase and a cell (item, bytes read, bytes written, exposure)."""
    values = [0.0] * len(dump["items"])
    for phase in dump["phases"]:
        for cell in phase["cells"]:
            values[int(cell[0])] += of(phase, cell)
    return values


def _a_byte(values: Values, dump: Dump) -> Values:
    return [value / item["size"] for value, item in zip(values, dump["items"], strict=True)]


def _misses(dump: Dump) -> Values:
    return _sum(dump, lambda _, cell: cell[1])


def _bandwidth(dump: Dump) -> Values:
    """Returns bytes over the time of the phases that access them: Unimem's equation 1 with phases as samples."""
    traffic = _sum(dump, lambda _, cell: cell[1] + cell[2])
    time = _sum(dump, lambda phase, _: phase["measured"])
    return [a / b if b > 0 else 0.0 for a, b in zip(traffic, time, strict=True)]


def _latency_weighted(dump: Dump) -> Values:
    return _sum(dump, lambda _, cell: cell[3])


def _aol(dump: Dump) -> Values:
    """Returns misses weighted with their phase's latency over parallelism: exposed latency per miss (SOAR, OSDI
    2025).
    """
    exposed = {id(phase): sum(cell[3] for cell in phase["cells"]) for phase in dump["phases"]}
    misses = {id(phase): sum(cell[1] for cell in phase["cells"]) for phase in dump["phases"]}

    def weighted(phase: Dump, cell: Sequence[float]) -> float:
        return cell[1] * exposed[id(phase)] / misses[id(phase)] if misses[id(phase)] > 0 else 0.0

    return _sum(dump, weighted)


def _benefit(dump: Dump, problem: _core.Problem, fastest: int) -> Values:
    """Returns the predicted gain per iteration with the item alone in fast memory."""
    home = [dump["homes"][item["domain"]] for item in dump["items"]]
    nothing = problem.predict([home]).total
    touched = {int(cell[0]) for phase in dump["phases"] for cell in phase["cells"]}
    values = [0.0] * len(home)
    for item in touched:
        values[item] = nothing - problem.predict([[*home[:item], fastest, *home[item + 1 :]]]).total
    return values


METRICS = ("misses", "misses-a-byte", "bandwidth", "latency-weighted", "benefit", "benefit-a-byte", "aol")


def values(metric: str, dump: Dump, problem: _core.Problem, fastest: int) -> Values:
    """Returns the metric by item of the problem."""
    simple = {"misses": _misses, "bandwidth": _bandwidth, "latency-weighted": _latency_weighted, "aol": _aol}
    if metric in simple:
        return simple[metric](dump)
    if metric == "misses-a-byte":
        return _a_byte(_misses(dump), dump)
    benefits = _benefit(dump, problem, fastest)
    return _a_byte(benefits, dump) if metric == "benefit-a-byte" else benefits


def fill(numbers: Sequence[float], sizes: Sequence[int], budget: int) -> list[int]:
    """Selects items by descending number as long as they fit; skips those that do not fit or have no value."""
    taken = []
    for item in sorted(range(len(numbers)), key=lambda i: (-numbers[i], i)):
        if numbers[item] > 0 and sizes[item] <= budget:
            taken.append(item)
            budget -= sizes[item]
    return taken


def plan_text(dump: Dump, items: Sequence[int], kind: str, budget: int) -> str:
    """Returns a plan file that places the items in `kind` for the whole run."""
    parts: dict[int, list[tuple[int, int]]] = {}
    for item in items:
        of = dump["items"][item]
        parts.setdefault(of["object"], []).append((of["ordinal"], of["ordinal"] + of["chunks"] - 1))
    objects = [
        {
            "name": dump["objects"][number]["name"],
            "size": str(dump["objects"][number]["size"]),
            "chunks": dump["objects"][number]["chunks"],
            "pin": True,
            "parts": {kind: ", ".join(f"{first}-{last}" for first, last in sorted(stretches))},
        }
        for number, stretches in sorted(parts.items())
    ]
    return tomli_w.dumps({"schema": 2, "planner": "metric", "budget": [f"{kind}={budget}"], "object": objects})
