# SPDX-License-Identifier: Apache-2.0
"""Implements `terrace plan --sweep`: the predicted time of an iteration over the size of a kind of memory."""

import re
from typing import Any

from terrace import units
from terrace.errors import WrongCallError
from terrace.output import console, print_json, progress, table
from terrace.solve.model import CurvePoint, Model


def parse_sweep(text: str) -> tuple[str, list[int]]:
    """Parses "fast=64MiB:4GiB" into the kind and sizes: the ends, and powers of two and half-way points
    between.
    """
    found = re.fullmatch(r"([A-Za-z_][\w-]*)=([^:]+):([^:]+)", text)
    if not found:
        raise WrongCallError(f"--sweep '{text}' is not KIND=LOW:HIGH, as in fast=64MiB:4GiB")
    low, high = units.parse_size(found[2]), units.parse_size(found[3])
    if not 0 < low <= high:
        raise WrongCallError(
            f"--sweep '{text}' ranges from {found[2]} to {found[3]}; give a smaller size above 0 first"
        )
    sizes = {low, high}
    power = 4096
    while power < high:
        sizes |= {size for size in (power, power * 3 // 2) if low < size < high}
        power *= 2
    return found[1], sorted(sizes)


def print_sweep(model: Model, text: str, planner: str, json: bool) -> None:
    """Plans with many sizes of a kind of memory (`--sweep`), and prints the predicted times."""
    kind, sizes = parse_sweep(text)
    with progress(f"planning with {planner}", len(sizes)) as steps:
        if kind == "fast":
            points = model.curve(sizes, planner, steps)
        else:
            budgets = {size: model.budget(f"{kind}={size}") for size in sizes}
            points = model.curve(sizes, planner, steps, budgets)
        slow, fast = model.seconds("slow-only"), model.seconds("fast-only")
    if json:
        print_json(_sweep_document(kind, planner, points, slow, fast))
        return
    out = console()
    out.print(f"Predicted time of an iteration by {planner} over the size of {kind} memory\n", markup=False)
    rows = table(kind, "of the data", "per iteration", "of the gain", "lower bound", "gap", "moves", "moved")
    footprint = max(model.profile.footprint, 1)
    for point in points:
        gain = (slow - point.predicted) / (slow - fast) if slow > fast else 0.0
        bound = point.lower_bound or 0.0
        rows.add_row(
            units.size(point.size),
            units.percent(point.size / footprint, 0),
            units.seconds(point.predicted),
            units.percent(gain),
            units.seconds(bound),
            units.percent(point.predicted / bound - 1) if bound > 0 else "",
            str(point.moves),
            units.size(point.moved_bytes),
        )
    out.print(rows)
    out.print(f"\nslow-only {units.seconds(slow)}, fast-only {units.seconds(fast)}", markup=False)


def _sweep_document(kind: str, planner: str, points: list[CurvePoint], slow: float, fast: float) -> dict[str, Any]:
    return {
        "kind": kind,
        "planner": planner,
        "slow_only_s": slow,
        "fast_only_s": fast,
        "points": [
            {
                "bytes": point.size,
                "predicted_s": point.predicted,
                "lower_bound_s": point.lower_bound,
                "moves": point.moves,
                "moved_bytes": point.moved_bytes,
            }
            for point in points
        ],
    }
