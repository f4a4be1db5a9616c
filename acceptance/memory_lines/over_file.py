"""Memory over a file against the kernel: what was promised of it, and what the study says (study.py)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from harness import Line, Measured, Unavailable

from memory_lines import study

TO_SWAP, TO_MAPPING = 10.0, {2: 2.0, 4: 1.3}  # times faster, in the geometric mean
OVER_BOUND = {"1.0 / 1.7 GB/s": 0.15, "as it is": 0.40}
PREDICTED, SHARE_PREDICTED = 0.15, 0.5  # of what was measured, and of the run's time
LOSS = 0.10  # of the time in memory, at 2x, where the disk is not what the bound is made of


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _faster(row: dict[str, Any], *ways: str) -> float | None:
    """The best of these over Terrace; None where one of them, or Terrace, did not end well."""
    times = [row["seconds"][way] for way in ways if row["seconds"][way]]
    own = row["seconds"]["terrace"]
    return min(times) / own if times and own else None


def _name(row: dict[str, Any]) -> str:
    return f"{row['program']} x{row['threads']} {row['ratio']}x"


def _ended(rows: Sequence[dict[str, Any]]) -> bool:
    return all(row["seconds"]["terrace"] for row in rows)


def against_swap(disk: str) -> Measured:
    """Over all cases."""
    rows = study.rows(disk)
    ratios = [value for row in rows if (value := _faster(row, "swap"))]
    mean = _mean(ratios)
    if not ratios:
        raise Unavailable("; ".join(one for row in rows for one in row["wrong"])[:300])
    text = f"{mean:.1f} times as fast over {len(ratios)} cases, {min(ratios):.1f} to {max(ratios):.1f}"
    if killed := sum("swap: killed" in one for row in rows for one in row["wrong"]):
        text += f"; not counted: {killed} runs in swap, ended by the kernel's out-of-memory killer"
    return Measured(text, _ended(rows) and mean >= TO_SWAP, [_row(row) for row in rows])


def against_mapping(disk: str) -> Measured:
    """The better of the two mappings, by how much data there is for the memory."""
    rows, said, holds = study.rows(disk), [], True
    for ratio, goal in TO_MAPPING.items():
        of_ratio = [row for row in rows if row["ratio"] == ratio]
        ratios = [value for row in of_ratio if (value := _faster(row, *study.WAYS[2:]))]
        if not ratios:
            continue
        mean = _mean(ratios)
        holds = holds and _ended(of_ratio) and mean >= goal
        said.append(
            f"{ratio}x: {mean:.2f} times as fast over {len(ratios)} cases (goal {goal}), from {min(ratios):.2f}"
        )
    return Measured("; ".join(said), holds)


def never_slower(disk: str) -> Measured:
    """Than any of the three, in any case."""
    rows = study.rows(disk)
    slower = [
        f"{_name(row)}: {value:.2f}"
        for row in rows
        if (value := _faster(row, *study.WAYS[1:])) is not None and value < 1
    ]
    text = f"{len(rows) - len(slower)} of {len(rows)} cases" + (
        f"; slower in {', '.join(slower)}" if slower else ""
    )
    return Measured(text, _ended(rows) and not slower)


def near_bound(disk: str) -> Measured:
    """Each case: its time over the larger of its time in memory and the least bytes over the disk's speed."""
    rows, goal = study.rows(disk), OVER_BOUND[disk]
    over = [row["seconds"]["terrace"] / row["bound_s"] - 1 for row in rows if row["seconds"]["terrace"]]
    if not over:
        return Measured("no case ended", False)
    within = sum(value <= goal for value in over)
    mean = _mean([1 + value for value in over]) - 1
    text = (
        f"{within} of {len(rows)} within {goal:.0%}, {mean:+.0%} in the geometric mean, at most {max(over):+.0%}"
    )
    return Measured(text, _ended(rows) and within == len(rows))


