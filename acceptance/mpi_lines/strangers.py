# SPDX-License-Identifier: Apache-2.0
"""Takes two public MPI programs from source archives through run, show, plan and run --plan on four ranks.
Criteria of acceptance/mpi.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable
from others_tool.fetch import NoArchive, archive
from others_tool.recipe import Source

from mpi_lines.jobs import ENVIRONMENT, WATCHING, installed, iterations_of_ranks, launcher

RANKS = 4
BUDGET = "28MiB"
# Lines that differ between any two runs.
TIMES = r"time|stamp|second|clock|\d:\d\d|Mflops|MFLOPS|memory"


@dataclass(frozen=True)
class Stranger:
    """A program: archive, shell commands that build it in its folder, and what to run."""

    name: str
    source: Source
    build: str
    program: str  # in the source's folder
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    files: tuple[str, ...] = ()  # of the source, that the run needs beside it
    iterations: str = ""  # pattern of the number that the program prints


STRANGERS = (
    Stranger(
        "hypre",
        Source(
            "debian", "hypre", "2.26.0-3", "hypre_2.26.0.orig.tar.gz",
            "c214084bddc61a06f3758d82947f7f831e76d7e3edeac2c78bb82d597686e05d",
        ),
        "cd src && ./configure --without-fortran CC={mpicc} CXX={mpicxx} CFLAGS='-O2 -g' && make -j{jobs} && "
        "make -C test struct",
        "src/test/struct",
        ("-n", "90", "90", "90", "-P", "2", "2", "1", "-solver", "19"),
        iterations=r"Iterations = (\d+)",
    ),
    Stranger(
        "mrbayes",
        Source(
            "debian", "mrbayes", "3.2.7a-6", "mrbayes_3.2.7a.orig.tar.gz",
            "3eed2e3b1d9e46f265b6067a502a89732b6f430585d258b886e008e846ecc5c6",
        ),
        "./configure --with-mpi --without-beagle --without-readline CC={mpicc} CFLAGS='-O2 -g' && "
        "make -C src -j{jobs} mb",
        "src/mb",
        stdin="set autoclose=yes nowarn=yes seed=11 swapseed=12\nexecute cynmix.nex\nlset nst=6 rates=gamma\n"
        "mcmc nruns=2 nchains=2 ngen=3000 samplefreq=1000 printfreq=1000 diagnfreq=1500\nquit\n",
        files=("examples/cynmix.nex",),
    ),
)  # fmt: skip


def _build(one: Stranger, mpi: str) -> Path:
    """Returns the folder of the built source; it is kept for later runs. Raises Unavailable."""
    kept = ROOT / "out" / "mpi-strangers"
    folder = kept / f"{one.name}-{one.source.version}-{mpi}"
    if (folder / "built").exists():
        return folder
    try:
        packed = archive(one.source, kept / "archives")
    except NoArchive as error:
        raise Unavailable(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", packed, "-C", folder], check=True)
    source = next(path for path in folder.iterdir() if path.is_dir())
    words = one.build.format(mpicc=f"mpicc.{mpi}", mpicxx=f"mpicxx.{mpi}", jobs=os.cpu_count())
    done = subprocess.run(
        words, shell=True, cwd=source, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{one.name} did not build: {done.stderr[-400:]}")
    source.rename(folder / "source")
    (folder / "built").touch()
    return folder


def _run(words: list[str], one: Stranger, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env=ENVIRONMENT,
        input=one.stdin,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


def _result(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    lines = [line for line in done.stdout.splitlines() if not re.search(TIMES, line)]
    return done.returncode, "\n".join(lines)


def _journey(one: Stranger, mpi: str) -> tuple[bool, str]:
    """Returns whether all steps worked, and a text of what came out."""
    source = _build(one, mpi) / "source"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(case: str, *own: str) -> subprocess.CompletedProcess[str]:
            """Runs the job in a folder of its own: programs note files that they overwrite."""
            (folder / case).mkdir()
            for file in one.files:
                (folder / case / Path(file).name).write_bytes((source / file).read_bytes())
            return _run(
                [*own, *launcher(mpi, RANKS), str(source / one.program), *one.arguments], one, folder / case
            )

        profile = str(folder / "job.terrace")
        plain = _result(run("plain"))
        first = run("first", str(TERRACE), "run", *WATCHING, "-o", profile, "--")
        if plain[0] != 0 or _result(first) != plain:
            return False, f"{one.name}: output or exit status differ under terrace run: {first.stderr[-200:]}"
        loops = iterations_of_ranks(folder / "job.terrace")
        plans = str(folder / "plans")
        for step in (
            [str(TERRACE), "show", profile],
            [str(TERRACE), "plan", profile, "--all-ranks", "--fast", BUDGET, "-o", plans],
        ):
            done = _run(step, one, folder)
            if done.returncode != 0:
                return False, f"{one.name}: terrace {step[1]} failed: {done.stderr[-200:]}"
        again = str(folder / "again.terrace")
        second = run("second", str(TERRACE), "run", *WATCHING, "--plan", plans, "-o", again, "--")
        if _result(second) != plain:
            return False, f"{one.name}: output or exit status differ under the plans: {second.stderr[-200:]}"
        counted = sorted(set(loops.values()))
        printed = re.search(one.iterations, plain[1]) if one.iterations else None
        expected = f" of {printed[1]}" if printed else ""
        return len(loops) == RANKS, f"{one.name}: {len(loops)} ranks with {counted}{expected} iterations"


def strangers() -> Measured:
    """Runs each program with the first installed MPI."""
    mpi = "openmpi" if "openmpi" in installed() else "mpich"
    results = [_journey(one, mpi) for one in STRANGERS]
    return Measured("; ".join(text for _, text in results), all(holds for holds, _ in results))


CRITERIA = [
    Criterion(
        "two public MPI programs",
        "run, show, plan and run --plan on 4 ranks without a manual step, output as plain",
        strangers,
    )
]
