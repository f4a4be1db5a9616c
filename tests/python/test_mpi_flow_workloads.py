"""The flow solvers on MPI ranks (BT, SP, LU, hydro, eddy): each verifies its own result on 1 to 16 ranks.

`make test` runs them on two ranks; `make soak` on one, four and more.
"""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "workloads"
NAMES = ("lu", "sp", "bt", "hydro", "eddy")
# Open MPI first: its ranks yield where there are more than cores.
MPIS = (("mpicxx.openmpi", "mpirun.openmpi"), ("mpicxx", "mpirun"), ("mpicxx.mpich", "mpirun.mpich"))
# Open MPI refuses the superuser, and more ranks than cores, unless told otherwise (versions 4 and 5).
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# The C bindings alone; no annotations of phases, which would take the place of those found from MPI calls.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-DWORKLOADS_WITHOUT_MARKERS")


def call(*words, timeout=300):
    return subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, env=ENVIRONMENT, timeout=timeout
    )


def manifest(name):
    return tomllib.loads((FOLDER / "mpi" / name / "workload.toml").read_text())


def sources(name):
    own = FOLDER / "mpi" / name
    paths = [own, *(FOLDER / "mpi" / shared for shared in manifest(name)["shared"])]
    files = [file for path in paths for file in ([path] if path.suffix == ".cpp" else path.glob("*.cpp"))]
    return [*(file.resolve() for file in files), FOLDER / "common" / "npb.cpp", FOLDER / "common" / "options.cpp"]


class Programs:
    """Builds the programs with an MPI's compiler, each when it is first run, and runs them."""

    def __init__(self, compiler, launcher, folder):
        self._compiler = [tool for tool in (shutil.which("ccache"),) if tool] + [compiler]
        self._launcher = launcher
        self._folder = folder

    def path(self, name):
        program = self._folder / name
        if not program.exists():
            objects = [self._object(source) for source in sources(name)]
            done = call(*self._compiler, *objects, "-o", program)
            assert done.returncode == 0, done.stderr
        return program

    def run(self, ranks, name, *words):
        return call(self._launcher, "-n", ranks, self.path(name), *words)

    def _object(self, source):
        result = self._folder / ("_".join(source.relative_to(FOLDER).with_suffix(".o").parts))
        if not result.exists():
            options = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Wno-unknown-pragmas", *DEFINITIONS, "-I", FOLDER]
            done = call(*self._compiler, *options, "-c", source, "-o", result)
            assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
        return result


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "empty.cpp").write_text("#include <mpi.h>\n")
    for compiler, launcher in MPIS:
        # Several MPIs may be installed, and some without headers.
        installed = shutil.which(compiler) and shutil.which(launcher)
        if installed and call(compiler, "-fsyntax-only", folder / "empty.cpp").returncode == 0:
            return Programs(compiler, launcher, folder)
    pytest.skip("no MPI: no mpicxx that compiles")


def verified(name, printed):
    return re.search(manifest(name)["verify"]["says"], printed, re.MULTILINE) is not None


@pytest.mark.parametrize("ranks", [2, *(pytest.param(n, marks=pytest.mark.soak) for n in (1, 4, 8, 16))])
@pytest.mark.parametrize("name", NAMES)
def test_flow_program_on_ranks_verifies_its_result(programs, name, ranks):
    done = programs.run(ranks, name, "--class", "S")
    assert done.returncode == 0, done.stdout + done.stderr
    assert verified(name, done.stdout), done.stdout
    assert len(re.findall(r"iterations\b", done.stdout, re.IGNORECASE)) == 1  # one rank prints


@pytest.mark.parametrize("name", NAMES)
def test_flow_program_prints_the_iterations_that_were_asked_for(programs, name):
    done = programs.run(2, name, "--iterations", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"iterations\s+=?\s*([0-9]+)", done.stdout, re.IGNORECASE) == ["7"]


def test_hydro_on_several_ranks_has_the_shock_of_one(programs):
    shocks = {
        re.search(r"Shock radius ([0-9.]+),", programs.run(ranks, "hydro", "--iterations", "100").stdout)[1]
        for ranks in (1, 2, 3)
    }
    assert len(shocks) == 1  # forces are summed in the order of the whole mesh


@pytest.mark.parametrize(
    ("ranks", "name", "words", "says"),
    [
        (2, "bt", ["--class", "X"], "bt: --class: expected S, W, A, B or C, found 'X'"),
        (2, "eddy", ["--class", "B"], "eddy: --class: expected S, W or A, found 'B'"),
        (7, "lu", [], "lu: 7 ranks: they make a grid of 7 along a side of 10 points, and each needs 2"),
    ],
)
def test_wrong_call_of_flow_program_is_told_once(programs, ranks, name, words, says):
    done = programs.run(ranks, name, *words)
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count(says) == 1


@pytest.mark.parametrize("name", NAMES)
def test_flow_program_calls_nothing_of_terrace(programs, name):
    assert b"terrace_" not in programs.path(name).read_bytes()
