"""Compares out-of-core memory with the kernel's paging: the goals for the results that study.py measures. Criteria
of acceptance/memory."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness import Criterion, Measured, Unavailable

from memory_lines import study
from memory_lines.ways import MAPPINGS, MIB, OTHER_RESULTS, OURS, STOPPED, WAYS

TO_SWAP, TO_MAPPING = 10.0, {2: 2.0, 4: 1.3}  # times faster, in the geometric mean
OVER_BOUND = {"1.0 / 1.7 GB/s": 0.15, "as it is": 0.40}
PREDICTED, SHARE_PREDICTED = 0.15, 0.5  # of what was measured, and of the run's time
SIMULATED = 0.25  # of the bytes that the real run reads
# Terrace's count of the bytes of a run and the kernel's of the disk's may differ by this share of the smaller, and
# by what the rest of the machine may move meanwhile: logs, the file system's own, the program's files.
COUNTED, REST_OF_MACHINE = 0.10, 64 * MIB
LOSS = 0.10  # of the time in memory, at 2x, where the disk does not determine the bound
SWAP = ("swap",)

Row = dict[str, Any]


def _mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if values else math.nan


def _name(row: Row) -> str:
    return f"{row['program']} x{row['threads']} {row['ratio']}x"


@dataclass(frozen=True)
class GainRatios:
    """Rivals' times over Terrace's."""

    rows: Sequence[Row]
    goal: float
    ratios: dict[str, float]  # by case: of the best rival
    killed: list[str]  # cases of these whose rivals have no time, as they were killed in every trial: at the goal
    missing: list[str]  # the other cases, and why there is nothing to compare
    stopped: int  # rivals that count as long as they ran

    @property
    def whole(self) -> bool:
        """Returns whether every case is among the ratios, and one at least has a time."""
        return bool(self.timed) and not self.missing

    @property
    def timed(self) -> dict[str, float]:
        """Returns the ratios of cases whose rivals have a time."""
        return {name: ratio for name, ratio in self.ratios.items() if name not in self.killed}

    @property
    def holds(self) -> bool:
        """Returns whether the means meet the goal: of all cases, and of those alone whose rivals have a time."""
        return self.whole and min(_mean(list(self.ratios.values())), _mean(list(self.timed.values()))) >= self.goal

    def over(self) -> str:
        """Describes how many cases were compared of how many, and why not the others."""
        text = f"over {len(self.ratios)} of {len(self.rows)} cases"
        if self.stopped:
            text += f"; {self.stopped} times a rival was stopped, and counts as long as it ran"
        if self.killed:
            mean = f"{_mean(list(self.timed.values())):.2f}" if self.timed else "nothing is left"
            text += (
                f"; in {len(self.killed)} the kernel killed the rival for want of memory in every turn, which "
                f"counts as {self.goal:g}: without them {mean}"
            )
        return text + (f"; not compared: {', '.join(self.missing)}" if self.missing else "")


def compared(rows: Sequence[Row], ways: Sequence[str], goal: float) -> GainRatios:
    """Returns the ratios of the best of these ways to Terrace. A case with a failure of one of them, or of
    Terrace, is not compared. A case in which all of them were killed in every repetition counts as the goal, and
    no more."""
    ratios: dict[str, float] = {}
    killed, missing, stopped = [], [], 0
    for row in rows:
        without = [way for way in (OURS, *ways) if not row["seconds"][way]]
        wrong = [way for way in without if way == OURS or not study.is_killed(row, way)]
        missing += [f"{_name(row)}: {way}: {row['failed'][way]}" for way in wrong]
        stopped += sum(STOPPED in row["failed"][way].split(", ") for way in ways)
        if wrong:
            continue
        times = [row["seconds"][way] for way in ways if way not in without]
        ratios[_name(row)] = min(times) / row["seconds"][OURS] if times else goal
        killed += [] if times else [_name(row)]
    return GainRatios(rows, goal, ratios, killed, missing, stopped)


def _ended(rows: Sequence[Row]) -> bool:
    return all(row["seconds"]["terrace"] for row in rows)


def against_swap(disk: str) -> Measured:
    """Compares with swap, over all cases."""
    rows = study.rows(disk)
    found = compared(rows, SWAP, TO_SWAP)
    return Measured(_times_as_fast(found), found.holds, [_row(row) for row in rows])


def _times_as_fast(found: GainRatios) -> str:
    ratios = list(found.ratios.values())
    if not ratios:
        return f"nothing compared, {found.over()}"
    return f"{_mean(ratios):.2f} times as fast, {min(ratios):.2f} to {max(ratios):.2f}, {found.over()}"


def against_mapping(disk: str) -> Measured:
    """Compares with the better of the two mappings, by the ratio of data to memory."""
    rows, said, holds = study.rows(disk), [], True
    for ratio, goal in TO_MAPPING.items():
        found = compared([row for row in rows if row["ratio"] == ratio], MAPPINGS, goal)
        holds = holds and found.holds
        said.append(f"{ratio}x (goal {goal}): {_times_as_fast(found)}")
    return Measured("\n".join(said), holds)


def never_slower(disk: str) -> Measured:
    """Checks that no case is slower than any of the three ways."""
    found = compared(study.rows(disk), (*SWAP, *MAPPINGS), goal=1.0)
    slower = [f"{name}: {value:.2f}" for name, value in found.ratios.items() if value < 1]
    text = f"slower in {len(slower)}, {found.over()}" + (f"; slower: {', '.join(slower)}" if slower else "")
    return Measured(text, found.whole and not slower)


def below_least(row: Row) -> str:
    """Describes a median repetition that moved less than the lower bound of any schedule; returns "" otherwise."""
    return ", ".join(
        f"{_name(row)}: {done} {row[done] / MIB:.0f} of at least {row[least] / MIB:.0f} MiB"
        for done, least in (("read", "least_read"), ("written", "least_written"))
        if row[done] < row[least]
    )


def near_bound(disk: str) -> Measured:
    """Compares each case's time with the larger of its time in memory and the least bytes over the disk's speed. A
    case that moved less than the least bytes has no bound, and is not within it."""
    rows, goal = study.rows(disk), OVER_BOUND[disk]
    ended = [row for row in rows if row["seconds"]["terrace"]]
    if not ended:
        return Measured("no case ended", False)
    over = {_name(row): row["seconds"]["terrace"] / row["bound_s"] - 1 for row in ended}
    violated = [text for row in ended if (text := below_least(row))]
    within = sum(over[_name(row)] <= goal and not below_least(row) for row in ended)
    mean = _mean([1 + value for value in over.values()]) - 1
    text = (
        f"{within} of {len(rows)} within {goal:.0%}, {mean:+.0%} in the geometric mean, "
        f"at most {max(over.values()):+.0%}"
    )
    text += f"; less than any schedule moves: {'; '.join(violated)}" if violated else ""
    return Measured(text, within == len(rows))


def same_bytes(disk: str) -> Measured:
    """Compares the bytes that Terrace reports as read and written with the kernel's counters of the disk, in each
    repetition."""
    rows = study.rows(disk)
    shown = [_bytes(row) for row in rows]
    apart, most, turns = [], 0, 0
    for row in rows:
        for turn in row["turns"]:
            turns += 1
            for what in ("read", "written"):
                own, kernel = turn[what], turn[f"kernel_{what}"]
                if kernel is None:
                    return Measured("the kernel has no account of the disk that the files are on", False, shown)
                most = max(most, abs(own - kernel))
                if abs(own - kernel) > COUNTED * min(own, kernel) + REST_OF_MACHINE:
                    apart.append(f"{_name(row)}: {what} {own // MIB} MiB, by the kernel {kernel // MIB}")
    text = f"{turns} turns, {len(apart)} times apart; at most {most / MIB:.0f} MiB"
    return Measured("\n".join([text, *apart[:5]]), not apart, shown)


def same_results(disk: str) -> Measured:
    """Compares all output of the programs except times: norms, sums and checks with up to 16 digits."""
    rows = study.rows(disk)
    wrong = [f"{_name(row)}: {one}" for row in rows for one in row["wrong"]]
    own = [one for one in wrong if ": terrace: " in one]
    others = sum(f": {OTHER_RESULTS}" in one for one in wrong if one not in own)
    text = f"{len(rows)} cases, {len(own)} wrong; {others} of the kernel's ways"
    return Measured("\n".join([text, *own[:5]]), not own)


def small_loss(disk: str) -> Measured:
    """Judges the loss at 2x, where the time in memory is more than the disk needs."""
    rows = [row for row in study.rows(disk) if row["ratio"] == 2 and row["disk_s"] <= row["in_memory_s"]]
    if not rows:
        raise Unavailable("in no case is there more to compute than to move")
    if not _ended(rows):
        return Measured("a case did not end", False)
    losses = {_name(row): row["seconds"]["terrace"] / row["in_memory_s"] - 1 for row in rows}
    within = sum(value <= LOSS for value in losses.values())
    each = ", ".join(f"{name} {loss:.0%}" for name, loss in losses.items())
    return Measured(f"{within} of {len(rows)} cases lose at most {LOSS:.0%}: {each}", within == len(rows))


def _error(turn: Row) -> float:
    """Returns predicted over measured, less 1; infinite without a prediction."""
    return float(turn["predicted_s"] / turn["measured_s"] - 1) if turn["measured_s"] else math.inf


def _share(turn: Row) -> float:
    """Returns the share of a run's time that was predicted."""
    return float(turn["measured_s"] / turn["seconds"])


