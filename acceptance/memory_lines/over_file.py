"""RAM over a file against the kernel's own ways: whole programs, one limit of memory, by turns, one disk."""

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

from harness import ROOT, SETTINGS, TERRACE, Line, Measured, Unavailable, keep_part, run, workloads

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
WAYS = ("terrace", "swap", "mapping", "mapping, sequential")

TO_SWAP, TO_MAPPING = 10.0, {2: 2.0, 4: 1.3}  # times faster, in the geometric mean
OVER_BOUND = {"1.0 / 1.7 GB/s": 0.15, "as it is": 0.40}
PREDICTED, SHARE_PREDICTED = 0.15, 0.5  # of what was measured, and of the run's time
LOSS = 0.10  # of the time in memory, at 2x, where the disk is not what the bound is made of


@dataclass(frozen=True)
class Case:
    """A program with so many threads, and its data over its memory, on a disk."""

    program: str
    threads: int
    ratio: int
    disk: str

    def __str__(self) -> str:
        return f"{self.program}, {self.threads} threads, {self.ratio}x, disk {self.disk}"


def cases() -> list[Case]:
    """All of them."""
    return [
        Case(program, threads, ratio, disk)
        for disk in DISKS
        for program in PROGRAMS
        for threads in THREADS
        for ratio in RATIOS
    ]


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
        if not (times and re.search(times, line))
        and not line.startswith("terrace:")
        and "second" not in line.lower()
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
        if any(one.status != 0 for one in done):
            raise RuntimeError(f"{program}: {done[0].output[-300:]}")
        seconds = min(sorted(one.seconds for one in kind)[1] for kind in (done[::2], done[1::2]))
        return {
            "seconds": seconds,
            "footprint": max(one.peak for one in done),
            "output": _same(program, done[0].output),
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
            words = [str(TERRACE), "run", "--memory", str(budget), "--spill", name]
            yield [*words, "-o", str(folder / "run.terrace"), "--", *command], {}
        elif way == "swap":
            with swap_file(folder / "swap", LIMIT_OF_SWAP):
                yield list(command), {}
        else:
            advice = {"MAPPED_ADVICE": "sequential"} if way.endswith("sequential") else {}
            yield list(command), {"LD_PRELOAD": str(BENCH / "libmapped.so"), "MAPPED_DIR": name, **advice}


_READ = re.compile(r"of data in .*: read ([0-9.]+)([A-Za-z]+) and wrote ([0-9.]+)([A-Za-z]+) in ")
_PREDICTED = re.compile(r"; ([0-9.e+-]+) s of its time were predicted to take ([0-9.e+-]+) s")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _bytes(output: str) -> tuple[int, int]:
    found = _READ.search(output)
    if not found:
        return 0, 0
    return int(float(found[1]) * _UNITS[found[2]]), int(float(found[3]) * _UNITS[found[4]])


def _predicted(output: str) -> tuple[float, float]:
    """Seconds that were predicted, and what they were in fact; zeros where nothing was predicted."""
    found = _PREDICTED.search(output)
    return (float(found[2]), float(found[1])) if found else (0.0, 0.0)


def _run(way: str, budget: int, command: Sequence[str], timeout: float) -> Run:
    with _way(way, budget, command) as (words, env):
        return run_limited(words, budget, env, timeout)


def _measure(case: Case) -> dict[str, Any]:
    """Times by way, medians of turns; the bound."""
    _built()
    alone = _in_memory(case.program, case.threads)
    budget, fewest = _least(case.program)[case.ratio]
    command = _command(case.program, case.threads)
    limit = DISKS[case.disk]
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    wrong, read, written, peak = [], 0, 0, 0
    predicted, measured, whole = 0.0, 0.0, 0.0
    speeds = []
    with throttled(_folder(), *limit) if limit else contextlib.nullcontext():
        for _ in range(SETTINGS.turns):
            speeds.append(_speed())
            for way in WAYS:
                # Nobody waits for what has lost by far.
                timeout = max(30.0, SETTINGS.patience * min(seconds["terrace"])) if way != "terrace" else 900.0
                done = _run(way, budget, command, timeout)
                seconds[way].append(done.seconds if done.status is not None else math.inf)
                if done.status is None and way == "terrace":
                    wrong.append(f"{way}: not done after {timeout:.0f} s")
                    seconds[way][-1] = math.nan
                elif done.status is None:
                    seconds[way][-1] = timeout  # at least
                elif done.status != 0:
                    wrong.append(f"{way}: status {done.status}: {done.output[-200:]}")
                    seconds[way][-1] = math.nan
                elif _same(case.program, done.output) != alone.output:
                    wrong.append(f"{way}: other results")
                if way == "terrace":
                    read, written = _bytes(done.output)
                    of_run = _predicted(done.output)
                    predicted, measured = predicted + of_run[0], measured + of_run[1]
                    whole += done.seconds
                    peak = max(peak, done.peak)
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
        "read": read,
        "written": written,
        "peak": peak,
        "predicted_s": predicted,
        "measured_s": measured,
        "predicted_share": measured / whole if whole else 0.0,
        "speed": speed,
        "wrong": wrong,
        "seconds": {way: _median(times) for way, times in seconds.items()},
    }


