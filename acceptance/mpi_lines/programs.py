# SPDX-License-Identifier: Apache-2.0
"""Runs the HPC Challenge benchmark, and programs that terrace-c++ has built with two MPIs. Criteria of
acceptance/mpi.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable, query

from mpi_lines.jobs import ENVIRONMENT, installed, launcher, run_job, terrace

HPCC_INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
500          Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
RANKS = 4
PAIRS = 3
MAX_RATIO = 2.0


def _loops(profile: Path) -> set[tuple[str, int]]:
    """Returns the last main loop of the ranks and its iterations: one pair if all ranks agree."""
    rows = query(
        profile,
        "SELECT rank, name, turns_before + iterations FROM loop JOIN run ON run.id = loop.run "
        "WHERE rank IS NOT NULL ORDER BY rank, number",
    )
    return set({rank: (name, iterations) for rank, name, iterations in rows}.values())


def hpcc() -> Measured:
    """Runs the benchmark plain, with Terrace outside and inside of the launcher; counts the checks that passed.

    The benchmark is many programs in one, and prints no number of iterations of a loop around MPI calls. Its ranks
    make the same iterations, so that the criterion compares them between ranks and runs. They are too few for a
    profile, so that there is no plan to follow; strangers.py has programs with plans.
    """
    program = shutil.which("hpcc")
    if not program or "openmpi" not in installed():
        raise Unavailable("hpcc is not installed: apt-get install hpcc")
    passed, loops = {}, {}
    start = launcher("openmpi", RANKS)
    for where in ("plain", "outside", "inside"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "hpccinf.txt").write_text(HPCC_INPUT)
            profile = folder / "job.terrace"
            own = terrace(profile)
            words = {
                "plain": [*start, program],
                "outside": [*own, *start, program],
                "inside": [*start, *own, program],
            }[where]
            status = run_job(words, folder).returncode
            output = (folder / "hpccoutf.txt").read_text()
            passed[where] = (status, len(re.findall(r"PASSED", output)), len(re.findall(r"FAILED", output)))
            if where == "plain":
                continue
            ranks = query(profile, "SELECT DISTINCT rank FROM mpi_call JOIN run ON run.id = run WHERE rank >= 0")
            loops[where] = _loops(profile) if len(ranks) == RANKS else set()
    text = ", ".join(f"{where} {number} passed" for where, (_, number, _) in passed.items())
    counts = ", ".join(
        f"{where} {' or '.join(str(n) for _, n in sorted(found)) or 'no'} iterations of the last loop"
        for where, found in loops.items()
    )
    holds = len(set(passed.values())) == 1 and passed["plain"][1] > 0 and passed["plain"][2] == 0
    agree = len(loops["outside"]) == 1 and loops["outside"] == loops["inside"]
    return Measured(f"{text}; {counts}", holds and agree)


def _build_hooked(mpi: str, folder: Path) -> Path:
    """Returns CG, built by the MPI's compiler around terrace-c++."""
    wrapper = TERRACE.with_name("terrace-c++")
    environment = {
        **ENVIRONMENT, "OMPI_CXX": str(wrapper), "MPICH_CXX": str(wrapper), "CXX": f"mpicxx.{mpi}",
        "CXXFLAGS": "-O2 -g -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX",
    }  # fmt: skip
    words: list[str | Path] = ["sh", ROOT / "workloads" / "build.sh", folder / mpi, "mpi/cg"]
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
    return next(path for path in (folder / mpi / "cg", folder / mpi / "mpi" / "cg") if path.exists())


def compare_profiling_time() -> Measured:
    """Compares the time of `record` and `simulate` of two ranks between the MPIs, in interleaved runs."""
    mpis = installed()
    if len(mpis) < 2:
        raise Unavailable("one MPI is not installed: apt-get install libmpich-dev, and then libopenmpi-dev")
    times: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = {mpi: _build_hooked(mpi, folder) for mpi in mpis}
        for _ in range(PAIRS):
            for verb in ("record", "simulate"):
                for mpi in mpis:
                    words = [
                        str(TERRACE),
                        verb,
                        "-o",
                        f"{verb}-{mpi}.terrace",
                        "--",
                        *launcher(mpi, 2),
                        str(programs[mpi]),
                    ]
                    begun = time.monotonic()
                    done = run_job([*words, "--class", "S", "--iterations", "5"], folder)
                    if done.returncode != 0:
                        raise RuntimeError(f"{verb} with {mpi} failed: {done.stderr[-300:]}")
                    times.setdefault((verb, mpi), []).append(time.monotonic() - begun)
    median = {key: statistics.median(each) for key, each in times.items()}
    ratios = {verb: median[verb, "openmpi"] / median[verb, "mpich"] for verb in ("record", "simulate")}
    text = "; ".join(
        f"{verb}: Open MPI {median[verb, 'openmpi']:.1f} s, MPICH {median[verb, 'mpich']:.1f} s, {ratio:.2f} times"
        for verb, ratio in ratios.items()
    )
    return Measured(text, max(ratios.values()) <= MAX_RATIO)


CRITERIA = [
    Criterion(
        "HPC Challenge",
        "its checks pass, outside and inside of the launcher, 4 ranks, whose last loops' iterations agree",
        hpcc,
    ),
    Criterion(
        "time to profile with two MPIs",
        "record and simulate with Open MPI at most 2 times MPICH's",
        compare_profiling_time,
    ),
]
