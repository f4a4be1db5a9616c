"""Builds programs, runs commands and compares profiles, for the criteria of acceptance/virtual-time."""

from __future__ import annotations

import functools
import os
import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import harness
from harness import ROOT, TERRACE, query, run, work

BIN = TERRACE.parent
PROGRAMS = ROOT / "tests" / "integration" / "programs"  # those of the tests
OWN = Path(__file__).parent / "programs"

Words = list[str | Path]  # of a command

# Columns that name the profile's subcommand and journal, and those that differ between executions of a program.
OF_THE_VERB = frozenset({"run.journal", "run.mode"})
# Whole tables are listed as columns: code that the hooks did not reach was measured by the clock.
OF_THE_EXECUTION = OF_THE_VERB | {
    *("run.process", "run.parent", "run.started_unix_ns", "object.address"),
    *("coverage", "coverage_code", "coverage_object"),
}


# --- programs ---------------------------------------------------------------------------------------------------


def workload(name: str, hooked: bool, threads: bool = False, scalar: bool = False) -> Path:
    """Builds a workload with OpenMP, or without vectors."""
    flags = ["-O2", "-g"] + ["-fopenmp"] * threads + ["-fno-tree-vectorize"] * scalar
    return harness.workload(name, hooked, " ".join(flags))


@functools.cache
def program(source: Path, *flags: str) -> Path:
    """Builds a C or C++ file with the wrappers, terrace.h and its library."""
    output = work("virtual-time") / "programs" / source.stem
    output.parent.mkdir(parents=True, exist_ok=True)
    where = {**os.environ, "PKG_CONFIG_PATH": str(BIN.parent / "lib" / "pkgconfig")}
    terrace = run(["pkg-config", "--cflags", "--libs", "terrace"], env=where).stdout.split()
    compiler = "terrace-cc" if source.suffix == ".c" else "terrace-c++"
    run([BIN / compiler, "-O2", "-g", *flags, source, "-o", output, *terrace])
    return output


# --- commands ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FinishedRun:
    """A command that has ended: what it printed, and its and its children's seconds."""

    stdout: str
    stderr: str
    cpu: float  # user and system
    wall: float


def timed(command: Sequence[str | Path], **environment: str) -> FinishedRun:
    """Runs a command and measures its time. Nothing else may run as this process's child meanwhile."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = run(command, env={**os.environ, **environment}, timeout=3600)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return FinishedRun(done.stdout, done.stderr, cpu, wall)


def simulate(
    store: Path, options: Sequence[str | Path], command: Sequence[str | Path], verb: str = "simulate", **env: str
) -> FinishedRun:
    """Runs `terrace simulate` (or another subcommand that starts a program) into `store`, which is overwritten."""
    store.unlink(missing_ok=True)
    return timed([TERRACE, verb, "--quiet", "-o", store, *options, "--", *command], **env)


def replay(recording: Path, store: Path, options: Sequence[str | Path]) -> FinishedRun:
    """Runs `terrace replay` into `store`, which is overwritten."""
    store.unlink(missing_ok=True)
    return timed([TERRACE, "replay", recording, "--quiet", "-o", store, *options])


class Busy:
    """Keeps every core busy while it is entered."""

    def __enter__(self) -> Busy:
        self._burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
        return self

    def __exit__(self, *_: object) -> None:
        for burner in self._burners:
            burner.kill()
            burner.wait()


# --- profiles ---------------------------------------------------------------------------------------------------


def dump(store: Path, left_out: frozenset[str]) -> Iterator[tuple[Any, ...]]:
    """Yields every row of every table, to the last bit, less some columns ("run.journal")."""
    connection = sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)
    connection.text_factory = bytes
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for (raw,) in tables.fetchall():
            table = raw.decode()
            if table in left_out:
                continue
            rows = connection.execute(f"SELECT * FROM {table}")
            names = [about[0] for about in rows.description]
            kept = [i for i, name in enumerate(names) if f"{table}.{name}" not in left_out]
            for row in rows:
                values = [row[i] for i in kept]
                # Compare the bits: 0 equals -0, and 1 equals 1.0.
                yield (table, *[value.hex() if isinstance(value, float) else value for value in values])
    finally:
        connection.close()


@dataclass(frozen=True)
class Comparison:
    rows: int
    difference: str  # "" when there is none


def compare(a: Path, b: Path, left_out: frozenset[str] = OF_THE_EXECUTION) -> Comparison:
    """Compares two profiles in every row, to the bit; the result has the first rows that differ."""
    count = 0
    for left, right in zip_longest(dump(a, left_out), dump(b, left_out)):
        if left != right:
            return Comparison(count, f"row {count}: {str(left)[:150]} against {str(right)[:150]}")
        count += 1
    return Comparison(count, "")


def virtual_seconds(store: Path) -> float:
    """Returns the longest of the processes' times."""
    seconds: float = max(row[0] for row in query(store, "SELECT ended FROM run"))
    return seconds
