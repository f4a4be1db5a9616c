"""Measures whole programs out of core and under the kernel's own paging: one memory limit, interleaved, one disk.
over_file.py judges the results."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from harness import ROOT, SETTINGS, Unavailable, keep_part, run, workloads

from memory_lines.least import Least, least
from memory_lines.limits import Run, run_limited, throttled
from memory_lines.ways import (
    BENCH,
    KILLED,
    MIB,
    OURS,
    WAYS,
    TrialResult,
    counted,
    folder,
    is_run_again,
    judged,
    patience,
    reached,
    reasons,
    run_in,
)

BUILD = ROOT / "build" / "release"

# About 450 MB each: with a quarter of it the least memory that is allowed is far.
PROGRAMS = {
    "cg": "--class C --iterations 4",
    "mg": "--class B",
    "hydro": "--side 1400 --steps 10",
    "sort": "--keys 28000000 --iterations 1",
    "hashjoin": "--tuples 1500000 --ratio 16 --iterations 3",
}
THREADS = (1, 2)
RATIOS = (2, 4)  # data over memory
DISKS: dict[str, tuple[int, int] | None] = {"as it is": None, "1.0 / 1.7 GB/s": (10**9, 17 * 10**8)}
_BYTES = ("read", "written", "kernel_read", "kernel_written")  # of a trial
_JSON = '{"schema":'  # how the line of `--json` begins


@dataclass(frozen=True)
class Case:
    """A program with so many threads, and its data over its memory, on a disk."""

    program: str
    threads: int
    ratio: int
    disk: str

    def __str__(self) -> str:
        return f"{self.program}, {self.threads} threads, {self.ratio}x, disk {self.disk}"


def cases(disk: str) -> list[Case]:
    """Returns all cases that are run on the disk."""
    return [Case(program, threads, ratio, disk) for program in PROGRAMS for threads in THREADS for ratio in RATIOS]


def _command(program: str, threads: int) -> list[str]:
    where = BUILD / "workloads" if threads == 1 else BUILD / "workloads" / "openmp"
    words = PROGRAMS[program].split()
    return [str(where / program), *words, *(["--threads", str(threads)] if threads > 1 else [])]


@functools.cache
def _built() -> None:
    run(["cmake", "--build", "--preset", "release", "--target", "paging_benchmarks"])


def _speed() -> dict[str, float]:
    """Measures the disk: bytes a second of reading, of writing, of both, each by the best queue depth."""
    done = run([BENCH / "disk_speed", folder(), "512"])
    return {key: float(value) for key, value in json.loads(done.stdout).items()}


# --- one program in memory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryRun:
    """A program with all the memory that it wants."""

    seconds: float
    footprint: int  # bytes
    output: str


def _same(program: str, output: str) -> str:
    """Returns the reproducible part of the output: without times and Terrace's messages."""
    times = workloads()[program].time_lines
    kept = [
        line
        for line in output.splitlines()
        if not (times and re.search(times, line)) and not line.startswith(("terrace:", _JSON))
    ]
    return "\n".join(kept)


@functools.cache
def _in_memory(program: str, threads: int) -> MemoryRun:
    """Returns the time and the output of a program with all of its data in memory, the faster of two page
    sizes."""

    def measure() -> dict[str, Any]:
        _built()
        command = _command(program, threads)
        # With small pages and with huge ones, as Terrace has them: the faster counts.
        huge = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
        done = [run_limited(command, 1 << 40, env) for env in ({}, huge, {}, huge, {}, huge)]
        for one in done:
            if one.status != 0:
                raise RuntimeError(f"{program}: status {one.status}: {one.output[-300:]}")
        outputs = {_same(program, one.output) for one in done}
        if len(outputs) > 1:
            raise RuntimeError(f"{program} with {threads} threads has other results in each run")
        seconds = min(sorted(one.seconds for one in kind)[1] for kind in (done[::2], done[1::2]))
        return {
            "seconds": seconds,
            "footprint": max(one.peak for one in done),
            "output": outputs.pop(),
        }

    kept = keep_part(f"memory-{program}-{threads}", measure, timed=True)
    return MemoryRun(kept["seconds"], kept["footprint"], kept["output"])


@functools.cache
def _least(program: str) -> dict[int, tuple[int, Least]]:
    """Returns by ratio the memory and the least bytes that any schedule moves with it. One thread's count for
    two."""
    footprint = _in_memory(program, 1).footprint
    memories = [footprint // ratio for ratio in RATIOS]
    kept = keep_part(
        f"memory-least-{program}",
        lambda: [asdict(one) for one in least(program, PROGRAMS[program].split(), memories)],
    )
    return {ratio: (memory, Least(**one)) for ratio, memory, one in zip(RATIOS, memories, kept, strict=True)}


def _simulate(programs: Iterable[str]) -> None:
    """Computes the least bytes of all programs concurrently on all cores, before any run is timed."""
    named = list(programs)
    for program in named:
        _in_memory(program, 1)  # timed: alone
    workloads()  # read once, before threads ask for it
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(_least, named))


# --- one case ---------------------------------------------------------------------------------------------------


def _account(output: str) -> dict[str, Any]:
    """Returns Terrace's closing report about out-of-core data, empty if the run ended before it."""
    said = [line for line in output.splitlines() if line.startswith(_JSON)]
    found = json.loads(said[-1]) if said else {}
    return dict(found.get("over_file", {}))


