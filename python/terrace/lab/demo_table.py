# SPDX-License-Identifier: Apache-2.0
"""Prints the demo's table of placements, and in sentences what it means. `terrace lab demo` calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from terrace.output import console, table


@dataclass(frozen=True)
class Row:
    """A workload on a machine with a size of fast memory; times are virtual seconds of the main loop."""

    workload: str
    machine: str
    ratio: str
    fast_bytes: int
    footprint_bytes: int
    slow_only_s: float
    first_touch_s: float  # placement as the kernel does it by default
    interleave_s: float
    managed_s: float
    live_s: float
    steady_s: float  # later half of the live run's iterations
    steady_fast_only_s: float  # same iterations of the fast-only run
    fast_only_s: float
    lower_bound_s: float
    gap: float  # planned relative to fast-only
    steady_gap: float  # steady relative to the same iterations of fast-only
    moves: int  # of the planned run
    moved_bytes: int
    live_moves: int
    overlap: float | None  # no value without moves
    iterations: int
    verified: bool


def print_rows(rows: Sequence[Row], problem_class: str, is_study: bool) -> None:
    """Prints the table of placements, and in sentences what it means."""
    print(
        "Data placement, in virtual time: a machine that you do not have, with a small fast and a slow memory.\n"
        "Moves take what the kernel was measured to take. Times are of the main loop.\n"
    )
    header = ["workload", "machine", "fast memory", "slow-only", "first touch", "interleave", "live", "planned",
              "fast-only", "bound", "gain of the plan", "moves live", "planned",
              *(["planned gap", "overlap"] if is_study else [])]  # fmt: skip
    lines = [
        [
            f"{row.workload}.{problem_class}", row.machine,
            f"{row.fast_bytes / 1e6:.1f} MB ({row.fast_bytes / row.footprint_bytes:.0%}, {row.ratio})",
            *(f"{value * 1e3:.1f} ms" for value in
              (row.slow_only_s, row.first_touch_s, row.interleave_s, row.live_s, row.managed_s, row.fast_only_s,
               row.lower_bound_s)),
            f"{_closed(row):.0%}", str(row.live_moves), str(row.moves),
            *([f"{row.gap:+.1%}", _share(row.overlap)] if is_study else []),
        ]
        for row in rows
    ]  # fmt: skip
    shown = table(*header, left=(0, 1, 2))
    for line in lines:
        shown.add_row(*line)
    console().print(shown)
    for row in rows:
        if row.ratio == "half":
            print(
                f"{row.workload}.{problem_class}: with fast memory for half of its data, the plan gains "
                f"{_closed(row):.0%} of what fast memory for all data would,\nand takes "
                f"{1 - row.managed_s / row.first_touch_s:.0%} less than first touch and "
                f"{1 - row.managed_s / row.interleave_s:.0%} less than interleaving. No placement by software can "
                f"be more than\n{row.managed_s / row.lower_bound_s - 1:.1%} faster."
            )
    if is_study:
        for machine, published in (("unimem-bw2", "18 %"), ("unimem-lat4", "47 %")):
            ours = [r.slow_only_s / r.fast_only_s - 1 for r in rows if r.machine == machine and r.ratio == "study"]
            print(
                f"{machine}: slow-only is {sum(ours) / len(ours):.0%} slower on average; "
                f"the paper's codes, class C: {published}"
            )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _closed(row: Row) -> float:
    """Returns the share of the distance between slow-only and fast-only that the plan closes."""
    return (row.slow_only_s - row.managed_s) / (row.slow_only_s - row.fast_only_s)
