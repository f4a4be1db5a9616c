"""Each program of acceptance/ says what its lines are, and so can at least be loaded."""

import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "acceptance"
PROGRAMS = sorted(path.name for path in FOLDER.iterdir() if path.is_file() and os.access(path, os.X_OK))


def test_programs_exist():
    assert PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_lists_its_criteria(name):
    done = subprocess.run([FOLDER / name, "--list"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()


@pytest.mark.parametrize("dummy", sorted((FOLDER / "house_lines" / "dummies").glob("*.cpp")), ids=lambda p: p.stem)
def test_dummy_compiles(dummy):
    """The line that builds each in a copy of the tree takes minutes."""
    root = FOLDER.parent
    words = [
        "c++",
        "-std=c++20",
        "-fsyntax-only",
        *(f"-I{root / folder}" for folder in ("src/foundation", "src/tiering", "src", "include")),
        dummy,
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
