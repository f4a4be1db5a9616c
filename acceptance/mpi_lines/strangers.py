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

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable, query
from others_tool.fetch import NoArchive, archive
from others_tool.recipe import Source

from mpi_lines.followed_plans import Followed, follow
from mpi_lines.jobs import ENVIRONMENT, WATCHING, installed, launcher, main_loops_of_ranks

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
    iterations: str  # pattern of the number that the program prints; the last match counts
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    files: tuple[str, ...] = ()  # of the source, that the run needs beside it


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
        r"Iterations = (\d+)",
        ("-n", "90", "90", "90", "-P", "2", "2", "1", "-solver", "19"),
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
        r"(?m)^ *(\d+) -- [\[(]-",  # the generation that it reports
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


@dataclass
class Journey:
    """Result of a program's journey. `failure`: the step that did not work."""

    program: str
    failure: str = ""
    printed: int = 0  # iterations, by the program
    counted: tuple[dict[int, int], ...] = ()  # of the ranks, in the first run and in the one with plans
    is_estimate: bool = False  # the profile says that the first iterations are estimated
    followed: tuple[Followed, ...] = ()

    @property
    def holds(self) -> bool:
        return (
            not self.failure
            and len(self.followed) == RANKS
            and all(one.holds for one in self.followed)
            and all(ranks == dict.fromkeys(range(RANKS), self.printed) for ranks in self.counted)
        )

    def __str__(self) -> str:
        if self.failure:
            return f"{self.program}: {self.failure}"
        counted = " and ".join(str(sorted(set(ranks.values()))) for ranks in self.counted)
        kind = " (estimated)" if self.is_estimate else ""
        adopted = sum(one.is_adopted for one in self.followed)
        placed, chunks = sum(one.placed for one in self.followed), sum(one.chunks for one in self.followed)
        planned = sum(one.planned for one in self.followed)
        return (
            f"{self.program}: {counted} of {self.printed} iterations{kind} without and with plans, {adopted} "
            f"ranks adopted their plan, {placed} of {chunks} chunks ({planned} of them in fast memory) were "
            "where it has them"
        )


def _estimates_iterations(profile: Path) -> bool:
    """Returns whether a rank's first iterations were estimated: no call is in each iteration equally often."""
    return bool(query(profile, "SELECT 1 FROM loop WHERE why LIKE '%estimated%'"))


def _journey(one: Stranger, mpi: str) -> Journey:
    """Runs all steps with one program."""
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

        first, second = folder / "first.terrace", folder / "second.terrace"
        plans = folder / "plans"
        plain = run("plain")
        result = _result(plain)
        done = run("first", str(TERRACE), "run", *WATCHING, "-o", str(first), "--")
        if result[0] != 0 or _result(done) != result:
            return Journey(one.name, f"output or exit status differ under terrace run: {done.stderr[-200:]}")
        for step in (
            [str(TERRACE), "show", str(first)],
            [str(TERRACE), "plan", str(first), "--all-ranks", "--fast", BUDGET, "-o", str(plans)],
        ):
            done = _run(step, one, folder)
            if done.returncode != 0:
                return Journey(one.name, f"terrace {step[1]} failed: {done.stderr[-200:]}")
        done = run("second", str(TERRACE), "run", *WATCHING, "--plan", str(plans), "-o", str(second), "--")
        if _result(done) != result:
            return Journey(one.name, f"output or exit status differ under the plans: {done.stderr[-200:]}")
        return Journey(
            one.name,
            printed=int(re.findall(one.iterations, plain.stdout)[-1]),
            counted=(main_loops_of_ranks(first), main_loops_of_ranks(second)),
            is_estimate=_estimates_iterations(first) or _estimates_iterations(second),
            followed=tuple(follow(second, plans)),
        )


def strangers() -> Measured:
    """Runs each program with the first installed MPI."""
    mpi = "openmpi" if "openmpi" in installed() else "mpich"
    journeys = [_journey(one, mpi) for one in STRANGERS]
    return Measured("; ".join(map(str, journeys)), all(one.holds for one in journeys))


CRITERIA = [
    Criterion(
        "two public MPI programs",
        "run, show, plan and run --plan on 4 ranks without a manual step, output as plain, iterations as the "
        "program prints them, each rank follows its plan",
        strangers,
    )
]
