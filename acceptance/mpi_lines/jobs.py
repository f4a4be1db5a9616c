# SPDX-License-Identifier: Apache-2.0
"""Builds the workloads of workloads/mpi with the installed MPIs, and runs jobs under Terrace."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, SETTINGS, TERRACE, Unavailable

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# One node as two kinds of memory, so that the pages of a plain program are watched.
WATCHING = ["--machine", str(ROOT / "acceptance" / "programs_lines" / "same_node.toml"), "--fast", "28MiB"]
FLAGS = "-O2 -g -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DWORKLOADS_WITHOUT_MARKERS"


NUM_BUILDS = 5  # MPICH 4 and 5, Open MPI 4 and 5, MPICH 5 with the standard ABI


def prefixes() -> list[str]:
    """Returns the MPI installations that --prefixes names, or $TERRACE_MPI_PREFIXES."""
    return [word for word in (SETTINGS.prefixes or os.environ.get("TERRACE_MPI_PREFIXES", "")).split(":") if word]


def installed() -> list[str]:
    """Returns the names of the distribution's MPIs. Raises Unavailable without an installed MPI."""
    found = [
        name for name in ("mpich", "openmpi") if shutil.which(f"mpicxx.{name}") and shutil.which(f"mpirun.{name}")
    ]
    if not found:
        raise Unavailable("no MPI: apt-get install libmpich-dev, and in another call libopenmpi-dev")
    return found


def launcher(mpi: str, ranks: int) -> list[str]:
    """Returns the words that start the ranks."""
    return [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(ranks)]


@functools.cache
def build(mpi: str, name: str) -> Path:
    """Returns the program of a workload, built with an MPI's compiler."""
    folder = Path(tempfile.gettempdir()) / f"terrace-mpi-{os.getuid()}" / f"{mpi}-{name}"
    environment = {**os.environ, "CXX": f"mpicxx.{mpi}", "CXXFLAGS": FLAGS}
    words: list[str | Path] = ["sh", ROOT / "workloads" / "build.sh", folder, f"mpi/{name}"]
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
    return next(path for path in (folder / name, folder / "mpi" / name) if path.exists())


def run_job(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a job in a folder."""
    return subprocess.run(
        words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=1800, check=False
    )


def terrace(profile: Path) -> list[str]:
    """Returns the words that run a plain program under Terrace and keep its profile."""
    return [str(TERRACE), "run", *WATCHING, "-o", str(profile), "--"]


def iterations_of_ranks(profile: Path) -> dict[int, int]:
    """Returns the iterations of the last main loop, by rank."""
    with sqlite3.connect(profile) as database:
        rows = database.execute(
            "SELECT rank, turns_before + iterations FROM loop JOIN run ON run.id = loop.run "
            "WHERE rank IS NOT NULL ORDER BY rank, number"
        )
        return dict(rows.fetchall())


def main_loops_of_ranks(profile: Path) -> dict[int, int]:
    """Returns the iterations of the main loop, by rank, where programs have loops before and after it."""
    with sqlite3.connect(profile) as database:
        rows = database.execute(
            "SELECT rank, sum(turns_before + iterations) FROM main_loop JOIN run ON run.id = main_loop.run "
            "WHERE rank IS NOT NULL GROUP BY rank"
        )
        return dict(rows.fetchall())


def printed_iterations(output: str) -> int:
    """Returns the iterations that a workload prints."""
    return int(re.findall(r"iterations\s+=?\s*([0-9]+)", output, re.IGNORECASE)[0])


def without_times(output: str) -> str:
    """Returns a program's output without the lines that differ between any two runs."""
    return "\n".join(
        line for line in output.splitlines() if not re.search(r"time|mop|second|MB/s", line, re.IGNORECASE)
    )
