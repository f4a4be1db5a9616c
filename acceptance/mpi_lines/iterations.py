# SPDX-License-Identifier: Apache-2.0
"""Counts the iterations of plain MPI programs on each rank, inside and outside of the launcher, and compares
output and exit status with plain runs. Criteria of acceptance/mpi.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from harness import Criterion, Measured, Unavailable

from mpi_lines.jobs import (
    build,
    installed,
    iterations_of_ranks,
    launcher,
    printed_iterations,
    run_job,
    terrace,
    without_times,
)

RANKS = 4
# Programs, with class and iterations of runs of some seconds under Open MPI. MPICH's ranks spin while they wait,
# so that four on two cores take ten times as long.
PROGRAMS = {
    "cg": ("W", 300),
    "mg": ("W", 160),
    "ft": ("W", 300),
    "bt": ("W", 500),
    "sp": ("W", 400),
    "lu": ("W", 320),
    "halo": ("A", 300),
}
SHARE = {"openmpi": 1.0, "mpich": 0.2}  # of the iterations
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify {neighbours}
fix 1 all {fix}
thermo {thermo}
run {steps}
"""
INPUTS = (
    {"neighbours": "every 20 delay 0 check no", "fix": "nve", "thermo": 100, "steps": 1500},
    {"neighbours": "every 1 delay 5 check yes", "fix": "nvt temp 1.0 1.0 0.5", "thermo": 50, "steps": 1000},
    {"neighbours": "every 10 delay 0 check no", "fix": "nve", "thermo": 1, "steps": 1000},
)


def _workload(mpi: str, name: str, is_inside: bool) -> dict[str, Any]:
    size, iterations = PROGRAMS[name]
    words = ["--class", size, "--iterations", str(int(iterations * SHARE[mpi]))]
    command, start = [str(build(mpi, name)), *words], launcher(mpi, RANKS)
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "job.terrace"
        plain = run_job([*start, *command], Path(folder))
        own = [*start, *terrace(profile), *command] if is_inside else [*terrace(profile), *start, *command]
        done = run_job(own, Path(folder))
        found = iterations_of_ranks(profile) if profile.exists() else {}
    expected = printed_iterations(plain.stdout)
    same = (done.returncode, without_times(done.stdout)) == (plain.returncode, without_times(plain.stdout))
    counted = sorted(set(found.values()))
    holds = same and len(found) == RANKS and counted == [expected]
    where = "inside" if is_inside else "outside"
    return {
        "mpi": mpi, "program": name, "terrace": where, "expected": expected, "counted": counted,
        "ranks": len(found), "same_output": same, "holds": holds,
    }  # fmt: skip


def workloads() -> Measured:
    """Runs six NPB-like codes and the halo exchange on four ranks."""
    rows = [
        _workload(mpi, name, is_inside) for mpi in installed() for name in PROGRAMS for is_inside in (False, True)
    ]
    exact = sum(row["holds"] for row in rows)
    others = [
        f"{r['program']} ({r['mpi']}, {r['terrace']}): {r['counted']} for {r['expected']}"
        for r in rows
        if not r["holds"]
    ]
    return Measured(
        f"{exact} of {len(rows)} exact" + "".join(f"; {one}" for one in others), exact == len(rows), _shown(rows)
    )


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows for the result page: the iterations of all ranks in words."""
    return [{**row, "counted": ", ".join(map(str, row["counted"]))} for row in rows]


def _columns(text: str) -> list[str]:
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.split()[:1] == ["Step"])
    end = next(i for i, line in enumerate(lines) if line.startswith("Loop time"))
    return lines[begin:end]


def _lammps_job(program: str, given: dict[str, Any], is_inside: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.melt").write_text(LAMMPS.format(**given))
        start, command = launcher("openmpi", RANKS), [program, "-in", "in.melt", "-log", "none"]
        own = terrace(folder / "job.terrace")
        plain = run_job([*start, *command], folder)
        done = run_job([*start, *own, *command] if is_inside else [*own, *start, *command], folder)
        found = iterations_of_ranks(folder / "job.terrace")
    same = _columns(plain.stdout) == _columns(done.stdout)
    counted = sorted(set(found.values()))
    return {
        "terrace": "inside" if is_inside else "outside", "expected": given["steps"], "counted": counted,
        "same": same, "holds": same and len(found) == RANKS and counted == [given["steps"]],
    }  # fmt: skip


def lammps() -> Measured:
    """Runs three inputs of LAMMPS, whose package is built with Open MPI."""
    program = shutil.which("lmp")
    if not program or "openmpi" not in installed():
        raise Unavailable("lmp is not installed: apt-get install lammps")
    rows = [_lammps_job(program, given, is_inside) for given in INPUTS for is_inside in (False, True)]
    text = ", ".join(f"{row['terrace']} {row['counted']} for {row['expected']}" for row in rows)
    return Measured(f"iterations {text}; thermo columns equal: {all(row['same'] for row in rows)}",
                    all(row["holds"] for row in rows), _shown(rows))  # fmt: skip


CRITERIA = [
    Criterion(
        "iterations of workloads",
        "exact on each of 4 ranks, output as plain, both MPIs, inside and outside",
        workloads,
    ),
    Criterion(
        "LAMMPS", "iterations exact on 4 ranks, thermo columns as plain, three inputs, inside and outside", lammps
    ),
]
