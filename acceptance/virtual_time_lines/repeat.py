"""Checks determinism: a command run twice, once with every core busy, gives profiles that are equal in every row
and bit. Criteria of acceptance/virtual-time.

Rows say when each phase, loop, move and object began and ended. The comparison skips columns that name the
execution (process numbers, the hour, the system's addresses) and those that are measured of the run itself, in
real seconds.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness import Criterion, Measured, fresh, keep_part, workloads

from virtual_time_lines.common import (
    OWN,
    PROGRAMS,
    Busy,
    compare,
    program,
    simulate,
    virtual_seconds,
    workload,
)

THREADS = (1, 2, 4)
MACHINE = ["--machine", "xeon-max-9480-snc4"]
LINES_OF_PATTERNS = "20000"  # 1.2 MiB an array
# The last level is scaled with the size `repeat`.
SMALL_MACHINE = ["--machine", "unimem-lat4", "--cache", "l3=256KiB", "--fast", "512KiB"]


def _twice(folder: Path, options: Sequence[str], command: Sequence[str | Path], **environment: str) -> Measured:
    """Runs the command twice; returns the virtual time, if output and profile are equal."""
    idle, busy = folder / "idle.terrace", folder / "busy.terrace"
    first = simulate(idle, options, command, **environment)
    with Busy():
        second = simulate(busy, options, command, **environment)
    found = compare(idle, busy)
    digits = f"{virtual_seconds(idle)!r} s"
    if found.difference:
        return Measured(f"{digits} against {virtual_seconds(busy)!r} s, {found.difference}", False)
    if first.stdout != second.stdout:
        return Measured(f"{digits}, but it printed {first.stdout[:80]!r} and {second.stdout[:80]!r}", False)
    return Measured(f"{digits} ({found.rows} rows)", True)


def _series(name: str, found: dict[int, Measured]) -> Measured:
    """Joins the results of a program, by its numbers of threads."""
    text = ", ".join(f"{threads}: {one.text}" for threads, one in found.items())
    return Measured(f"{name}, by threads: {text}", all(one.holds for one in found.values()))


def _together(series: Sequence[Measured]) -> Measured:
    return Measured("\n".join(one.text for one in series), all(one.holds for one in series))


def openmp() -> Measured:
    """Compares a program whose loops have the schedule of OMP_SCHEDULE, and one that has them all."""
    folder = fresh("repeat-openmp")
    patterns = program(OWN / "patterns.c", "-fopenmp")
    series = []
    for schedule in ("static", "dynamic,100"):
        for pattern in ("stream", "gather"):
            found = {
                n: _twice(folder, MACHINE, [patterns, pattern, LINES_OF_PATTERNS, str(n)], OMP_SCHEDULE=schedule)
                for n in THREADS
            }
            series.append(_series(f"{pattern}, schedule {schedule}", found))
    every = program(PROGRAMS / "openmp_schedules.c", "-fopenmp")
    series.append(_series(every.name, {n: _twice(folder, MACHINE, [every, str(n)]) for n in THREADS}))
    return _together(series)


def threads() -> Measured:
    """Repeats programs with locks and atomics on several numbers of threads."""
    folder = fresh("repeat-threads")
    series = []
    for name in ("threads_lock.cpp", "threads_atomic.cpp"):
        made = program(PROGRAMS / name, "-std=c++20", "-pthread")
        series.append(_series(made.name, {n: _twice(folder, MACHINE, [made, str(n)]) for n in THREADS}))
    return _together(series)


def _by_threads(folder: Path, name: str, words: list[str]) -> dict[str, str | bool]:
    made = workload(name, True, True)
    found = {n: _twice(folder, SMALL_MACHINE, [made, *words, "--threads", str(n)]) for n in THREADS}
    return asdict(_series(name, found))


def every_program() -> Measured:
    """Repeats every workload that has OpenMP, on several numbers of threads."""
    folder = fresh("repeat-workloads")
    series = []
    for name, about in workloads().items():
        if not about.openmp:
            continue
        part = keep_part(f"repeat-{name}", functools.partial(_by_threads, folder, name, about.words("repeat")))
        series.append(Measured(**part))
    return _together(series)


_GOAL = "virtual time and every row of the profile equal to the last bit, idle and all cores busy, 1, 2, 4 threads"

CRITERIA = [
    Criterion("same digits: OpenMP", f"static and dynamic schedules: {_GOAL}", openmp),
    Criterion("same digits: locks and atomics", _GOAL, threads),
    Criterion("same digits: workloads", f"every workload with threads: {_GOAL}", every_program),
]