def well_predicted(disk: str) -> Measured:
    """Judges each trial by itself: the largest error counts, and the smallest share. Predictions that were
    abandoned because the thread went elsewhere have no error, and are missing from the share."""
    rows, missed = study.rows(disk), []
    for row in rows:
        worst = max((_error(turn) for turn in row["turns"]), key=abs)
        share = min(map(_share, row["turns"]))
        if abs(worst) > PREDICTED or share < SHARE_PREDICTED:
            told = f"{worst:+.0%}" if math.isfinite(worst) else "nothing predicted"
            missed.append(f"{_name(row)}: {told}, of {share:.0%}")
    errors = [abs(error) for row in rows for turn in row["turns"] if math.isfinite(error := _error(turn))]
    text = f"{len(rows) - len(missed)} of {len(rows)} cases"
    text += f", median absolute error of a turn {statistics.median(errors):.0%}" if errors else ""
    return Measured(text + (f"; missed: {', '.join(missed)}" if missed else ""), not missed)


def simulated(disk: str) -> Measured:
    """Compares the bytes that virtual time reads with those of the real run, with the same memory. Written bytes
    are reported, not judged."""
    rows = [row for row in study.rows(disk) if row["threads"] == 1]
    if not rows:
        raise Unavailable("no case has one thread")
    errors = {_name(row): row["simulated_read"] / row["read"] - 1 if row["read"] else math.inf for row in rows}
    written = [row["simulated_written"] / row["written"] - 1 if row["written"] else math.inf for row in rows]
    within = sum(abs(error) <= SIMULATED for error in errors.values())
    worst = max(errors, key=lambda name: abs(errors[name]))
    text = (
        f"{within} of {len(rows)} cases within {SIMULATED:.0%}; worst {worst}, {errors[worst]:+.0%}; "
        f"written: at most {max(written, key=abs):+.0%}"
    )
    return Measured(text, within == len(rows) and _ended(rows))


