# SPDX-License-Identifier: Apache-2.0
"""Repeats the program that uses most parts of MPI (tests/integration/mpi/wide.c) on each MPI build, plain and
under `terrace run` in turn, and compares how the runs fail. Criteria of acceptance/mpi.

The program counts its own calls. Each run compares them, and their bytes, with those of the profile.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, Criterion, Measured, Unavailable, keep_part, query

from mpi_lines.jobs import NUM_BUILDS, prefixes, terrace

sys.path.insert(0, str(ROOT / "tests" / "integration" / "mpi"))
from installations import Installation, find_installations

SOURCES = ROOT / "tests" / "integration" / "mpi"
RANKS = 4
NUM_RUNS = 200  # on each build, for the criterion to hold
TIMEOUT = "180"  # s
PLACES = ("outside", "inside")  # of the launcher, in turn

Counts = dict[str, tuple[int, int, int]]  # calls, bytes sent, bytes received, by function


@dataclass(frozen=True)
class Run:
    """One run: exit status, output, and differences between the profile's counts and the program's."""

    status: int
    output: str
    differences: tuple[str, ...] = ()
    calls: int = 0  # that were compared

    def failure(self, expected: str) -> str:
        """Returns how the run failed; empty if it did not. The status 124 is timeout's."""
        if self.status != 0:
            return f"exit status {self.status}"
        if self.output != expected:
            return "other output"
        return "other counts" if self.differences else ""


def _program_counts(folder: Path) -> dict[int, Counts]:
    """Returns what the processes counted themselves."""
    found: dict[int, Counts] = {}
    for path in folder.glob("called.*"):
        rows = map(str.split, path.read_text().splitlines())
        found[int(path.suffix[1:])] = {name: (int(n), int(out), int(back)) for name, n, out, back in rows}
    return found


def _profile_counts(profile: Path) -> dict[int, Counts]:
    """Returns what the profile says of its ranks, by process."""
    found: dict[int, Counts] = {}
    for process, function, *counts in query(
        profile,
        "SELECT process, function, calls, sent, received FROM mpi_call JOIN run ON run.id = run "
        "WHERE rank IS NOT NULL",
    ):
        found.setdefault(process, {})[function] = (counts[0], counts[1], counts[2])
    return found


def _comparable(name: str, counts: tuple[int, int, int]) -> tuple[int, ...]:
    """Returns the counts that both sides count alike. The program notes a persistent operation's bytes where it is
    initialised, the profile where it is started."""
    return counts[:1] if name.endswith("_init") or name in ("Start", "Startall") else counts


def _differences(said: dict[int, Counts], seen: dict[int, Counts]) -> list[str]:
    found = (
        [] if len(said) == RANKS and set(said) == set(seen) else [f"{len(seen)} ranks with calls, of {len(said)}"]
    )
    for process in set(said) & set(seen):
        one, other = said[process], seen[process]
        found += [
            f"{name}: {other.get(name)} for {one.get(name)}"
            for name in sorted(set(one) | set(other))
            if name not in one
            or name not in other
            or _comparable(name, one[name]) != _comparable(name, other[name])
        ]
    return found


def _run(mpi: Installation, program: Path, where: str) -> Run:
    """Runs the program in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        profile = folder / "job.terrace"
        words, own = [str(program), str(folder / "file"), *mpi.parts], terrace(profile)
        job = mpi.command([*own, *words] if where == "inside" else words, RANKS)
        done = subprocess.run(
            ["timeout", "-k", "10", TIMEOUT, *(own if where == "outside" else []), *job],
            cwd=folder,
            env=mpi.environment({"TERRACE_MPI_COUNTS": str(folder)}),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if where == "plain" or done.returncode != 0:
            return Run(done.returncode, done.stdout)
        said = _program_counts(folder)
        seen = _profile_counts(profile) if profile.exists() else {}
        calls = sum(counts[0] for one in said.values() for counts in one.values())
        return Run(0, done.stdout, tuple(_differences(said, seen)), calls)


def _measure(mpi: Installation, num_runs: int) -> dict[str, Any]:
    """Runs one build's program, each time plain and then under Terrace."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "wide"
        sources = [str(SOURCES / file) for file in ("wide.c", "called.c")]
        subprocess.run([mpi.cc, "-O1", "-w", *sources, "-o", program, "-lpthread"], check=True)
        plain, own = [], []
        for number in range(num_runs):
            plain.append(_run(mpi, program, "plain"))
            own.append(_run(mpi, program, PLACES[number % len(PLACES)]))
    # The program's sums do not depend on timing: what most plain runs print is right.
    ((expected, _),) = Counter(one.output for one in plain if one.status == 0).most_common(1) or [("", 0)]
    failures = [Counter(filter(None, (one.failure(expected) for one in runs))) for runs in (plain, own)]
    return {
        "build": mpi.library, "plain_runs": len(plain), "plain_failures": dict(failures[0]), "runs": len(own),
        "failures": dict(failures[1]), "calls_compared": sum(one.calls for one in own),
        "example": next((text for one in own for text in one.differences), ""),
    }  # fmt: skip


def _said(failures: dict[str, int]) -> str:
    return ", ".join(f"{count} with {kind}" for kind, count in failures.items()) or "0"


def wide_runs() -> Measured:
    """Holds if runs under Terrace fail in no way more often than plain runs do."""
    installations = find_installations(prefixes())
    if not installations:
        raise Unavailable("no MPI: apt-get install libmpich-dev, and in another call libopenmpi-dev")
    rows: list[dict[str, Any]] = [
        keep_part(f"wide-{mpi.name}", functools.partial(_measure, mpi, SETTINGS.wide_runs))
        for mpi in installations
    ]
    new = [
        row for row in rows if any(n > row["plain_failures"].get(kind, 0) for kind, n in row["failures"].items())
    ]
    text = "; ".join(
        f"{row['build']}: {row['runs']} runs, {_said(row['failures'])} failed (plain {row['plain_runs']}, "
        f"{_said(row['plain_failures'])})" + (f": {row['example']}" if row["example"] else "")
        for row in rows
    )
    shown = [
        {
            "build": row["build"], "runs": row["runs"], "failed": _said(row["failures"]),
            "failed_plain": _said(row["plain_failures"]), "calls_compared": f"{row['calls_compared']:,}",
        }
        for row in rows
    ]  # fmt: skip
    has_all = len(installations) == NUM_BUILDS and all(row["runs"] >= NUM_RUNS for row in rows)
    return Measured(text, has_all and not new, shown)


CRITERIA = [
    Criterion(
        "wide runs",
        "200 runs on each build, 4 ranks, plain and under Terrace in turn: no failure is more frequent, "
        "calls and bytes as the program counts them",
        wide_runs,
    )
]
