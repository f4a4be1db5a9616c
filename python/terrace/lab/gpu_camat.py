# SPDX-License-Identifier: Apache-2.0
"""Aggregates C-AMAT counters of simulated GPUs by kernel name and by time interval, for `terrace lab gpu` and the
camat experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from terrace import _core

LEVELS = {"l1": "L1, by warps", "l1_parts": "L1, by line parts (loads)", "l2": "L2", "dram": "DRAM"}
COUNTERS = (
    "accesses", "misses", "pure_misses", "active_cycles", "hit_cycles", "hit_access_cycles", "pure_miss_cycles",
    "pure_access_cycles",
)  # fmt: skip
Counters = dict[str, int]
Levels = dict[str, Counters]


@dataclass(frozen=True)
class Part:
    """A part of a run: its cycles, and the counters of each level."""

    kernel: str  # "" after the last kernel, and for a time interval
    launches: int
    begin: int  # of the first launch
    end: int  # of the last launch
    cycles: int
    levels: Levels


def counters_of(level: Mapping[str, Any]) -> Counters:
    """Returns the integer counters of a level of a run, or of one of its caches."""
    return {name: level[name] for name in COUNTERS}


def value(counters: Counters) -> float | None:
    """Returns active cycles per access, or None without accesses: earlier ones may still be in flight."""
    return counters["active_cycles"] / counters["accesses"] if counters["accesses"] else None


def ratios(counters: Counters) -> dict[str, Any]:
    """Returns the five parameters and the value next to the counters."""
    return _core.camat_of_counters(counters)


def by_kernel(parts: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Merges a run's parts by kernel name, in the order of first launches."""
    named: dict[str, list[Part]] = {}
    for part in parts:
        named.setdefault(part["kernel"], []).append(_part(part))
    return [_sum(group) for group in named.values()]


def over_time(parts: Sequence[Mapping[str, Any]], most: int) -> list[Part]:
    """Merges neighbouring time intervals until at most `most` are left."""
    together = -(-len(parts) // most) or 1
    return [_sum([_part(part) for part in parts[i : i + together]]) for i in range(0, len(parts), together)]


def _part(part: Mapping[str, Any]) -> Part:
    levels = {level: counters_of(part["camat"][level]) for level in LEVELS}
    begin, end = part["begin"], part["end"]
    return Part(part["kernel"], 1, begin, end, end - begin, levels)


def _sum(parts: Sequence[Part]) -> Part:
    levels = {
        level: {name: sum(part.levels[level][name] for part in parts) for name in COUNTERS} for level in LEVELS
    }
    launches, cycles = sum(part.launches for part in parts), sum(part.cycles for part in parts)
    return Part(parts[0].kernel, launches, parts[0].begin, parts[-1].end, cycles, levels)
