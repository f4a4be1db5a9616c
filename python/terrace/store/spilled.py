# SPDX-License-Identifier: Apache-2.0
"""Reads the out-of-core data of a process (docs/reference/store.md, table spill): bytes read and written, waiting
time. The experiments on out-of-core memory use it."""

from __future__ import annotations

from dataclasses import dataclass

from terrace.store.reader import Store
from terrace.store.values import Run


@dataclass(frozen=True)
class SpillTotals:
    """Totals of one loop. Bytes and seconds."""

    bytes_read: int
    bytes_written: int
    waited: float
    least_read: int
    least_written: int
    least_time: float


def read_last_loop(store: Store, run: Run) -> SpillTotals | None:
    """Returns the totals of the last main loop; None without out-of-core data or without a loop."""
    columns, everything = store.table("spill")
    rows = [
        row for row in (dict(zip(columns, values, strict=True)) for values in everything) if row["run"] == run.id
    ]
    rows.sort(key=lambda row: int(row["position"]))
    first = max((i for i, row in enumerate(rows) if row["iteration"] == 0), default=None)
    if first is None:
        return None
    last = next((i for i in range(first, len(rows)) if rows[i]["iteration"] is None), len(rows) - 1)
    names = ("bytes_read", "bytes_written", "waited", "least_read", "least_written", "least_time")
    return SpillTotals(*(rows[last][name] - rows[first][name] for name in names))
