"""The MPI workloads: each verifies its own result on 1 to 16 ranks, and counts its iterations.

`make test` uses one MPI, in class S on two and four ranks; `make soak` uses all, and more ranks.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from terrace.lab import workloads

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "workloads"
PROGRAMS = workloads.read_all(FOLDER / "mpi")
# Open MPI first: its ranks yield where there are more than cores.
SUFFIXES = (".openmpi", "", ".mpich")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
FIRST = "first"  # the first MPI that works


class Mpi:
    """An MPI's compiler and launcher, and the programs that it built."""

    def __init__(self, suffix, folder):
        self.compiler, self.launcher = f"mpicxx{suffix}", f"mpirun{suffix}"
        version = subprocess.run(
            [self.launcher, "--version"], capture_output=True, text=True, env=ENVIRONMENT
        ).stdout
        self.oversubscribes = "open-mpi" in version
        self._folder = folder / self.compiler

    def build(self):
        names = [f"mpi/{name}" for name in PROGRAMS]
        call = ["sh", FOLDER / "build.sh", self._folder, *names]
        compiler = {
            "CXX": self.compiler,
            "CXXFLAGS": "-O2 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DWORKLOADS_WITHOUT_MARKERS",
        }
        done = subprocess.run(call, capture_output=True, text=True, env={**ENVIRONMENT, **compiler})
        assert done.returncode == 0, done.stderr

    def run(self, ranks, name, *words):
        options = ["--oversubscribe"] if self.oversubscribes else []
        command = [self.launcher, *options, "-n", str(ranks), self._folder / "mpi" / name, *words]
        return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)


def works(suffix, folder):
    """Returns whether an MPI compiles; several may be installed, and some without headers."""
    compiler, launcher = (shutil.which(f"{name}{suffix}") for name in ("mpicxx", "mpirun"))
    (folder / "empty.cpp").write_text("#include <mpi.h>\n")
    check = [str(compiler), "-fsyntax-only", folder / "empty.cpp"]
    return compiler and launcher and subprocess.run(check, capture_output=True).returncode == 0


@pytest.fixture(scope="module", params=[FIRST, *(pytest.param(one, marks=pytest.mark.soak) for one in SUFFIXES)])
def mpi(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpi")
    candidates = SUFFIXES if request.param == FIRST else (request.param,)
    suffix = next((one for one in candidates if works(one, folder)), None)
    if suffix is None:
        pytest.skip("no MPI: no mpicxx that compiles")
    found = Mpi(suffix, folder)
    found.build()
    return found


def rank_counts():
    return [pytest.param(n, marks=[pytest.mark.soak] * (n not in (2, 4))) for n in (1, 2, 4, 8, 16)]


@pytest.mark.parametrize("ranks", rank_counts())
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_on_ranks_verifies_its_result(mpi, name, ranks):
    program = PROGRAMS[name]
    assert ranks in program.ranks
    done = mpi.run(ranks, name, *program.words("S"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert program.verified(done.stdout)
    assert len(re.findall(r"iterations\b", done.stdout, re.IGNORECASE)) == 1  # one rank prints


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_prints_the_iterations_that_were_asked_for(mpi, name):
    done = mpi.run(2, name, "--class", "S", "--iterations", "27")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"iterations\s+=?\s*([0-9]+)", done.stdout, re.IGNORECASE) == ["27"]


@pytest.mark.parametrize(
    ("ranks", "name", "words", "says"),
    [
        (2, "cg", ["--clas", "S"], "cg: no option '--clas'; --help lists them"),
        (2, "halo", ["--class", "B"], "halo: --class: expected S, W or A, found 'B'"),
        (3, "mg", [], "mg: 3 ranks: a power of two of at most 32768 is required"),
        (3, "pairs", [], "pairs: 3 ranks: an even number, or 1, is required"),
    ],
)
def test_wrong_call_is_told_once(mpi, ranks, name, words, says):
    done = mpi.run(ranks, name, *words)
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count(says) == 1


def test_programs_without_a_grid_accept_any_number_of_ranks(mpi):
    for name in ("halo", "putget"):
        done = mpi.run(3, name)
        assert done.returncode == 0 and PROGRAMS[name].verified(done.stdout), done.stdout + done.stderr
