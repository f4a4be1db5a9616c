"""Python programs on MPI ranks: Terrace finds their main loops, and counts the iterations that they print.

The programs use mpi4py where the interpreter has it, else the MPI library by ctypes. TERRACE_PYTHONS may name
further interpreters, separated by colons; an `mpirun` beside an interpreter belongs to it.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE

MACHINE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PYTHONS = [sys.executable, *filter(None, os.environ.get("TERRACE_PYTHONS", "").split(":"))]

MPI = """
import sys
try:
    from mpi4py import MPI
    barrier = MPI.COMM_WORLD.Barrier
    reduce = lambda: MPI.COMM_WORLD.allreduce(1)
    finalize = lambda: None
    is_first = MPI.COMM_WORLD.rank == 0
except ImportError:
    import ctypes
    ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
    mpi = ctypes.CDLL(None)
    mpi.MPI_Init(None, None)
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")) if "40" in sys.argv[1] else 0x44000000
    rank = ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    is_first = rank.value == 0
    barrier = lambda: mpi.MPI_Barrier(world)
    reduce = lambda: mpi.MPI_Barrier(world)
    finalize = lambda: mpi.MPI_Finalize()
def work():
    for i in range(20000): pass
"""

PROGRAMS = {
    "barrier_in_every_fifth_iteration": """
def main(n):
    barrier()
    for step in range(n):  # main loop
        work()
        reduce()
        if step % 5 == 4:
            barrier()
main(200)
print("iterations 200") if is_first else None
finalize()
""",
    "step_with_several_calls": """
def exchange():
    for dimension in range(3):
        barrier()
def step(i):
    work()
    exchange()
    if i % 2 == 0:
        exchange()
    reduce()
    barrier()
def main(n):
    i = 0
    while i < n:  # main loop
        i += 1
        step(i)
main(50)
print("iterations 50") if is_first else None
finalize()
""",
    "nested_loops": """
for outer in range(40):  # main loop
    for inner in range(7):
        work()
        barrier()
        reduce()
    barrier()
print("iterations 40") if is_first else None
finalize()
""",
    "solver_that_raises": """
class Solver:
    def cycle(self):
        for i in range(4):
            work()
            self.dot()
    def dot(self):
        reduce()
    def run(self):
        i = 0
        while True:
            i += 1  # main loop
            try:
                self.cycle()
                if i % 3 == 0: raise ValueError
                barrier()
            except ValueError:
                continue
            finally:
                self.dot()
                if i == 50: break
Solver().run()
print("iterations 50") if is_first else None
finalize()
sys.exit(3)
""",
}


class Launcher:
    """Launches ranks of one interpreter."""

    def __init__(self, python):
        self.python = python
        beside = Path(python).with_name("mpirun")
        candidates = ("mpirun.openmpi", "mpirun", "mpirun.mpich")
        self.mpirun = str(beside) if beside.exists() else next(filter(None, map(shutil.which, candidates)), None)
        if not self.mpirun:
            pytest.skip("no mpirun")
        version = subprocess.run([self.mpirun, "--version"], capture_output=True, text=True).stdout.lower()
        self.is_open_mpi = "open mpi" in version or "openrte" in version or "open-mpi" in version
        self.library = "libmpi.so.40" if self.is_open_mpi else "libmpi.so.12"

    def run(self, *command):
        options = ["--oversubscribe"] if self.is_open_mpi else []
        words = [self.mpirun, *options, "-n", "2", *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_iterations_of_the_main_loop_are_those_that_the_program_counted(python, name, tmp_path):
    launcher = Launcher(python)
    program = tmp_path / "program.py"
    program.write_text(MPI + PROGRAMS[name])
    plain = launcher.run(python, program, launcher.library)
    if "cannot open shared object file" in plain.stderr:
        pytest.skip(f"no {launcher.library}")
    store = tmp_path / "run.terrace"
    session = [TERRACE, "run", "--machine", MACHINE, "--fast", "28MiB", "-o", store, "--"]
    done = launcher.run(*session, python, program, launcher.library)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    with closing(sqlite3.connect(store)) as database:
        loops = database.execute("SELECT run, name, turns_before + iterations FROM loop ORDER BY run").fetchall()
    lines = program.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.endswith("# main loop"))
    count = int(plain.stdout.split()[1])
    # `while True` is named by its own line before 3.12, else by that of its first statement.
    assert [(run, total) for run, _, total in loops] == [(1, count), (2, count)]
    assert all(int(name.rpartition(":")[2]) in (line, line - 1) for _, name, _ in loops)