def _case(row: Row) -> dict[str, Any]:
    """Returns the columns that name a case of the study in a table."""
    return {
        "program": row["program"],
        "threads": row["threads"],
        "data_over_memory": row["ratio"],
        "disk": row["disk"],
    }


def _row(row: Row) -> dict[str, Any]:
    """Returns the times of a case for the result page. Predictions are those of the worst trial."""
    worst = max(row["turns"], key=lambda turn: abs(_error(turn)))
    return {
        **_case(row),
        "memory_mib": row["memory"] // MIB,
        "in_memory_s": f"{row['in_memory_s']:.1f}",
        "least_bytes_over_speed_s": f"{row['disk_s']:.1f}",
        "bound_s": f"{row['bound_s']:.1f}",
        **{f"{_column(way)}_s": study.said(row, way) for way in WAYS},
        "peak_mib": row["peak"] // MIB,
        "predicted_s": f"{worst['predicted_s']:.1f}",
        "measured_s": f"{worst['measured_s']:.1f}",
        "time_predicted": f"{min(map(_share, row['turns'])):.0%}",
    }


def _bytes(row: Row) -> dict[str, Any]:
    """Returns the disk's speed and the bytes of the repetitions whose times count, for the page."""
    moved = {
        f"{what}{count}_mib": _mib(row[f"{key}{what}"])
        for what in ("read", "written")
        for key, count in (("", ""), ("kernel_", "_by_kernel"), ("least_", "_least"), ("simulated_", "_simulated"))
    }
    return {
        **_case(row),
        **{f"disk_{key}_mb_s": f"{value / 1e6:.0f}" for key, value in row["speed"].items()},
        **moved,
        **{
            f"{_column(way)}_{what}_mib": _mib(study.of_median(row, way)[what])
            for way in (*SWAP, *MAPPINGS)
            for what in ("read", "written")
        },
    }


def _column(way: str) -> str:
    return way.replace(", ", "_")


def _mib(size: int | None) -> str:
    return "" if size is None else str(size // MIB)


_JUDGED: dict[str, tuple[str, Callable[[str], Measured]]] = {
    "swap": (
        f"{TO_SWAP:g} times as fast as the kernel's swap in the geometric mean of all cases, and of those in "
        "which swap ended",
        against_swap,
    ),
    "mapping": (
        "than the better of a plain and a sequential one 2 times as fast at 2x, 1.3 times at 4x, geometric means "
        "of all cases, and of those in which a mapping ended",
        against_mapping,
    ),
    "never slower": ("in no case slower than swap or a mapping", never_slower),
    "bound": ("within {bound:.0%} of the bound", near_bound),
    "bytes": (
        "as many read and written as the kernel counts of the disk, in every turn within {counted:.0%} and "
        "{rest} MiB",
        same_bytes,
    ),
    "results": ("the same to the last digit that programs print", same_results),
    "loss": ("at most 10 % at 2x where computing leaves room for the disk", small_loss),
    "prediction": (
        "in every case and turn within 15 % of what was measured; at least half of the run's time predicted",
        well_predicted,
    ),
    "virtual time": ("with one thread reads as much as the real run, within 25 %", simulated),
}
_ON_ONE_DISK = {"virtual time": "as it is"}  # its bytes do not depend on the disk

CRITERIA = [
    Criterion(
        f"over a file, disk {disk}: {what}",
        goal.format(bound=OVER_BOUND[disk], counted=COUNTED, rest=REST_OF_MACHINE // MIB),
        functools.partial(judge, disk),
    )
    for disk in study.DISKS
    for what, (goal, judge) in _JUDGED.items()
    if _ON_ONE_DISK.get(what, disk) == disk
]
