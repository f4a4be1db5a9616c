# SPDX-License-Identifier: Apache-2.0
"""Measures, by the clock of this machine, a program whose data are twice its memory limit: paged by Terrace
(`terrace run --memory`) and by the kernel, each with the same limit of a control group. A table of `terrace lab
demo`.

The kernel pages a mapping of a file (bench/paging/mapped.c), which needs no swap space and is faster than swap.
Runs are interleaved; medians count.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from terrace.errors import TerraceError
from terrace.lab.control_group import LimitedRun, run_limited
from terrace.lab.study import terrace_program

_WORKLOAD, _WORDS = "mg", ("--class", "A", "--iterations", "2")
_RUNS = 3
_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class PagingGain:
    """Medians of interleaved runs, in seconds."""

    program: str
    data_bytes: int  # the program's resident memory without a limit
    limit_bytes: int
    in_memory_s: float
    terrace_s: float
    kernel_s: float
    kernel_stopped: bool  # at least one run of the kernel's took too long, and counts as long as it ran

    @property
    def speedup(self) -> float:
        """Returns how many times as fast the program is with Terrace as with the kernel's paging."""
        return self.kernel_s / self.terrace_s


def measure_paging(source: Path, folder: Path) -> PagingGain:
    """Builds the program with the plain compiler and measures it. Raises NoLimitError without a memory limit."""
    folder.mkdir(parents=True, exist_ok=True)
    program = _build(source, folder)
    mapped = folder / "libmapped.so"
    compiler = os.environ.get("TERRACE_CC", "cc")
    _check([compiler, "-O2", "-shared", "-fPIC", str(source / "bench" / "paging" / "mapped.c"), "-o", str(mapped)])
    command = [str(program), *_WORDS]
    data = _resident(command)
    limit = data // 2
    ways: dict[str, tuple[list[str], dict[str, str], int]] = {
        "memory": (command, {}, 2 * data),
        "terrace": (_terrace_run(command, limit, folder), {}, limit),
        "kernel": (command, {"LD_PRELOAD": str(mapped), "MAPPED_DIR": str(folder)}, limit),
    }
    runs: dict[str, list[LimitedRun]] = {way: [] for way in ways}
    for _ in range(_RUNS):
        for way, (words, environment, memory) in ways.items():
            runs[way].append(run_limited(words, memory, environment, _TIMEOUT))
    expected = _result(runs["memory"][0].output)
    for way, done in runs.items():
        for one in done:
            if (one.status != 0 or _result(one.output) != expected) and not (
                way == "kernel" and one.status is None
            ):
                reason = (one.errors.strip().splitlines() or ["its results differ from those in memory"])[-1]
                raise TerraceError(
                    f"comparison of paging: {_WORKLOAD} in the variant '{way}' ended with status {one.status}: "
                    f"{reason}; run `terrace machine check`"
                )
    seconds = {way: statistics.median(one.seconds for one in done) for way, done in runs.items()}
    return PagingGain(
        program=" ".join([_WORKLOAD, *_WORDS]), data_bytes=data, limit_bytes=limit,
        in_memory_s=seconds["memory"], terrace_s=seconds["terrace"], kernel_s=seconds["kernel"],
        kernel_stopped=any(one.status is None for one in runs["kernel"]),
    )  # fmt: skip


def _terrace_run(command: list[str], limit: int, folder: Path) -> list[str]:
    options = ["--quiet", "--memory", str(limit), "--spill", str(folder), "-o", str(folder / "paging.terrace")]
    return [terrace_program(), "run", *options, "--", *command]


def _build(source: Path, folder: Path) -> Path:
    """Builds the workload as its users would, without hooks."""
    script = source / "workloads" / "build.sh"
    if not script.is_file():
        raise TerraceError(f"{script} not found: run this in Terrace's source tree, or give --source")
    plain = folder / "plain"
    _check(["sh", str(script), str(plain), _WORKLOAD], {"CXX": os.environ.get("TERRACE_CXX", "c++")})
    return plain / _WORKLOAD


def _check(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, text=True)
    if done.returncode != 0:
        raise TerraceError(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def _resident(command: list[str]) -> int:
    """Runs a command without a limit; returns its largest resident memory in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise TerraceError(
            f"{' '.join(command)} ended with status {process.returncode} without a memory limit; "
            "run it alone to see why"
        )
    return usage.ru_maxrss * 1024


def _result(output: str) -> list[str]:
    """Returns the printed lines without those that state times."""
    return [line for line in output.splitlines() if "Time" not in line and "Mop" not in line]
