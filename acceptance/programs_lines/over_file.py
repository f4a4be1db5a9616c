"""Runs the programs that hold hundreds of MB with half of that memory: Terrace's file against the kernel's swap.
Criteria of acceptance/programs.

And with more than they hold, where each has to do what it does without Terrace, too.
"""

from __future__ import annotations

import contextlib
import functools
import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import SETTINGS, TERRACE, Criterion, Measured, keep_part
from memory_lines.limits import swap_file

from programs_lines.cases import CASES, Case, chosen
from programs_lines.runs import PLAIN, RunResult, forget, interleaved, scratch

MIB = 1 << 20
OURS, SWAP = "terrace", "swap"
BOTH = "terrace with swap"  # told, not judged: small blocks, which Terrace leaves alone, have somewhere to go
WAYS = (OURS, SWAP, BOTH)
SWAP_SIZE = 4096 * MIB
MIN = 64 * MIB  # that --memory takes
PATIENCE = 20.0  # times the run in memory: a slower run is stopped, and counts as that long
ROOM = 4  # times what it holds: where all fits

Row = dict[str, Any]


@contextlib.contextmanager
def _way(way: str, memory: int) -> Iterator[list[str]]:
    """Yields the words in front of the program for a way, with its spill folder and swap file set up."""
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="terrace-programs-") as name:
        ours = [str(TERRACE), "run", "--memory", str(memory), "--spill", name, "--"]
        if way == OURS:
            yield ours
            return
        with swap_file(Path(name) / "swap", SWAP_SIZE):
            yield [] if way == SWAP else ours


def _once(case: Case, way: str, memory: int, timeout: float) -> tuple[RunResult, str]:
    """Runs a case in one way with a limit of memory; returns the run and its comparable output."""
    with _way(way, memory) as prefix:
        done = case.run(prefix, {}, memory, timeout)
        try:
            return done, case.outcome(done)
        finally:
            forget(done)


def measured(case: Case) -> Row:
    """Runs a case with half of its memory in every way, interleaved; returns times and wrong outputs."""
    plain = case.run([], {})
    truth = case.outcome(plain)
    forget(plain)
    memory = max(plain.peak // 2, MIN)
    timeout = max(60.0, PATIENCE * plain.seconds)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    wrong: list[str] = []
    for way in interleaved(WAYS, max(1, min(SETTINGS.turns, 3))):
        done, outcome = _once(case, way, memory, timeout)
        seconds[way].append(timeout if done.status is None else done.seconds)
        if done.status is None:
            wrong.append(f"{way}: stopped after {timeout:.0f} s")
        elif outcome != truth:
            said = [line for line in done.err.splitlines() if line.startswith("terrace: ")]
            wrong.append(f"{way}: {outcome.splitlines()[0]}, other results; {' '.join(said)[:120]}")
    done, outcome = _once(case, OURS, ROOM * plain.peak, timeout)
    fits = done.status is not None and outcome == truth
    return {
        "program": case.name,
        "fits": fits,
        "peak": plain.peak,
        "memory": memory,
        "in_memory": plain.seconds,
        "seconds": seconds,
        "wrong": wrong,
    }


@functools.cache
def rows() -> list[Row]:
    return [
        keep_part(f"over-file-{case.name}", functools.partial(measured, case), timed=True)
        for case in chosen(CASES)
        if case.is_large
    ]


def _same() -> Measured:
    found = rows()
    wrong = [f"{row['program']}: {one}" for row in found for one in row["wrong"] if one.startswith(f"{OURS}: ")]
    others = sum(one.startswith(SWAP) for row in found for one in row["wrong"])
    text = f"{len(found)} programs, {len(wrong)} runs other than in memory; {others} with the kernel's swap"
    return Measured("\n".join([text, *wrong[:6]]), not wrong)


def _fitting() -> Measured:
    found = rows()
    wrong = [row["program"] for row in found if not row["fits"]]
    text = f"{len(found)} programs, {len(wrong)} other than in memory"
    return Measured("\n".join([text, *wrong[:6]]), not wrong)


def _ratio(row: Row) -> float:
    """Returns swap's time over ours, or NaN if ours failed."""
    if any(one.startswith(f"{OURS}: ") for one in row["wrong"]):
        return math.nan
    return float(statistics.median(row["seconds"][SWAP]) / statistics.median(row["seconds"][OURS]))


def _level() -> Measured:
    """Judges each program's time over a file against the kernel's swap at the same limit."""
    found = rows()
    ratios = {row["program"]: _ratio(row) for row in found}
    known = {name: ratio for name, ratio in ratios.items() if not math.isnan(ratio)}
    shown = [
        {
            "program": row["program"],
            "holds_mib": row["peak"] // MIB,
            "memory_mib": row["memory"] // MIB,
            "in_memory_s": f"{row['in_memory']:.1f}",
            "terrace_s": f"{statistics.median(row['seconds'][OURS]):.1f}",
            "swap_s": f"{statistics.median(row['seconds'][SWAP]):.1f}",
            "terrace_with_swap_s": f"{statistics.median(row['seconds'][BOTH]):.1f}",
            "swap_over_terrace": f"{ratios[row['program']]:.2f}",
            "wrong": "; ".join(row["wrong"]),
        }
        for row in found
    ]
    if not known:
        return Measured("no program ended as it should", False, shown)
    slower = [f"{name} {ratio:.2f}" for name, ratio in known.items() if ratio < 1]
    mean = statistics.geometric_mean(known.values())
    text = f"{len(known)} of {len(found)} compared: {mean:.2f} times as fast in the geometric mean"
    text += f"; slower: {', '.join(slower)}" if slower else "; none slower"
    return Measured(text, len(known) == len(found) and not slower, shown)


CRITERIA = [
    Criterion(
        "over a file: output", f"with half of its memory each gives what it gives in memory ({PLAIN})", _same
    ),
    Criterion(
        "over a file: room", f"with {ROOM} times its memory each gives what it gives in memory ({PLAIN})", _fitting
    ),
    Criterion(
        "over a file: time", "no program slower than with the kernel's swap at the same limit, medians", _level
    ),
]
