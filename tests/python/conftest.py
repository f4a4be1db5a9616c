"""What the tests of the Python side share: a store with known contents, and the command as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TERRACE_BUILD", ROOT / "build" / "release"))

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that never ran, of two processes (tests/support/synthetic_job.hpp): 4001 ended, 4002 was killed."""
    program = BUILD / "tests" / "unit" / "profile" / "synthetic_job"
    assert program.exists(), f"{program} is not built; set TERRACE_BUILD to the build folder"
    folder = tmp_path_factory.mktemp("job")
    return Path(subprocess.run([program, folder], capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="session")
def terrace() -> Command:
    """Runs `terrace VERB ...` as the launcher hands it over; no terminal anywhere."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "terrace", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run
