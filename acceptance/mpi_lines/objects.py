# SPDX-License-Identifier: Apache-2.0
"""Places the memory of MPI libraries in a guest with two nodes, and looks where each page lies by the kernel's
account. Kinds and sizes are those of mpi_formulas.py, which does not use Terrace's tables. Criteria of
acceptance/mpi.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable

from mpi_lines import mpi_formulas
from mpi_lines.jobs import NUM_BUILDS, prefixes
from mpi_lines.mpi_places import KINDS, check, read_report

sys.path.insert(0, str(ROOT / "tests" / "guest_bed"))
import vm

# The node with processors is the slow one.
NODES = "1024M:cpu=2:400ns:2048,512M:100ns:16384"
SLOW, FAST, PLACE = 0, 1, "hbm0"
RANKS = (2, 4, 8)
SOURCE = ROOT / "tests" / "support" / "mpi_places.c"


@dataclass(frozen=True)
class Build:
    """An installed MPI."""

    name: str
    compiler: str
    launcher: str


def builds() -> list[Build]:
    """Returns Debian's builds, and those of the prefixes in $TERRACE_MPI_PREFIXES (separated by ':')."""
    found = [Build(name, f"mpicc.{name}", f"mpirun.{name}") for name in ("mpich", "openmpi")]
    for prefix in prefixes():
        programs = Path(prefix) / "bin"
        found += [
            Build(f"{Path(prefix).name}5-{compiler}", str(programs / compiler), str(programs / "mpirun"))
            for compiler in ("mpicc", "mpicc_abi")
            if (programs / compiler).exists()
        ]
    return [build for build in found if shutil.which(build.compiler) and shutil.which(build.launcher)]


def placed_by_profile(profile: Path) -> dict[str, int]:
    """Returns the largest part of each kind that the profile says was placed, in bytes of one object."""
    with sqlite3.connect(profile) as database:
        rows = database.execute(
            "SELECT kind, max(bytes / objects), max(elsewhere) FROM mpi_object WHERE place = ? GROUP BY kind",
            (PLACE,),
        ).fetchall()
    return {kind: size if elsewhere == 0 else -1 for kind, size, elsewhere in rows}


def _judge(folder: Path, build: Build, ranks: int, case: str) -> dict[str, Any]:
    name = f"{build.name}.{ranks}.{case}"
    text = (folder / f"{name}.txt").read_text(errors="replace")
    if (folder / f"{name}.status").read_text().strip() != "0":
        return {"job": name, "pages": 0, "problems": [f"{name} failed: {text[-300:]}"], "kinds": {}}
    reports = [read_report(path) for path in sorted((folder / name).glob("rank.*"))]
    kinds = {"placed": KINDS, "plain": (), "hinted": ("windows", "alloc_mem"), "first": KINDS}[case]
    found = check(reports, SLOW, FAST, kinds, {0} if case == "first" else None)
    problems = [f"{name}: {len(found.problems)} pages elsewhere, {found.problems[0]}"] if found.problems else []
    if len(reports) != ranks:
        problems.append(f"{name}: {len(reports)} ranks reported")
    if left := (folder / f"{name}.left").read_text().strip():
        problems.append(f"{name}: left in shared memory: {left}")
    if case != "plain" and (lacks := mpi_formulas.KINDS[reports[0].library] & set(kinds) - set(found.seen)):
        problems.append(f"{name}: no {', '.join(sorted(lacks))} seen")
    if case == "placed":
        told = placed_by_profile(folder / f"{name}.terrace")
        # Objects of a kind differ in size, except these.
        problems += [
            f"{name}: {kind} have {told.get(kind)} bytes in the profile, {size} by the formula"
            for kind, size in found.seen.items()
            if kind in ("eager", "cells", "pools", "fifos", "alloc_mem")
            and mpi_formulas.pages(told.get(kind, 0)) != mpi_formulas.pages(size)
        ]
    return {"job": name, "pages": found.pages, "problems": problems, "kinds": found.seen}


def objects() -> Measured:
    """Boots the guest once, with all builds."""
    if lacks := vm.missing():
        raise Unavailable("; ".join(lacks))
    installed = builds()
    if not installed:
        raise Unavailable("no MPI: apt-get install libmpich-dev, and in another call libopenmpi-dev")
    wanted = ",".join(f"{kind}={PLACE}" for kind in KINDS)
    ranks = ",".join(map(str, RANKS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words: list[str] = []
        for build in installed:
            program = folder / build.name
            subprocess.run([build.compiler, "-O1", SOURCE, "-o", program, "-ldl"], check=True)
            words += [build.name, build.launcher, str(program)]
        script = Path(__file__).with_name("objects_guest.sh")
        status, output = vm.run(
            [str(script), str(TERRACE), wanted, PLACE, ranks, *words],
            vm.parse_nodes(NODES),
            cwd=folder,
            out=folder / "out",
            timeout=3600,
        )
        if status != 0:
            raise Unavailable(f"the guest's jobs ended with status {status}: {output[-300:]}")
        jobs = [(build, count, "placed") for build in installed for count in RANKS]
        jobs += [(build, 2, case) for build in installed for case in ("plain", "hinted", "first")]
        rows = [_judge(folder / "out", *job) for job in jobs]
    problems = [problem for row in rows for problem in row["problems"]]
    compared = sum(row["pages"] for row in rows)
    text = f"{len(rows)} jobs of {len(installed)} of {NUM_BUILDS} builds, {compared:,} pages compared"
    shown = [
        {
            "job": row["job"],
            "pages_compared": f"{row['pages']:,}",
            "problems": len(row["problems"]),
            "kinds": ", ".join(f"{kind} {size:,}" for kind, size in row["kinds"].items()),
        }
        for row in rows
    ]
    return Measured("; ".join([text, *problems]), not problems and len(installed) == NUM_BUILDS, shown)


CRITERIA = [
    Criterion(
        "MPI's own objects",
        "each kind where requested and everything else where it was, on 2, 4 and 8 ranks; sizes as the formulas",
        objects,
    )
]
