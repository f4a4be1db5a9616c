# SPDX-License-Identifier: Apache-2.0
"""Files of launchers in MPI jobs whose ranks, launchers or mpirun are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE, run

MPIS = {"mpich": ["mpirun.mpich", "-n", "2"], "openmpi": ["mpirun.openmpi", "--oversubscribe", "-n", "2"]}
SECONDS = 60.0


def wait_until(holds: Callable[[], object]) -> bool:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, tmp_path_factory):
    """Returns mpirun with its words for two ranks, and a program."""
    compiler = shutil.which(f"mpicc.{request.param}")
    if compiler is None:
        pytest.skip(f"{request.param} is not installed")
    program = tmp_path_factory.mktemp(request.param) / "ranks"
    subprocess.run([compiler, ROOT / "tests/support/ranks.c", "-o", program], check=True)
    return MPIS[request.param], program


def environment_in(folder: Path) -> dict[str, str]:
    """Returns variables that put all temporary files and ledgers into the folder."""
    for name in ("temporary", "session"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "session").chmod(0o700)
    return {
        **os.environ,
        "TMPDIR": str(folder / "temporary"),
        "XDG_RUNTIME_DIR": str(folder / "session"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def left_in(folder: Path) -> list[Path]:
    """Returns the launchers' folders and ledgers."""
    return [*(folder / "temporary").glob("terrace-*"), *(folder / "session").glob("terrace/*")]


def processes_with(words: list[str], folder: Path) -> list[int]:
    """Returns the live processes of the test whose command line begins with the words."""
    wanted, own = "\0".join(words).encode() + b"\0", f"TMPDIR={folder}/temporary".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(wanted):
                found += [int(entry.name)] * (own in (entry / "environ").read_bytes().split(b"\0"))
        except OSError:  # it has ended
            continue
    return sorted(found)


def begin(command: list[str], folder: Path) -> subprocess.Popen[str]:
    """Starts the job and waits until its ranks have found each other."""
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment_in(folder), cwd=folder)
    assert job.stdout is not None
    assert job.stdout.readline() == "ranks 2\n"
    return job


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("victim", ["rank", "launcher", "mpirun"])
def test_killed_job_with_launchers_inside_leaves_no_files(mpi, victim, number, tmp_path):
    mpirun, program = mpi
    launcher = [str(TERRACE), "run", str(program)]
    job = begin([*mpirun, *launcher, "120"], tmp_path)
    assert len(left_in(tmp_path)) >= 3  # two folders of journals, a ledger
    words = {"rank": [str(program)], "launcher": launcher, "mpirun": mpirun}[victim]
    os.kill(processes_with(words, tmp_path)[0], number)
    if victim == "launcher" and number == signal.SIGKILL:
        # MPI sees its child die, but not the program, which the folder is kept for.
        for process in processes_with([str(program)], tmp_path):
            os.kill(process, signal.SIGKILL)
    job.communicate(timeout=SECONDS)
    assert wait_until(lambda: not left_in(tmp_path)), left_in(tmp_path)
    assert wait_until(lambda: not processes_with(launcher, tmp_path))


def test_killed_rank_with_launcher_outside_leaves_no_files(mpi, tmp_path):
    mpirun, program = mpi
    job = begin([str(TERRACE), "run", *mpirun, str(program), "120"], tmp_path)
    os.kill(processes_with([str(program)], tmp_path)[0], signal.SIGKILL)
    job.communicate(timeout=SECONDS)
    assert job.returncode != 0
    assert left_in(tmp_path) == []


def test_launchers_of_one_mpi_job_share_a_ledger(mpi, tmp_path):
    mpirun, program = mpi
    job = begin([*mpirun, str(TERRACE), "run", str(program), "1"], tmp_path)
    assert len(list((tmp_path / "session").glob("terrace/*.ledger"))) == 1
    job.communicate(timeout=SECONDS)
    assert job.returncode == 0


def test_next_launch_removes_files_of_a_job_whose_processes_are_all_killed(tmp_path):
    environment = {**environment_in(tmp_path), "SLURM_JOB_ID": "7"}
    words = [TERRACE, "run", "-q", "sleep", "120"]
    launcher = subprocess.Popen(words, env=environment, cwd=tmp_path)
    launchers = [str(TERRACE), "run", "-q"]
    assert wait_until(lambda: len(processes_with(launchers, tmp_path)) == 2)  # the launcher, and its watcher
    assert wait_until(lambda: processes_with(["sleep", "120"], tmp_path))
    watcher = max(processes_with(launchers, tmp_path), key=lambda process: process != launcher.pid)
    for process in (watcher, launcher.pid, *processes_with(["sleep", "120"], tmp_path)):
        os.kill(process, signal.SIGKILL)
    launcher.wait()
    assert left_in(tmp_path) != []
    assert wait_until(lambda: not processes_with(["sleep", "120"], tmp_path))
    assert run("-q", "true", env=environment_in(tmp_path), cwd=tmp_path).returncode == 0
    assert left_in(tmp_path) == []


def test_kept_journals_of_a_killed_job_stay(tmp_path):
    environment = {**environment_in(tmp_path), "SLURM_JOB_ID": "7"}
    words = [TERRACE, "run", "-q", "--keep-journals", "sleep", "120"]
    launcher = subprocess.Popen(words, env=environment, cwd=tmp_path)
    assert wait_until(lambda: processes_with(["sleep", "120"], tmp_path))
    for process in (launcher.pid, *processes_with(["sleep", "120"], tmp_path)):
        os.kill(process, signal.SIGKILL)
    launcher.wait()
    assert run("-q", "true", env=environment_in(tmp_path), cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "temporary").glob("terrace-*"))) == 1


def test_launcher_terminated_before_its_program_starts_leaves_no_files(tmp_path):
    """It is preparing the run: a command of the batch system does not answer yet."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\ntouch asked\nwhile test ! -e answer; do sleep 0.02; done\n")
    scontrol.chmod(0o755)
    machine = (ROOT / "acceptance/programs_lines/same_node.toml").read_text()
    (tmp_path / "here.toml").write_text(machine)
    environment = environment_in(tmp_path)
    environment |= {"SLURM_JOB_ID": "7", "PATH": f"{tmp_path}:{environment['PATH']}"}
    words = [TERRACE, "run", "-q", "--machine", "here.toml", "sleep", "120"]
    launcher = subprocess.Popen(words, env=environment, cwd=tmp_path)
    assert wait_until(lambda: (tmp_path / "asked").exists())
    launcher.terminate()
    (tmp_path / "answer").touch()
    assert launcher.wait(timeout=SECONDS) == -signal.SIGTERM
    assert wait_until(lambda: not left_in(tmp_path)), left_in(tmp_path)