def same_results(disk: str) -> Measured:
    """All that programs print, but times."""
    rows = study.rows(disk)
    wrong = [f"{_name(row)}: {one}" for row in rows for one in row["wrong"]]
    own = [one for one in wrong if ": terrace: " in one]
    text = f"{len(rows)} cases, {len(own)} wrong" + (f"; other ways: {len(wrong) - len(own)}" if wrong else "")
    return Measured("\n".join([text, *own[:5]]), not own)


def small_loss(disk: str) -> Measured:
    """At 2x, where the time in memory is more than what the disk needs."""
    rows = [row for row in study.rows(disk) if row["ratio"] == 2 and row["disk_s"] <= row["in_memory_s"]]
    if not rows:
        raise Unavailable("in no case is there more to compute than to move")
    if not _ended(rows):
        return Measured("a case did not end", False)
    losses = {_name(row): row["seconds"]["terrace"] / row["in_memory_s"] - 1 for row in rows}
    within = sum(value <= LOSS for value in losses.values())
    worst = max(losses, key=lambda key: losses[key])
    text = f"{within} of {len(rows)} cases lose at most {LOSS:.0%}; {worst} loses {losses[worst]:.0%}"
    return Measured(text, within == len(rows))


def well_predicted(disk: str) -> Measured:
    """The sums of predicted and measured stretches of all turns; too little that is predicted counts as missed."""
    rows, missed, errors = study.rows(disk), [], []
    for row in rows:
        error = row["predicted_s"] / row["measured_s"] - 1 if row["measured_s"] else math.inf
        if row["measured_s"]:
            errors.append(abs(error))
        if abs(error) > PREDICTED or row["predicted_share"] < SHARE_PREDICTED:
            told = f"{error:+.0%} of {row['predicted_share']:.0%}" if row["measured_s"] else "nothing predicted"
            missed.append(f"{_name(row)}: {told}")
    median = f", median error {sorted(errors)[len(errors) // 2]:.0%}" if errors else ""
    text = f"{len(rows) - len(missed)} of {len(rows)} cases{median}" + (
        f"; missed: {', '.join(missed)}" if missed else ""
    )
    return Measured(text, not missed)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """For the page."""

    def seconds(value: float | None) -> str:
        return f"{value:.1f}" if value else "failed"

    return {
        "program": row["program"],
        "threads": row["threads"],
        "data_over_memory": row["ratio"],
        "disk": row["disk"],
        "memory_mib": row["memory"] // study.MIB,
        "in_memory_s": seconds(row["in_memory_s"]),
        "bound_s": seconds(row["bound_s"]),
        **{f"{way.replace(', ', '_')}_s": seconds(time) for way, time in row["seconds"].items()},
        "read_mib": row["read"] // study.MIB,
        "least_read_mib": row["least_read"] // study.MIB,
        "written_mib": row["written"] // study.MIB,
        "least_written_mib": row["least_written"] // study.MIB,
        "peak_mib": row["peak"] // study.MIB,
        "predicted_s": f"{row['predicted_s']:.1f}",
        "measured_s": f"{row['measured_s']:.1f}",
        "time_predicted": f"{row['predicted_share']:.0%}",
    }


_JUDGED: dict[str, tuple[str, Callable[[str], Measured]]] = {
    "swap": (f"{TO_SWAP:g} times as fast as the kernel's swap in the geometric mean", against_swap),
    "mapping": (
        "than the better of a plain and a sequential one 2 times as fast at 2x, 1.3 times at 4x, geometric means",
        against_mapping,
    ),
    "never slower": ("in no case slower than swap or a mapping", never_slower),
    "bound": ("within {bound:.0%} of the bound", near_bound),
    "results": ("the same to the last bit", same_results),
    "loss": ("at most 10 % at 2x where computing leaves room for the disk", small_loss),
    "prediction": (
        "within 15 % of what was measured in every case; at least half of the run's time predicted",
        well_predicted,
    ),
}

LINES = [
    Line(f"over a file, disk {disk}: {what}", goal.format(bound=OVER_BOUND[disk]), functools.partial(judge, disk))
    for disk in study.DISKS
    for what, (goal, judge) in _JUDGED.items()
]
