"""Files left by a killed launcher, and their lifetime."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import TERRACE, run

WEEK = 7 * 24 * 3600


def age(folder: Path, seconds: int) -> None:
    """Makes a folder and its files that old."""
    then = time.time() - seconds
    for path in [*folder.iterdir(), folder]:
        os.utime(path, (then, then))


def begun(folder: Path) -> subprocess.Popen[str]:
    """Returns a launcher whose program holds data; the program prints its process id."""
    held = "import os, time; held = bytearray(64 << 20); print(os.getpid(), flush=True); time.sleep(600)"
    words = [TERRACE, "run", "-q", "--planner", "first-touch", "--", sys.executable, "-c", held]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)


def next_launch(folder: Path) -> None:
    assert run("-q", "--", "true", env={**os.environ, "TMPDIR": str(folder)}, cwd=folder).returncode == 0


@pytest.fixture
def left(tmp_path):
    """Returns the folder of a job whose launcher was killed, and the program, which continues."""
    launcher = begun(tmp_path)
    assert launcher.stdout is not None
    program = int(launcher.stdout.readline())
    launcher.kill()
    launcher.wait()
    (folder,) = tmp_path.glob("terrace-*")
    yield folder, program
    if is_there(program):
        os.kill(program, signal.SIGKILL)


def is_there(process: int) -> bool:
    """Returns whether the process exists; it is an orphan, so its parent may not have reaped it yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] not in "ZX"
    except OSError:
        return False


def end(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    for _ in range(1000):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.01)
    pytest.skip("nobody waits here for processes whose parent has ended")


def test_program_continues_and_can_be_merged(left, tmp_path):
    folder, program = left
    assert is_there(program)
    age(folder, 2 * WEEK)
    next_launch(tmp_path)
    assert folder.exists()
    end(program)
    done = run(folder, "-o", tmp_path / "app.terrace", verb="merge")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "app.terrace").exists()


def test_folder_is_removed_after_a_week(left, tmp_path):
    folder, program = left
    end(program)
    age(folder, WEEK - 60)
    next_launch(tmp_path)
    assert folder.exists()
    age(folder, WEEK + 60)
    next_launch(tmp_path)
    assert not folder.exists()


def test_folder_of_a_living_launcher_stays(tmp_path):
    launcher = begun(tmp_path)
    assert launcher.stdout is not None
    launcher.stdout.readline()
    (folder,) = tmp_path.glob("terrace-*")
    for journal in folder.glob("*.journal"):
        journal.unlink()  # else its program would be enough
    age(folder, 2 * WEEK)
    next_launch(tmp_path)
    assert folder.exists()
    launcher.terminate()
    launcher.wait()
    assert not folder.exists()


def test_kept_journals_stay(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    assert run("-q", "--keep-journals", "--", "true", env=environment, cwd=tmp_path).returncode == 0
    (kept,) = tmp_path.glob("terrace-*")
    other = tmp_path / "terrace-source"
    other.mkdir()
    (other / "README").touch()
    for folder in (kept, other):
        age(folder, 2 * WEEK)
    next_launch(tmp_path)
    assert kept.exists() and other.exists()