def _measure(case: Case) -> dict[str, Any]:
    """Measures times by way (medians of trials), the bound, Terrace's report of each trial, and the kernel's of
    each run."""
    _built()
    alone = _in_memory(case.program, case.threads)
    budget, fewest = _least(case.program)[case.ratio]
    command = _command(case.program, case.threads)
    limit = DISKS[case.disk]
    tried: dict[str, list[TrialResult]] = {way: [] for way in WAYS}
    wrong, turns, speeds = [], [], []
    with throttled(folder(), *limit) if limit else contextlib.nullcontext():
        for turn in range(SETTINGS.turns):
            speeds.append(_speed())
            for way in WAYS:
                if turn > 0 and not is_run_again(way, tried):
                    continue
                timeout = patience(tried) if way != OURS else 900.0
                done = run_in(way, budget, command, timeout)
                tried[way].append(judged(way, done, timeout, _same(case.program, done.output) == alone.output))
                if problem := tried[way][-1].why:
                    wrong.append(f"{way}: {problem}: {done.output[-200:]}")
                if way == OURS:
                    turns.append(_turn(done))
    own = {key: sorted(one[key] for one in speeds)[len(speeds) // 2] for key in speeds[0]}
    fastest = reached(one for way in WAYS for one in tried[way])
    return {
        **asdict(case),
        "memory": budget,
        "in_memory_s": alone.seconds,
        "least_read": fewest.read,
        "least_written": fewest.written,
        "simulated_read": fewest.simulated_read,
        "simulated_written": fewest.simulated_written,
        **{key: value for key, value in _median_turn(turns).items() if key in _BYTES},
        "peak": max(one["peak"] for one in turns),
        "turns": turns,
        "tried": {way: [asdict(one) for one in runs] for way, runs in tried.items()},
        "speed_of_queue": own,
        "speed_of_runs": fastest,
        "wrong": wrong,
        "failed": {way: reasons(runs) for way, runs in tried.items()},
        "seconds": {way: counted(way, runs) for way, runs in tried.items()},
    }


def _turn(done: Run) -> dict[str, Any]:
    """Returns the closing report of one of Terrace's runs."""
    account = _account(done.output)
    return {
        "seconds": done.seconds,
        "read": account.get("read_bytes", 0),
        "written": account.get("written_bytes", 0),
        "kernel_read": done.disk.read if done.disk else None,
        "kernel_written": done.disk.written if done.disk else None,
        "predicted_s": account.get("predicted_s", 0.0),
        "measured_s": account.get("measured_s", 0.0),
        "peak": done.peak,
    }


def _median_turn(turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the repetition whose time counts."""
    return sorted(turns, key=lambda one: float(one["seconds"]))[len(turns) // 2]


def _bounded(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the cases of a disk with their bounds. The disk's speed is its best of all cases, by its queue or in
    a run."""
    kinds = ("speed_of_queue", "speed_of_runs")
    speed = {key: max(row[kind][key] for row in found for kind in kinds) for key in ("read", "write", "both")}
    bounded = []
    for row in found:
        read, written = row["least_read"], row["least_written"]
        disk = max(read / speed["read"], written / speed["write"], (read + written) / speed["both"])
        bounded.append({**row, "speed": speed, "disk_s": disk, "bound_s": max(row["in_memory_s"], disk)})
    return bounded


@functools.cache
def rows(disk: str) -> list[dict[str, Any]]:
    """Returns the results of the cases on this disk whose name contains --case. Raises Unavailable if there are
    none."""
    chosen = [case for case in cases(disk) if SETTINGS.case in str(case)]
    if not chosen:
        raise Unavailable(f"no case on the disk {disk} has {SETTINGS.case} in its name")
    _simulate(dict.fromkeys(case.program for case in chosen))
    found = []
    for case in chosen:
        name = f"memory-ways-{case}".replace("/", "-")
        found.append(keep_part(name, functools.partial(_measure, case), timed=True))
        print(f"             {_told(found[-1])}", flush=True)
    return _bounded(found)


def is_killed(row: dict[str, Any], way: str) -> bool:
    """Returns whether the kernel's out-of-memory killer ended it in every trial."""
    return row["seconds"][way] is None and row["failed"][way] == KILLED


def of_median(row: dict[str, Any], way: str) -> dict[str, Any]:
    """Returns the run of a way whose time counts, or the first if none does."""
    runs: list[dict[str, Any]] = row["tried"][way]
    return next((one for one in runs if one["counts"] == row["seconds"][way]), runs[0])


def said(row: dict[str, Any], way: str) -> str:
    """Its seconds; and why it did not end as it should, where it did not."""
    time, why = row["seconds"][way], row["failed"][way]
    if time is None:
        return KILLED if is_killed(row, way) else f"failed: {why}"
    return f"{time:.1f}" + (f" ({why} in other turns)" if why == KILLED else f" ({why})" if why else "")


def _told(row: dict[str, Any]) -> str:
    """Returns the sentence that states a case's times and bytes."""
    times = ", ".join(f"{way} {said(row, way)}" for way in WAYS)
    return (
        f"{row['program']} x{row['threads']} {row['ratio']}x {row['disk']}: in memory {row['in_memory_s']:.1f} s, "
        f"{times}; read {row['read'] / MIB:.0f} of {row['least_read'] / MIB:.0f} MiB, "
        f"wrote {row['written'] / MIB:.0f} of {row['least_written'] / MIB:.0f}"
    )
