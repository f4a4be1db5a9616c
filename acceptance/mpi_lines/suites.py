# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites of the MPI layer, of Python programs and of Slurm on every installation that is found.
Criteria of acceptance/mpi.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness import ROOT, Criterion, Measured

from mpi_lines.jobs import NUM_BUILDS, installed, prefixes


def _suite(name: str, more: dict[str, str]) -> tuple[int, int, int, str]:
    """Returns how many tests of a file passed, failed and were skipped, and the end of the output."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", str(ROOT / name)]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **more}, capture_output=True, text=True, check=False
    )  # fmt: skip
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)}
    failed = counts.get("failed", 0) + counts.get("error", 0) + (done.returncode not in (0, 1))
    return counts.get("passed", 0), failed, counts.get("skipped", 0), done.stdout[-300:]


def _measured(name: str, more: dict[str, str], what: str) -> Measured:
    passed, failed, skipped, text = _suite(name, more)
    said = f"{what}: {passed} tests passed, {failed} failed, {skipped} skipped"
    return Measured(said + (f": {text}" if failed else ""), failed == 0 and passed > 0)


def builds() -> Measured:
    """Compares C, Fortran and Python programs under the layer with plain runs, on each MPI build."""
    more = {"TERRACE_MPI_PREFIXES": ":".join(prefixes())}
    abis = sum((Path(one) / "bin" / "mpicc_abi").exists() for one in prefixes())
    found = len(installed()) + len(prefixes()) + abis
    measured = _measured("tests/integration/mpi/test_mpi_layer.py", more, f"{found} of {NUM_BUILDS} builds")
    return Measured(measured.text, measured.holds and found == NUM_BUILDS)


def python_programs() -> Measured:
    """Counts iterations of Python programs with mpi4py, on the interpreters of the installations."""
    pythons = [str(path) for one in prefixes() if (path := Path(one) / "bin" / "python").exists()]
    more = {"TERRACE_PYTHONS": ":".join([*pythons, *filter(None, [os.environ.get("TERRACE_PYTHONS", "")])])}
    return _measured("tests/python/test_mpi_python.py", more, f"{1 + len(pythons)} interpreters")


def slurm() -> Measured:
    """Runs jobs on a cluster of two nodes on this machine."""
    return _measured("tests/python/test_slurm.py", {}, "jobs of both MPIs, arrays, cancelled jobs")


CRITERIA = [
    Criterion("MPI builds", "output, exit codes and numbers of calls as plain on every build", builds),
    Criterion("Python programs", "iterations exact, output as plain, with mpi4py", python_programs),
    Criterion("Slurm", "two nodes: results as plain, and a cancelled job leaves nothing", slurm),
]
