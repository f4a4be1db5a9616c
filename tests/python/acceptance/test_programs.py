"""Tests that each program of acceptance/ loads and lists its criteria."""

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
