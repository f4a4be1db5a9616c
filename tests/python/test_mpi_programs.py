# SPDX-License-Identifier: Apache-2.0
"""Plain MPI programs under Terrace: output and exit status are theirs, the iterations of the main loop are counted
exactly on each rank, and a job has one profile, whether `terrace` runs the launcher or is run by it.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import BUILD, ROOT

TERRACE = BUILD / "src" / "cli" / "terrace"
WATCHING = ["--machine", str(ROOT / "acceptance" / "programs_lines" / "same_node.toml"), "--fast", "28MiB"]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# A time loop whose calls are in functions with loops of their own, with a reduction every 10 and output every 25
# steps: no sequence of calls says what an iteration is. "abort", "exit" and "kill" end rank 1 in its step 20.
HALO = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 1 << 17, FACE = 400 };
static double *a, *b;
static int rank, size;
__attribute__((noinline)) static void exchange(void) {
  MPI_Request requests[4];
  MPI_Status states[4];
  for (int d = 0; d < 2; d++) {
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(a, FACE, MPI_DOUBLE, left, d, MPI_COMM_WORLD, requests);
    MPI_Irecv(a + N - FACE, FACE, MPI_DOUBLE, right, 2 + d, MPI_COMM_WORLD, requests + 1);
    MPI_Isend(b, FACE, MPI_DOUBLE, right, d, MPI_COMM_WORLD, requests + 2);
    MPI_Isend(b + FACE, FACE, MPI_DOUBLE, left, 2 + d, MPI_COMM_WORLD, requests + 3);
    MPI_Waitall(4, requests, states);
  }
}
__attribute__((noinline)) static void sweep(void) {
  for (int k = 0; k < 16; k++)
    for (int i = 1; i < N - 1; i++) b[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1]);
  double* t = a;
  a = b;
  b = t;
}
int main(int argc, char** argv) {
  const int steps = atoi(argv[1]);
  const char* end = argc > 2 ? argv[2] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  a = malloc(N * sizeof *a);
  b = malloc(N * sizeof *b);
  for (int i = 0; i < N; i++) a[i] = b[i] = i % 7;
  double own = 0, sum = 0, all[64];
  for (int step = 0; step < steps; step++) {
    exchange();
    sweep();
    own = a[N / 2];
    if (step % 10 == 9) MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (step % 25 == 24) MPI_Gather(&own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (step == 20 && rank == 1 && !strcmp(end, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (step == 20 && rank == 1 && !strcmp(end, "exit")) exit(3);
    if (step == 20 && rank == 1 && !strcmp(end, "kill")) raise(SIGKILL);
  }
  if (rank == 0) printf("%d steps, %.12e\n", steps, sum);
  MPI_Finalize();
}
"""


@pytest.fixture(scope="module", params=["mpich", "openmpi"])
def mpi(request, tmp_path_factory):
    """Returns the launcher's words and the program; skips where this MPI is not installed."""
    name = request.param
    compiler, launcher = shutil.which(f"mpicc.{name}"), shutil.which(f"mpirun.{name}")
    if not compiler or not launcher:
        pytest.skip(f"mpicc.{name} is not installed (Debian: lib{name}-dev)")
    folder = tmp_path_factory.mktemp(name)
    (folder / "halo.c").write_text(HALO)
    subprocess.run([compiler, "-O2", "-g", "halo.c", "-o", "halo"], cwd=folder, check=True)
    return [launcher, *(["--oversubscribe"] if name == "openmpi" else []), "-n", "2"], folder / "halo"


def run_job(words, folder):
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def loops(profile):
    """Returns name and iterations of the last main loop, by rank."""
    with sqlite3.connect(profile) as database:
        rows = database.execute(
            "SELECT rank, name, turns_before + iterations FROM loop JOIN run ON run.id = loop.run "
            "WHERE rank IS NOT NULL ORDER BY rank, number"
        )
        return {rank: (name, iterations) for rank, name, iterations in rows}


