"""Programs without hooks while they are watched: what they print and how they end is as without, whatever they do
with their stacks, threads, signals and memory. Functions are probed where this user may."""

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


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    subprocess.run(["c++", "-O2", "-g", PROGRAM, "-o", "p", "-pthread"], cwd=folder, check=True)
    return folder / "p"


def watched(program: Path, tmp_path: Path, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """Runs it; returns what the profile notes."""
    store = tmp_path / "p.terrace"
    command = [TERRACE, "run", "--profile", "-o", store, *options, "--", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, f"{words[0]} 1\n"), done.stderr
    with sqlite3.connect(store) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM note")]


@pytest.mark.parametrize("what", ["throws", "switches", "remaps"])
def test_it_does_what_it_does(program: Path, tmp_path: Path, what: str) -> None:
    notes = watched(program, tmp_path, what)
    assert any(note.startswith("no hooks: objects are watched by") for note in notes)


def test_phases_are_the_functions_that_are_named(program: Path, tmp_path: Path) -> None:
    notes = watched(program, tmp_path, "throws", options=("--phases", "sweep,scale"))
    if any("cannot be seen" in note for note in notes):
        pytest.skip("this user may not probe functions")
    assert not [note for note in notes if note.startswith("--phases")]
    with sqlite3.connect(tmp_path / "p.terrace") as connection:
        names = {row[0] for row in connection.execute("SELECT DISTINCT name FROM phase_instance WHERE loop >= 0")}
    assert names == {"sweep", "scale"}


def test_a_handler_that_ends_the_process_ends_it(program: Path, tmp_path: Path) -> None:
    """Whatever Terrace was in the middle of when the signal came."""
    for turn in range(8):
        command = [TERRACE, "run", "-q", "--profile", "-o", tmp_path / f"{turn}.terrace", "--", program, "leaves"]
        with subprocess.Popen(command, start_new_session=True) as launcher:
            children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
            deadline = time.monotonic() + 60
            child = ""
            while not child and time.monotonic() < deadline:
                child = children.read_text().split(" ")[0]
                if child and Path(f"/proc/{child}/exe").readlink() != program:
                    child = ""
            time.sleep(0.2 + 0.037 * turn)  # not for a result: so that it is not always in the same place
            os.kill(int(child), signal.SIGTERM)
            try:
                assert launcher.wait(60) == 7
            except subprocess.TimeoutExpired:
                os.killpg(launcher.pid, signal.SIGKILL)
                raise