def _median(times: Sequence[float]) -> float | None:
    """None where one of the runs went wrong."""
    return None if any(map(math.isnan, times)) else sorted(times)[len(times) // 2]


@functools.cache
def _all() -> list[dict[str, Any]]:
    found = []
    for case in cases():
        if SETTINGS.case not in str(case):
            continue
        found.append(keep_part(f"memory-{case}".replace("/", "-"), functools.partial(_measure, case), timed=True))
        print(f"             {_told(found[-1])}", flush=True)
    if not found:
        raise Unavailable(f"no case has {SETTINGS.case} in its name")
    return found


def _told(row: dict[str, Any]) -> str:
    times = ", ".join(f"{way} {time:.1f}" if time else f"{way} failed" for way, time in row["seconds"].items())
    return (
        f"{row['program']} x{row['threads']} {row['ratio']}x {row['disk']}: in memory {row['in_memory_s']:.1f} s, "
        f"bound {row['bound_s']:.1f}, {times}; read {row['read'] / MIB:.0f} of {row['least_read'] / MIB:.0f} MiB, "
        f"wrote {row['written'] / MIB:.0f} of {row['least_written'] / MIB:.0f}"
    )


# --- lines ------------------------------------------------------------------------------------------------------


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _faster(row: dict[str, Any], *ways: str) -> float | None:
    """The best of these over Terrace; None where one of them, or Terrace, did not end well."""
    times = [row["seconds"][way] for way in ways if row["seconds"][way]]
    own = row["seconds"]["terrace"]
    return min(times) / own if times and own else None


def _ended(rows: Sequence[dict[str, Any]]) -> bool:
    return all(row["seconds"]["terrace"] for row in rows)


def against_swap() -> Measured:
    """Over all cases."""
    rows = _all()
    ratios = [value for row in rows if (value := _faster(row, "swap"))]
    mean = _mean(ratios)
    if not ratios:
        raise Unavailable("; ".join(one for row in rows for one in row["wrong"])[:300])
    text = f"{mean:.1f} times as fast over {len(ratios)} cases, {min(ratios):.1f} to {max(ratios):.1f}"
    return Measured(text, _ended(rows) and mean >= TO_SWAP, [_row(row) for row in rows])


def against_mapping() -> Measured:
    """The better of the two mappings, by how much data there is for the memory."""
    rows, said, holds = _all(), [], True
    for ratio, goal in TO_MAPPING.items():
        of_ratio = [row for row in rows if row["ratio"] == ratio]
        ratios = [value for row in of_ratio if (value := _faster(row, *WAYS[2:]))]
        if not ratios:
            continue
        mean = _mean(ratios)
        holds = holds and _ended(of_ratio) and mean >= goal
        said.append(
            f"{ratio}x: {mean:.2f} times as fast over {len(ratios)} cases (goal {goal}), from {min(ratios):.2f}"
        )
    return Measured("; ".join(said), holds)


def never_slower() -> Measured:
    """Than any of the three, in any case."""
    rows = _all()
    slower = [
        f"{row['program']} x{row['threads']} {row['ratio']}x {row['disk']}: {value:.2f}"
        for row in rows
        if (value := _faster(row, *WAYS[1:])) is not None and value < 1
    ]
    text = f"{len(rows) - len(slower)} of {len(rows)} cases" + (
        f"; slower in {', '.join(slower)}" if slower else ""
    )
    return Measured(text, _ended(rows) and not slower)


def near_bound() -> Measured:
    """Each case: its time over the larger of its time in memory and the least bytes over the disk's speed."""
    said, holds = [], True
    for disk, goal in OVER_BOUND.items():
        rows = [row for row in _all() if row["disk"] == disk]
        over = [row["seconds"]["terrace"] / row["bound_s"] - 1 for row in rows if row["seconds"]["terrace"]]
        if not over:
            continue
        within = sum(value <= goal for value in over)
        mean = _mean([1 + value for value in over]) - 1
        holds = holds and _ended(rows) and within == len(rows)
        said.append(
            f"disk {disk}: {within} of {len(rows)} within {goal:.0%}, {mean:+.0%} in the geometric mean, at most "
            f"{max(over):+.0%}"
        )
    return Measured("; ".join(said), holds)


def same_results() -> Measured:
    """All that programs print, but times."""
    rows = _all()
    wrong = [f"{row['program']} {row['ratio']}x: {one}" for row in rows for one in row["wrong"]]
    own = [one for one in wrong if ": terrace: " in one]
    text = f"{len(rows)} cases, {len(own)} wrong" + (f"; other ways: {len(wrong) - len(own)}" if wrong else "")
    return Measured("\n".join([text, *own[:5]]), not own)


def small_loss() -> Measured:
    """At 2x, where the time in memory is more than what the disk needs."""
    rows = [row for row in _all() if row["ratio"] == 2 and row["disk_s"] <= row["in_memory_s"]]
    if not rows:
        raise Unavailable("in no case is there more to compute than to move")
    losses = {
        f"{row['program']} x{row['threads']} {row['disk']}": row["seconds"]["terrace"] / row["in_memory_s"] - 1
        for row in rows
        if row["seconds"]["terrace"]
    }
    within = sum(value <= LOSS for value in losses.values())
    worst = max(losses, key=lambda key: losses[key])
    text = f"{within} of {len(rows)} cases lose at most {LOSS:.0%}; {worst} loses {losses[worst]:.0%}"
    return Measured(text, within == len(rows))


def well_predicted() -> Measured:
    """The sums of predicted and measured stretches of all turns; too little that is predicted counts as missed."""
    rows, missed, errors = _all(), [], []
    for row in rows:
        error = row["predicted_s"] / row["measured_s"] - 1 if row["measured_s"] else math.inf
        if row["measured_s"]:
            errors.append(abs(error))
        if abs(error) > PREDICTED or row["predicted_share"] < SHARE_PREDICTED:
            told = f"{error:+.0%} of {row['predicted_share']:.0%}" if row["measured_s"] else "nothing predicted"
            missed.append(f"{row['program']} x{row['threads']} {row['ratio']}x {row['disk']}: {told}")
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
        "memory_mib": row["memory"] // MIB,
        "in_memory_s": seconds(row["in_memory_s"]),
        "bound_s": seconds(row["bound_s"]),
        **{f"{way.replace(', ', '_')}_s": seconds(time) for way, time in row["seconds"].items()},
        "read_mib": row["read"] // MIB,
        "least_read_mib": row["least_read"] // MIB,
        "written_mib": row["written"] // MIB,
        "least_written_mib": row["least_written"] // MIB,
        "peak_mib": row["peak"] // MIB,
        "predicted_s": f"{row['predicted_s']:.1f}",
        "measured_s": f"{row['measured_s']:.1f}",
        "time_predicted": f"{row['predicted_share']:.0%}",
    }


LINES = [
    Line(
        "over a file: swap", f"{TO_SWAP:g} times as fast as the kernel's swap in the geometric mean", against_swap
    ),
    Line(
        "over a file: mapping",
        "than the better of a plain and a sequential one 2 times as fast at 2x, 1.3 times at 4x, geometric means",
        against_mapping,
    ),
    Line("over a file: never slower", "in no case slower than swap or a mapping", never_slower),
    Line("over a file: bound", "within 15 % of the bound on the throttled disk, 40 % on the fast one", near_bound),
    Line("over a file: results", "the same to the last bit", same_results),
    Line("over a file: loss", "at most 10 % at 2x where computing leaves room for the disk", small_loss),
    Line(
        "over a file: prediction",
        "within 15 % of what was measured in every case; at least half of the run's time predicted",
        well_predicted,
    ),
]