@pytest.mark.parametrize("is_inside", [False, True], ids=["outside", "inside"])
def test_iterations_are_the_programs_own(mpi, is_inside, tmp_path):
    launcher, program = mpi
    terrace = [TERRACE, "run", *WATCHING, "-o", "halo.terrace", "--"]
    words = [*launcher, *terrace, program] if is_inside else [*terrace, *launcher, program]
    steps = 400
    plain = run_job([*launcher, program, steps], tmp_path)
    done = run_job([*words, steps], tmp_path)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    assert [one.name for one in tmp_path.glob("*.terrace")] == ["halo.terrace"]
    found = loops(tmp_path / "halo.terrace")
    assert set(found) == {0, 1}
    for name, iterations in found.values():
        assert name.startswith("main:")
        assert iterations == steps
    lines = [line for line in done.stderr.splitlines() if "profile in" in line]
    assert len(lines) == 1, done.stderr
    assert re.search(rf"terrace: 2 ranks: (.*; )?{steps} iterations(, \d+ of them)? in ", lines[0])
    with sqlite3.connect(tmp_path / "halo.terrace") as database:
        phases = {name for (name,) in database.execute("SELECT DISTINCT name FROM phase_instance")}
        notes = {text for (text,) in database.execute("SELECT text FROM note")}
    assert any(name.startswith("exchange:") for name in phases), "the sweep follows the last wait"
    assert "phases: MPI calls" in notes


@pytest.mark.parametrize(("end", "plain_status"), [("abort", 7), ("exit", 3), ("kill", -signal.SIGKILL)])
def test_ends_of_a_rank_are_as_without_terrace(mpi, end, plain_status, tmp_path):
    launcher, program = mpi
    plain = run_job([*launcher, program, 100, end], tmp_path)
    assert plain.returncode != 0
    done = run_job([*launcher, TERRACE, "run", *WATCHING, "--", program, 100, end], tmp_path)
    # MPICH's launcher sometimes reports the signal by which it ends the other ranks, also without Terrace.
    assert done.returncode in (plain.returncode, 9), (plain_status, done.stderr)


def test_killed_rank_is_named(mpi, tmp_path):
    """Its launcher ends before the MPI launcher ends the others."""
    launcher, program = mpi
    own = [TERRACE, "run", *WATCHING, "-o", tmp_path / "job.terrace", "--"]
    done = run_job([*launcher, *own, program, 100, "kill"], tmp_path)
    assert len(re.findall(r"terrace: rank 1 of 2 \(halo, \d+\) was ended by SIGKILL", done.stderr)) == 1, (
        done.stderr
    )


# Loops whose code is small, or shares a source line with a call: the compiler decides how.
SMALL_LOOPS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 19, STEPS = 250 };
#define SUM(from, to) MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
int main(int argc, char** argv) {
  double* const x = malloc(N * sizeof *x);
  double own = 0, sum = 0;
  int step = 0;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < N; i++) x[i] = i;
#ifdef IN_CONDITION
  do {
    for (int i = 0; i < N; i++) own += x[i] *= 0.999;
    step++;
  } while (SUM(&own, &sum) == MPI_SUCCESS && step < STEPS);
#elif defined(ONE_LINE)
  for (; step < STEPS; step++) { for (int i = 0; i < N; i++) own += x[i] *= 0.999; SUM(&own, &sum); }
#else
  while (step < STEPS) {
    for (int i = 0; i < N; i++) own += x[i] *= 0.999;
    SUM(&own, &sum);
    MPI_Barrier(MPI_COMM_WORLD);
    step++;
  }
