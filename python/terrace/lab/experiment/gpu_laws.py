# SPDX-License-Identifier: Apache-2.0
"""Checks conservation laws that hold in every run of the GPU simulator, for any program and policy. The ccnuma
study checks each answer by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def broken_laws(run: Mapping[str, Any], *, pages: bool = True) -> list[str]:
    """Returns the conservation laws that a run's counters violate, with the figures. `pages`: whether the run has
    traffic by page.
    """
    counts = run["counts"]
    missed = counts["l1_loads"] - counts["l1_hits"] - counts["l1_merges"] + counts["l1_atomics"]
    laws = [
        ("L1 misses less merges = L2 reads", missed, counts["l2_reads"]),
        ("L1 stores = L2 writes", counts["l1_stores"], counts["l2_writes"]),
        ("L2 misses = bytes that DRAM filled", counts["l2_fetched_bytes"], counts["dram_fill_bytes"]),
        (
            "L2 write-backs = bytes written back to DRAM",
            counts["l2_written_bytes"],
            counts["dram_write_back_bytes"],
        ),
        ("moved pages = bytes read for moves", counts["copied_bytes"], counts["dram_move_read_bytes"]),
        ("moved pages = bytes written for moves", counts["copied_bytes"], counts["dram_move_write_bytes"]),
        ("L2 misses + write-backs + moves = DRAM bytes", *_dram_bytes(run)),
        ("recorded samples = bytes of records", run["samples"] // 16 * 128, counts["record_bytes"]),
        ("pages in another's frame or in none = 0", counts["misplaced_pages"], 0),
    ]
    if pages:
        laws.append(("traffic of all pages = bytes of demand", sum(run["page_bytes"]), sum(run["demand_bytes"])))
    return [f"{law}: {left} and {right}" for law, left, right in laws if left != right]


def _dram_bytes(run: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the bytes according to the caches, and according to the channels of all memories."""
    counts = run["counts"]
    asked = counts["l2_fetched_bytes"] + counts["l2_written_bytes"] + 2 * counts["copied_bytes"]
    return asked, sum(run["demand_bytes"]) + sum(run["move_bytes"])
