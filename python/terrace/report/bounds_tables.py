# SPDX-License-Identifier: Apache-2.0
"""Prints the bounds of a program's placement, as tables and as JSON. `terrace bounds` uses it."""

import math
from typing import Any

from rich.console import Console

from terrace import units
from terrace.output import table
from terrace.solve.bounds import Bounds


def _sum(column: list[float] | None) -> float | None:
    return None if column is None else math.fsum(column)


def document(result: Bounds) -> dict[str, Any]:
    """Returns the document of `terrace bounds --json`."""
    return {
        "source": result.source,
        "machine": result.machine,
        "budget": result.budget,
        "iterations": result.iterations,
        "solver": result.solver,
        "warnings": result.warnings,
        "core_time": result.core_time,
        "slow_only_s": result.slow,
        "cache_mode_s": _sum(result.cache_mode),
        "guided_s": _sum(result.guided),
        "managed_s": result.placed,
        "lower_bound_s": result.lower_bound_all,
        "lower_bound_confidence": result.confidence,
        "fast_only_s": result.fast,
        "sizes": [
            {
                "fast_bytes": one.size,
                "footprint_share": one.share,
                "managed_s": one.placed,
                "lower_bound_s": one.lower_bound,
            }
            for one in result.sizes
        ],
        "phases": [
            {
                "name": name,
                "slow_only_s": result.slow_only[p],
                "cache_mode_s": result.cache_mode[p] if result.cache_mode else None,
                "guided_s": result.guided[p] if result.guided else None,
                "managed_s": result.managed[p],
                "lower_bound_s": result.lower_bound[p],
                "fast_only_s": result.fast_only[p],
            }
            for p, name in enumerate(result.phases)
        ],
    }


def print_bounds(out: Console, result: Bounds) -> None:
    """Prints the bounds of phases and of the iteration, and what limits them."""
    out.print(
        f"Bounds on {result.machine}, {result.budget}; seconds of an iteration, {result.source}\n", markup=False
    )
    optional = (("cache mode", result.cache_mode), ("given plan", result.guided))
    others = [(title, column) for title, column in optional
              if column is not None]  # fmt: skip
    rows = table("phase", "slow-only", *(title for title, _ in others), "placed", "lower bound", "fast-only",
                 "max. gain")  # fmt: skip

    def row(name: str, slow: float, rest: list[float], placed: float, bound: float, fast: float) -> None:
        rows.add_row(
            name,
            *(units.seconds(value) for value in (slow, *rest, placed)),
            units.seconds(bound),
            units.seconds(fast),
            units.percent(1 - bound / slow) if slow > 0 else "",
        )

    for p, name in enumerate(result.phases):
        row(name, result.slow_only[p], [column[p] for _, column in others], result.managed[p],
            result.lower_bound[p], result.fast_only[p])  # fmt: skip
    rows.add_section()
    row("iteration", result.slow, [math.fsum(column) for _, column in others], result.placed,
        result.usual_lower_bound, result.fast)  # fmt: skip
    out.print(rows)
    estimates = "" if result.confidence is None else " Bounds of phases are estimates."
    alone = "The bound of a phase assumes the best placement for this phase alone."
    out.print(f"\n{result.sentence} {alone}{estimates}", markup=False)
    if result.sizes:
        out.print("\nWithout --fast or --budget the bound is for the machine's whole fast memory. For less:\n")
        smaller = table("fast memory", "of the footprint", "placed", "lower bound")
        for one in result.sizes:
            smaller.add_row(
                units.size(one.size), units.percent(one.share), units.seconds(one.placed),
                units.seconds(one.usual_lower_bound),
            )  # fmt: skip
        out.print(smaller)
    if result.cache_mode is not None:
        out.print(
            "Cache mode is fast memory as a hardware cache of lines: another machine, to which no bound of "
            "placements applies.",
            markup=False,
        )
    if result.observed:
        out.print(f"\n{result.observed}", markup=False)
    for sentence in result.warnings:
        out.print(f"\nwarning: {sentence}", markup=False)
    if result.uncalibrated:
        out.print(f"\nnote: {result.uncalibrated}", markup=False)