#endif
  printf("%d %.3e\n", step, sum);
  MPI_Finalize();
}
"""


@pytest.mark.parametrize("flags", ["-O0 -DIN_CONDITION", "-O2 -DIN_CONDITION", "-O0 -DONE_LINE", "-Os", "-O3"])
def test_iterations_of_small_loops_are_exact(mpi, flags, tmp_path):
    launcher, _ = mpi
    (tmp_path / "small.c").write_text(SMALL_LOOPS)
    compiler = launcher[0].replace("mpirun", "mpicc")
    subprocess.run([compiler, "-g", *flags.split(), "small.c", "-o", "small"], cwd=tmp_path, check=True)
    done = run_job(
        [TERRACE, "run", *WATCHING, "-o", "small.terrace", "--", *launcher, tmp_path / "small"], tmp_path
    )
    found = loops(tmp_path / "small.terrace")
    assert {rank: iterations for rank, (_, iterations) in found.items()} == {0: 250, 1: 250}, done.stderr


@pytest.mark.parametrize("is_inside", [False, True], ids=["outside", "inside"])
def test_default_profile_is_named_after_the_ranks_program(mpi, is_inside, tmp_path):
    launcher, program = mpi
    terrace = [TERRACE, "run", *WATCHING, "--profile", "--"]
    run_job([*launcher, *terrace, program, 40] if is_inside else [*terrace, *launcher, program, 40], tmp_path)
    (profile,) = tmp_path.glob("*.terrace")
    assert profile.name.startswith("halo.")


def test_sentences_on_the_launch_are_printed_once(mpi, tmp_path):
    """Each rank has a launcher, and all of these would say the same."""
    launcher, program = mpi
    (tmp_path / "none.toml").write_text(
        'schema = 2\nplanner = "slow-only"\nmachine = "same-node"\nloop = "main"\nbudget = ["near=24MiB"]\n'
        'phases = ["main"]\n'
    )
    own = [TERRACE, "run", *WATCHING[:2], "--fast", "8MiB", "--plan", "none.toml", "--"]
    done = run_job([*launcher, *own, program, 40], tmp_path)
    said = [line for line in done.stderr.splitlines() if "was made for more than this budget (8MiB)" in line]
    assert len(said) == 1, done.stderr


def test_mpi_objects_of_a_program_without_mpi_are_told(tmp_path):
    done = run_job([TERRACE, "run", *WATCHING, "--mpi-objects", "windows=near", "--", "true"], tmp_path)
    assert (
        "terrace: --mpi-objects: true has called no function of MPI, so there was nothing to place" in done.stderr
    )


def test_program_without_mpi_has_no_mpi_functions(tmp_path):
    """A library may test by a weak reference, or by dlsym(3), whether its process has MPI."""
    (tmp_path / "weak.c").write_text(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        extern int MPI_Initialized(int*) __attribute__((weak));
        int main(void) {
          printf("%d %d %d\\n", MPI_Initialized != 0, dlsym(RTLD_DEFAULT, "MPI_Init") != 0,
                 dlsym(dlopen(0, RTLD_LAZY), "MPI_Abi_get_version") != 0);
        }
        """
    )
    subprocess.run(["gcc", "-O1", "weak.c", "-o", "weak", "-ldl"], cwd=tmp_path, check=True)
    as_rank = {**ENVIRONMENT, "PMI_RANK": "0", "PMI_SIZE": "1"}  # so the library with MPI's functions is loaded
    done = subprocess.run(
        [TERRACE, "run", "--", tmp_path / "weak"], env=as_rank, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 0 0\n"


def test_static_mpi_is_told(tmp_path):
    (tmp_path / "static.c").write_text(
        "int MPI_Init(int* c, char*** v) { return !c + !v; } int main() { return 0; }"
    )
    subprocess.run(["gcc", "static.c", "-o", "static"], cwd=tmp_path, check=True)
    as_rank = {**ENVIRONMENT, "PMI_RANK": "0", "PMI_SIZE": "1"}
    done = subprocess.run(
        [TERRACE, "run", "--", tmp_path / "static"], env=as_rank, capture_output=True, text=True, check=True
    )
    assert done.stderr == (
        "terrace: the program contains its MPI library (statically linked), so Terrace does not see its MPI "
        "calls; link it with the shared library\n"
    )


def test_lammps_time_steps_are_counted(tmp_path):
    """A program of the distribution, stripped, with its loop in a library and virtual functions."""
    program, launcher = shutil.which("lmp"), shutil.which("mpirun.openmpi")
    if not program or not launcher:
        pytest.skip("lmp is not installed (Debian: lammps)")
    (tmp_path / "in.melt").write_text(
        "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 10 0 10 0 10\ncreate_box 1 box\n"
        "create_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287\npair_style lj/cut 2.5\n"
        "pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify every 20 delay 0 check no\nfix 1 all nve\n"
        "thermo 200\nrun 1200\n"
    )
    job = [launcher, "--oversubscribe", "-n", "2", program, "-in", "in.melt", "-log", "none"]

    def columns(text):
        lines = text.splitlines()
        begin = next(i for i, line in enumerate(lines) if line.split()[:1] == ["Step"])
        return lines[begin : begin + 8]

    plain = run_job(job, tmp_path)
    done = run_job([TERRACE, "run", *WATCHING, "-o", "lmp.terrace", "--", *job], tmp_path)
    assert done.returncode == 0, done.stderr
    assert columns(done.stdout) == columns(plain.stdout)
    found = loops(tmp_path / "lmp.terrace")
    assert {rank: iterations for rank, (_, iterations) in found.items()} == {0: 1200, 1: 1200}
    assert all("Verlet::run" in name for name, _ in found.values())
