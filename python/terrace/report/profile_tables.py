# SPDX-License-Identifier: Apache-2.0
"""Makes tables of a stored run: times of phases, accesses by level of the caches, sizes and benefits of objects.
`terrace show` prints them."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from terrace import units
from terrace.output import table
from terrace.solve.confidence import Benefit
from terrace.store.summary import PhaseSummary
from terrace.store.values import Level, Object


def phase_times(phases: Sequence[PhaseSummary]) -> Table:
    """Returns a row for each phase: its runs, and seconds per iteration and of waiting in the whole loop."""
    rows = table("phase", "runs", "mean", "min", "max", "share", "waited")
    total = max(sum(phase.mean for phase in phases), 1e-300)
    for phase in phases:
        times = (phase.mean, min(phase.times, default=0.0), max(phase.times, default=0.0))
        share = units.percent(phase.mean / total)
        rows.add_row(phase.name, str(phase.runs), *map(units.seconds, times), share, units.seconds(phase.waited))
    return rows


def level_times(levels: Sequence[Level]) -> Table:
    """Returns a row for each level that was accessed: C-AMAT, and its parts by hits and pure misses."""
    rows = table("level", "accesses", "C-AMAT", "hits", "pure misses")
    for level in levels:
        if level.accesses:
            hits, misses = level.hit_time / level.accesses, level.pure_miss_time / level.accesses
            times = (units.seconds(value) for value in (level.camat or 0.0, hits, misses))
            rows.add_row(level.name, units.count(level.accesses), *times)
    return rows


def level_document(levels: Sequence[Level]) -> list[dict[str, Any]]:
    """Returns the part of `terrace show --json` on levels of the caches."""
    return [
        {
            "name": level.name,
            "accesses": level.accesses,
            "hit_s": level.hit_time,
            "pure_miss_s": level.pure_miss_time,
            "camat_s": level.camat,
        }
        for level in levels
    ]


def object_sizes(objects: Sequence[Object], limit: int | None) -> Table:
    """Returns a row for each of the first objects, and one for all others."""
    rows = table("object", "kind", "size", left=(0, 1))
    for item in objects[:limit]:
        rows.add_row(item.name, item.kind, units.size(item.size))
    if rest := objects[len(objects[:limit]) :]:
        rows.add_row(f"({len(rest)} more)", "", units.size(sum(item.size for item in rest)))
    return rows


def benefit_table(ranked: Sequence[Benefit]) -> Table:
    """Returns a row for each object: its gain alone in fast memory, with the 90 % interval and the rank."""
    rows = table("object", "benefit", "90 % from", "to", "rank", left=(0, 4))
    for benefit in ranked:
        interval = (units.seconds(value) for value in (benefit.seconds, benefit.low, benefit.high))
        rows.add_row(benefit.name, *interval, benefit.certainty)
    return rows
