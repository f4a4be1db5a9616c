"""Uninstrumented programs whose pages are watched: output and status are unchanged, whatever they do with stacks,
threads, signals and memory. Functions are probed where permitted.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from conftest import TERRACE

PROGRAM = Path(__file__).parents[1] / "support" / "watched.cpp"


# Functions with a loop in the 64 bytes of their entry are not followed where a breakpoint would slow it.
APART = ("-falign-loops=64", "-falign-functions=64")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    subprocess.run(["c++", "-O2", "-g", *APART, PROGRAM, "-o", "p", "-pthread"], cwd=folder, check=True)
    return folder / "p"


def watched(program: Path, tmp_path: Path, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """Runs a program; returns the notes of its profile."""
    store = tmp_path / "p.terrace"
    command = [TERRACE, "run", "--profile", "-o", store, *options, "--", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, f"{words[0]} 1\n"), done.stderr
    with sqlite3.connect(store) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM note")]


@pytest.mark.parametrize("what", ["throws", "switches", "remaps"])
def test_program_behaves_as_without(program: Path, tmp_path: Path, what: str) -> None:
    notes = watched(program, tmp_path, what)
    assert any(note.startswith("no hooks: objects are watched by") for note in notes)


def test_phases_are_the_named_functions(program: Path, tmp_path: Path) -> None:
    notes = watched(program, tmp_path, "throws", options=("--phases", "sweep,scale"))
    if any("cannot be seen" in note for note in notes):
        pytest.skip("this user may not probe functions")
    assert not [note for note in notes if note.startswith("--phases")]
    with sqlite3.connect(tmp_path / "p.terrace") as connection:
        names = {row[0] for row in connection.execute("SELECT DISTINCT name FROM phase_instance WHERE loop >= 0")}
    assert names == {"sweep", "scale"}


# All of its code is in a library that the program loads itself, as if it were one of the system's: no symbol file
# describes it.
LIBRARY = """
#include <stddef.h>
double sweep(const double* a, size_t n) {
  double sum = 0;
  for (size_t k = 0; k < 8 * n; ++k) sum += a[k % n];
  return sum;
}
void scale(double* a, size_t n) {
  for (size_t k = 0; k < 8 * n; ++k) a[k % n] = a[k % n] * 0.5 + 1;
}
"""
MAIN = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** words) {
  const size_t n = 4 << 20;
  void* const library = dlopen(words[2], RTLD_NOW);
  double (*sweep)(const double*, size_t) = (double (*)(const double*, size_t))dlsym(library, "sweep");
  void (*scale)(double*, size_t) = (void (*)(double*, size_t))dlsym(library, "scale");
  double* const a = calloc(n, sizeof *a);
  volatile double sum = 0;
  int turns = 0;
  for (; turns < 30; ++turns) {
    sum += sweep(a, n);
    scale(a, n);
  }
  return printf("%s 1\\n", words[1]) < 0;
}
"""


def test_phases_are_functions_of_a_library_without_symbols(tmp_path: Path) -> None:
    for name, text, options in (("library", LIBRARY, ("-shared", "-fPIC")), ("main", MAIN, ())):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(
            ["cc", "-O2", *APART, f"{name}.c", *options, "-o", name],
            cwd=tmp_path,
            check=True,
        )
    (tmp_path / "library").chmod(0o644)  # what a command names and may run is described
    notes = watched(tmp_path / "main", tmp_path, "sweeps", str(tmp_path / "library"))
    if any("cannot be seen" in note for note in notes):
        pytest.skip("this user may not probe functions")
    with sqlite3.connect(tmp_path / "p.terrace") as connection:
        names = {row[0] for row in connection.execute("SELECT DISTINCT name FROM phase_instance WHERE loop >= 0")}
    assert {"sweep", "scale"} <= names


def has_handler(child: str, number: signal.Signals) -> bool:
    """Returns whether the process has installed a handler for the signal."""
    status = Path(f"/proc/{child}/status").read_text()
    return bool(int(status.split("SigCgt:")[1].split()[0], 16) >> (number - 1) & 1)


def test_handler_that_ends_the_process_ends_it(program: Path, tmp_path: Path) -> None:
    """Terrace may be in the middle of anything when the signal arrives, but the program's handler is installed."""
    for repetition in range(8):
        store = tmp_path / f"{repetition}.terrace"
        command = [TERRACE, "run", "-q", "--profile", "-o", store, "--", program, "leaves"]
        with subprocess.Popen(command, start_new_session=True) as launcher:
            children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
            deadline = time.monotonic() + 300
            child = ""
            while not child and time.monotonic() < deadline:
                child = children.read_text().split(" ")[0]
                if child and not (
                    Path(f"/proc/{child}/exe").readlink() == program and has_handler(child, signal.SIGTERM)
                ):
                    child = ""
            time.sleep(0.2 + 0.037 * repetition)  # not for a result: so that it is not always in the same place
            os.kill(int(child), signal.SIGTERM)
            try:
                assert launcher.wait(60) == 7
            except subprocess.TimeoutExpired:
                os.killpg(launcher.pid, signal.SIGKILL)
                raise
