"""Whole programs over a file and in the kernel's own ways: one limit of memory, by turns, one disk."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Unavailable, keep_part, run, workloads

from memory_lines.least import Least, least
from memory_lines.limits import Run, run_limited, swap_file, throttled

BUILD = ROOT / "build" / "release"
BENCH = BUILD / "bench" / "bin"
MIB = 1 << 20
LIMIT_OF_SWAP = 4096 * MIB

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
FAR = 3.0  # times what Terrace took: who is farther behind is run once
WAYS = ("terrace", "swap", "mapping", "mapping, sequential")

STOPPED, KILLED, OTHER_RESULTS = "stopped", "killed", "other results"  # how a run may end, beside its status
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
    """All that are run on it."""
    return [Case(program, threads, ratio, disk) for program in PROGRAMS for threads in THREADS for ratio in RATIOS]


def _command(program: str, threads: int) -> list[str]:
    folder = BUILD / "workloads" if threads == 1 else BUILD / "workloads" / "openmp"
    words = PROGRAMS[program].split()
    return [str(folder / program), *words, *(["--threads", str(threads)] if threads > 1 else [])]


def _folder() -> Path:
    return Path(SETTINGS.disk_folder)


@functools.cache
def _built() -> None:
    run(["cmake", "--build", "--preset", "release", "--target", "paging_benchmarks"])


def _speed() -> dict[str, float]:
    """Of the disk now: bytes a second of reading, of writing, of both."""
    done = run([BENCH / "disk_speed", _folder(), "512"])
    return {key: float(value) for key, value in json.loads(done.stdout).items()}


# --- one program in memory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InMemory:
    """A program with all the memory that it wants."""

    seconds: float
    footprint: int  # bytes
    output: str


def _same(program: str, output: str) -> str:
    """What is the same in every run: all but times, and what Terrace says."""
    times = workloads()[program].time_lines
    kept = [
        line
        for line in output.splitlines()
        if not (times and re.search(times, line)) and not line.startswith(("terrace:", _JSON))
    ]
    return "\n".join(kept)


@functools.cache
def _in_memory(program: str, threads: int) -> InMemory:
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
    return InMemory(kept["seconds"], kept["footprint"], kept["output"])


@functools.cache
def _least(program: str) -> dict[int, tuple[int, Least]]:
    """By ratio: the memory, and what any schedule moves with it. That of one thread counts for two."""
    footprint = _in_memory(program, 1).footprint
    memories = [footprint // ratio for ratio in RATIOS]
    kept = keep_part(
        f"memory-least-{program}",
        lambda: [asdict(one) for one in least(program, PROGRAMS[program].split(), memories)],
    )
    return {ratio: (memory, Least(**one)) for ratio, memory, one in zip(RATIOS, memories, kept, strict=True)}


# --- one case ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _way(way: str, budget: int, command: Sequence[str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """How it is called, and with what in its environment."""
    with tempfile.TemporaryDirectory(dir=_folder(), prefix="terrace-memory-") as name:
        folder = Path(name)
        if way == "terrace":
            words = [str(TERRACE), "run", "--json", "--memory", str(budget), "--spill", name]
            yield [*words, "-o", str(folder / "run.terrace"), "--", *command], {}
        elif way == "swap":
            with swap_file(folder / "swap", LIMIT_OF_SWAP):
                yield list(command), {}
        else:
            advice = {"MAPPED_ADVICE": "sequential"} if way.endswith("sequential") else {}
            yield list(command), {"LD_PRELOAD": str(BENCH / "libmapped.so"), "MAPPED_DIR": name, **advice}


def _account(output: str) -> dict[str, Any]:
    """What Terrace says at the end, of data over a file; nothing where it did not come so far."""
    said = [line for line in output.splitlines() if line.startswith(_JSON)]
    found = json.loads(said[-1]) if said else {}
    return dict(found.get("over_file", {}))


def _run(way: str, budget: int, command: Sequence[str], timeout: float) -> Run:
    with _way(way, budget, command) as (words, env):
        return run_limited(words, budget, env, timeout)


def _judged(way: str, case: Case, done: Run, timeout: float, output: str) -> tuple[float, str]:
    """How long it took, and why it did not end as it should ("" where it did). A rival that was stopped, or that
    the kernel has killed for want of memory, counts as `timeout`; whatever else went wrong has no time (NaN)."""
    counted = math.nan if way == "terrace" else timeout
    if done.status is None:
        return counted, STOPPED
    if done.status != 0:
        return (counted, KILLED) if done.killed else (math.nan, f"status {done.status}")
    return (done.seconds, "") if _same(case.program, done.output) == output else (math.nan, OTHER_RESULTS)


def _measure(case: Case) -> dict[str, Any]:
    """Times by way, medians of turns; the bound; what Terrace says of each turn."""
    _built()
    alone = _in_memory(case.program, case.threads)
    budget, fewest = _least(case.program)[case.ratio]
    command = _command(case.program, case.threads)
    limit = DISKS[case.disk]
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    failed: dict[str, list[str]] = {way: [] for way in WAYS}
    wrong, turns, speeds = [], [], []
    with throttled(_folder(), *limit) if limit else contextlib.nullcontext():
        for turn in range(SETTINGS.turns):
            speeds.append(_speed())
            for way in WAYS:
                if way != "terrace" and turn > 0 and min(seconds[way]) > FAR * min(seconds["terrace"]):
                    continue  # its one time says enough
                # Nobody waits for what has lost by far.
                timeout = max(30.0, SETTINGS.patience * min(seconds["terrace"])) if way != "terrace" else 900.0
                done = _run(way, budget, command, timeout)
                took, problem = _judged(way, case, done, timeout, alone.output)
                seconds[way].append(took)
                if problem:
                    failed[way].append(problem)
                    wrong.append(f"{way}: {problem}: {done.output[-200:]}")
                if way == "terrace":
                    turns.append(_turn(done))
    speed = {key: sorted(one[key] for one in speeds)[len(speeds) // 2] for key in speeds[0]}
    disk = max(
        fewest.read / speed["read"],
        fewest.written / speed["write"],
        (fewest.read + fewest.written) / speed["both"],
    )
    return {
        **asdict(case),
        "memory": budget,
        "in_memory_s": alone.seconds,
        "bound_s": max(alone.seconds, disk),
        "disk_s": disk,
        "least_read": fewest.read,
        "least_written": fewest.written,
        "simulated_read": fewest.simulated_read,
        "simulated_written": fewest.simulated_written,
        **{key: _median_turn(turns)[key] for key in ("read", "written")},
        "peak": max(one["peak"] for one in turns),
        "turns": turns,
        "speed": speed,
        "wrong": wrong,
        "failed": {way: ", ".join(dict.fromkeys(reasons)) for way, reasons in failed.items()},
        "seconds": {way: _median(times) for way, times in seconds.items()},
    }


def _turn(done: Run) -> dict[str, Any]:
    """What Terrace says at the end of one of its runs."""
    account = _account(done.output)
    return {
        "seconds": done.seconds,
        "read": account.get("read_bytes", 0),
        "written": account.get("written_bytes", 0),
        "predicted_s": account.get("predicted_s", 0.0),
        "measured_s": account.get("measured_s", 0.0),
        "peak": done.peak,
    }


def _median_turn(turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The one whose time counts."""
    return sorted(turns, key=lambda one: float(one["seconds"]))[len(turns) // 2]


def _median(times: Sequence[float]) -> float | None:
    """None where one of the runs went wrong."""
    return None if any(map(math.isnan, times)) else sorted(times)[len(times) // 2]


@functools.cache
def rows(disk: str) -> list[dict[str, Any]]:
    """What became of each case on this disk whose name has what --case says. Raises Unavailable where none has."""
    found = []
    for case in cases(disk):
        if SETTINGS.case not in str(case):
            continue
        found.append(keep_part(f"memory-{case}".replace("/", "-"), functools.partial(_measure, case), timed=True))
        print(f"             {_told(found[-1])}", flush=True)
    if not found:
        raise Unavailable(f"no case on the disk {disk} has {SETTINGS.case} in its name")
    return found


def said(row: dict[str, Any], way: str) -> str:
    """Its seconds; and why it did not end as it should, where it did not."""
    time, why = row["seconds"][way], row["failed"][way]
    return f"{time:.1f}" + (f" ({why})" if why else "") if time else f"failed: {why}"


def _told(row: dict[str, Any]) -> str:
    times = ", ".join(f"{way} {said(row, way)}" for way in WAYS)
    return (
        f"{row['program']} x{row['threads']} {row['ratio']}x {row['disk']}: in memory {row['in_memory_s']:.1f} s, "
        f"bound {row['bound_s']:.1f}, {times}; read {row['read'] / MIB:.0f} of {row['least_read'] / MIB:.0f} MiB, "
        f"wrote {row['written'] / MIB:.0f} of {row['least_written'] / MIB:.0f}"
    )
