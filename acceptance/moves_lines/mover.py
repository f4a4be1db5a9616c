"""Measures the mover on this machine's pages: its speed next to a computing thread, and the price that it
predicts. Criteria of acceptance/moves."""

from __future__ import annotations

import functools
import json
from typing import Any

from harness import ROOT, Criterion, Measured, Unavailable, run

BUILD = ROOT / "build" / "release"
# Least share of the best bare copy loop's speed, by page size and bytes moved.
SHARES = {"huge/2097152": 0.75, "small/2097152": 0.55, "small/524288": 0.35}
PRICE = 0.15  # predicted over measured, and under


@functools.cache
def _bench() -> dict[str, dict[str, Any]]:
    """Returns the results of price_bench, by benchmark."""
    program = BUILD / "bench" / "bin" / "price_bench"
    run(["cmake", "--build", "--preset", "release", "--target", "price_bench"])
    done = run([program, "--benchmark_format=json"], timeout=3600)
    found = {}
    for row in json.loads(done.stdout[done.stdout.index("{") :])["benchmarks"]:
        if "error_message" in row:
            raise Unavailable(f"price_bench: {row['error_message']}")
        name = row["name"].removeprefix("shares/").split("/iterations:")[0]
        found[name] = row
    return found


def shares() -> Measured:
    """Compares exchanged pages with the best bare copy loop: medians, interleaved, next to a thread that
    computes."""
    rows: list[dict[str, Any]] = []
    holds = True
    for name, goal in SHARES.items():
        found = next(row for key, row in _bench().items() if key.startswith(name))
        share = found["exchange_share"]
        holds = holds and share >= goal
        row: dict[str, Any] = {"moved": name, "goal_share": goal}
        measured = ("exchange_share", "mremap_share", "copy_us", "exchange_us", "mremap_us", "move_pages_us")
        rows.append(row | {key: found[key] for key in measured if key in found})
    text = ", ".join(f"{row['moved']} {row['exchange_share']:.0%} (goal {row['goal_share']:.0%})" for row in rows)
    return Measured(text, holds, rows)


def price() -> Measured:
    """Compares the predicted price of 10,000 mixed moves with their measured time."""
    found = next(row for key, row in _bench().items() if key.startswith("mixed_moves"))
    ratio, busy = found["ratio"], found["ratio_busy"]
    text = (
        f"predicted {found['predicted_s']:.2f} s, measured {found['measured_s']:.2f} s: {ratio - 1:+.1%}; over "
        f"the mover's processor time {busy - 1:+.1%}"
    )
    return Measured(text, abs(ratio - 1) <= PRICE)


CRITERIA = [
    Criterion("mover's speed", "75 %, 55 %, 35 % of the best bare copy: 2 MiB huge, 2 MiB small, 512 KiB", shares),
    Criterion("price of 10,000 mixed moves", f"within {PRICE:.0%} of what they take", price),
]
