"""Compares the tables of `terrace lab experiment moves` (the study in class C) with the goals. Criteria of
acceptance/moves."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from harness import Criterion, Measured
from main_job_lines import properties
from planning_lines.common import experimented

Rows = list[dict[str, Any]]

CACHES = ("20MiB", "5MiB")
NEAR_BOUND = 0.02  # of fast-only's time: user-copy, where the bound is above what was published
SWAP_OVER_BOUND = 0.04
LIVE_OVER_PLANNED = 0.04
OVER_HOOKS = 0.02  # planned from what a collector delivers over planned from all misses


@functools.cache
def _folder(cache: str) -> Path:
    return experimented("moves", "C", "--cache", cache, folder=f"moves-{cache}")


def _table(cache: str, name: str) -> Rows:
    rows: Rows = json.loads((_folder(cache) / f"{name}.json").read_text())["rows"]
    return rows


def _averages(price: str) -> Rows:
    """Returns averages over all programs, and over those that fast memory does not hold whole, which show more."""
    return [
        {"cache": cache, **row} for cache in CACHES for row in _table(cache, "averages") if row["price"] == price
    ]


def _over_all(row: dict[str, Any]) -> bool:
    """Returns the average over all programs, to which the goals and the published averages refer."""
    return bool(row["which"] == "all")


def _shown(row: dict[str, Any], *columns: str) -> dict[str, Any]:
    """Returns gaps in percent, for the page."""
    return {
        "cache": row["cache"], "machine": row["machine"], "programs": row["programs"],
        **{column: f"{row[column]:+.1%}" for column in columns if row[column] is not None},
    }  # fmt: skip


def user_copy() -> Measured:
    """Compares planned with the published average, or with the bound if that is higher."""
    rows, said, holds = [], [], True
    for row in _averages("user-copy"):
        goal = max(row["published_gap"], row["bound_gap"] + NEAR_BOUND)
        if _over_all(row):
            holds = holds and row["planned_gap"] <= goal
            said.append(f"{row['machine']}, {row['cache']}: {row['planned_gap']:+.1%} (goal {goal:+.1%})")
        rows.append(
            _shown(
                {**row, "goal_gap": goal if _over_all(row) else None},
                "slow_only_gap", "published_slow_only_gap", "planned_gap", "objects_gap", "bound_gap",
                "published_gap", "goal_gap",
            )
        )  # fmt: skip
    text = "; ".join(said)
    return Measured(text, holds, rows)


def swap() -> Measured:
    """Compares planned with the bound and live with planned, on average."""
    rows, said, holds = [], [], True
    for row in _averages("swap"):
        over_bound, over_planned = row["planned_gap"] - row["bound_gap"], row["live_gap"] - row["planned_gap"]
        if _over_all(row):
            holds = holds and over_bound <= SWAP_OVER_BOUND and over_planned <= LIVE_OVER_PLANNED
            said.append(
                f"{row['machine']}, {row['cache']}: bound {row['bound_gap']:+.1%}, planned "
                f"{row['planned_gap']:+.1%}, live {row['live_gap']:+.1%}"
            )
        rows.append(
            _shown(
                row, "slow_only_gap", "live_gap", "steady_gap", "planned_gap", "timer_gap", "counted_gap",
                "bound_gap", "published_gap",
            )
        )  # fmt: skip
    return Measured("; ".join(said), holds, rows)


def collector() -> Measured:
    """Compares plans from the default collector's samples with plans from all misses."""
    rows, said, holds = [], [], True
    for row in _averages("swap"):
        over = row["planned_gap"] - row["hooks_gap"]
        if _over_all(row):
            holds = holds and over <= OVER_HOOKS
            said.append(f"{row['machine']}, {row['cache']}: {100 * over:+.2f} points")
        rows.append(_shown(row, "planned_gap", "hooks_gap"))
    return Measured("; ".join(said), holds, rows)


def losses() -> Measured:
    """Reports each program's gap to fast-only, in parts."""
    rows = [
        {
            "cache": cache, "workload": row["workload"], "machine": row["machine"],
            **{
                column.removesuffix("_share").removesuffix("_gap").replace("_", " "): f"{row[column]:+.1%}"
                for column in ("bound_gap", "placement_share", "stalls_share", "waits_share", "own_work_share",
                               "planned_gap", "later_share", "learning_share", "live_gap")
            },
        }
        for cache in CACHES
        for row in _table(cache, "losses")
    ]  # fmt: skip
    return Measured(f"{len(rows)} programs and machines", bool(rows), rows)


def baselines() -> Measured:
    """Compares the baselines with ours by geometric means of their time over ours."""
    rows = [
        {"cache": cache, **{key: row[key] for key in ("baseline", "how", "ahead", "where")},
         "over_ours": f"{row['over_ours'] - 1:+.1%}"}
        for cache in CACHES
        for row in _table(cache, "standing")
    ]  # fmt: skip
    behind = [row for row in rows if row["over_ours"].startswith("-")]
    text = f"{len(rows) - len(behind)} of {len(rows)} are slower than ours in the geometric mean" + "".join(
        f"; {row['baseline']} ({row['cache']}) {row['over_ours']}" for row in behind
    )
    return Measured(text, not behind, rows)


CRITERIA = [
    Criterion(
        "bound, prices on",
        "never above the simulated time of any of 10000 random executable plans",
        properties.bound,
    ),
    Criterion(
        "class C, user-copy",
        "planned at or below the published averages, or within 2 points of the bound",
        user_copy,
    ),
    Criterion("class C, swap", "planned within 4 points of the bound on average, live within 4 of planned", swap),
    Criterion("class C, default collector", "planned within 2 points of a plan from all misses", collector),
    Criterion("class C, what is lost", "each program's gap said in figures", losses),
    Criterion("class C, baselines", "Terrace ahead in the geometric means, live and planned", baselines),
]
