# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/slurm.md: its commands are run in a cluster of two nodes, in order, with both MPIs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE
from test_pages_for_users import alike, blocks, commands

sys.path.insert(0, str(ROOT / "tests" / "support"))

import slurm_cluster

PAGE = ROOT / "docs" / "how-to" / "slurm.md"
PROLOGS = {"TaskProlog": "task_prolog.sh", "Epilog": "epilog.sh"}
BIN = Path(sys.executable).parent


def build(mpi: str, folder: Path) -> None:
    """Makes ./app and mpirun of an MPI."""
    (folder / "bin").mkdir(exist_ok=True)
    compiler, mpirun = (shutil.which(f"{name}.{mpi}") for name in ("mpicc", "mpirun"))
    if compiler is None or mpirun is None:
        pytest.skip(f"{mpi} is not installed")
    subprocess.run([compiler, ROOT / "tests/support/ranks.c", "-o", folder / "app"], check=True)
    # MPICH's mpirun looks for its proxy beside itself, so this cannot be a link.
    (folder / "bin" / "mpirun").write_text(f'#!/bin/sh\nexec {mpirun} "$@"\n')
    (folder / "bin" / "mpirun").chmod(0o755)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Returns a folder with the page's files and machine, and with commands in bin/."""
    if reason := slurm_cluster.why_not_available():
        pytest.skip(reason)
    for name, _, text in blocks(PAGE.read_text()):
        if name:
            (tmp_path / name).write_text(text)
    machine = (ROOT / "acceptance/programs_lines/same_node.toml").read_text()
    (tmp_path / "machines").mkdir()
    two_kinds = machine.replace('"256MiB"', '"6GiB"').replace('kind = "ddr"', 'kind = "hbm"')
    (tmp_path / "machines/our-node.toml").write_text(two_kinds)
    build("mpich", tmp_path)
    (tmp_path / "bin" / "terrace").symlink_to(TERRACE)
    return tmp_path


def variables(folder: Path) -> dict[str, str]:
    return {
        **slurm_cluster.OPEN_MPI,
        "PATH": f"{folder}/bin:{BIN}:{os.environ['PATH']}:/usr/sbin:/sbin",
        "TERRACE_MACHINES": str(folder / "machines"),
        "TERRACE_PYTHON": sys.executable,
        "TERRACE_SOURCE": str(ROOT),
        "TMPDIR": str(folder),
    }


@pytest.mark.soak
def test_each_command_prints_what_the_page_shows(folder):
    ran = 0
    with slurm_cluster.cluster() as nodes:
        for _, language, text in blocks(PAGE.read_text()):
            for command, shown in commands(text) if language == "console" else ():
                for mpi in (
                    ["mpich", "openmpi"] if "job.sh" in command else ["openmpi" if "pmix" in command else "mpich"]
                ):
                    build(mpi, folder)
                    words = ["bash", "-c", f"{command} 2>&1"]
                    done = nodes.run(*words, env=variables(folder), cwd=folder, limit=300)
                    printed = [alike(line) for line in done.stdout.splitlines()]
                    for line in shown:
                        # The job may run on either node.
                        wanted = {alike(line), alike(line.replace("on n1", "on n2"))}
                        assert any(one.startswith(tuple(wanted)) for one in printed), f"$ {command}\n{done.stdout}"
                    ran += 1
        assert (folder / "job.out").read_text().count("ranks 4\n") == 2
        assert nodes.wait_until(lambda: not [*folder.glob("terrace-*")])
    assert ran >= 10


def programs(nodes: slurm_cluster.Cluster, *names: str) -> list[int]:
    """Returns the processes of jobs with these names."""
    paths = [(process, Path(f"/proc/{process}/comm")) for process in nodes.processes()]
    return [process for process, path in paths if path.exists() and path.read_text().strip() in names]


def install_script(folder: Path, name: str) -> Path:
    """Makes a script of the page work in the folder."""
    text = (folder / name).read_text().replace("=/tmp", f"={folder}").replace('"/tmp/', f'"{folder}/')
    (folder / name).write_text(text.replace("/opt/terrace/bin", f"{folder}/bin"))
    (folder / name).chmod(0o755)
    return folder / name


def test_epilog_removes_what_killed_processes_left(folder):
    with slurm_cluster.cluster(f"Epilog={install_script(folder, 'epilog.sh')}\n") as nodes:
        job = nodes.submit("terrace run -q sleep 60", "-n1", env=variables(folder), cwd=folder)
        assert nodes.wait_until(lambda: len(programs(nodes, "terrace", "terrace-watch", "sleep")) == 3)
        for name in ("terrace-watch", "terrace", "sleep"):
            for process in programs(nodes, name):
                os.kill(process, signal.SIGKILL)
        assert [*folder.glob("terrace-*")]
        nodes.wait_for(job)
        assert nodes.wait_until(lambda: not [*folder.glob("terrace-*")])


def test_folder_of_task_prolog_is_used_and_removed(folder):
    scripts = [f"{name}={install_script(folder, file)}\n" for name, file in PROLOGS.items()]
    with slurm_cluster.cluster("".join(scripts)) as nodes:
        done = nodes.run("srun", "-n", "1", "sh", "-c", "ls -d $TMPDIR", env=variables(folder), cwd=folder)
        assert done.stdout.startswith(f"{folder}/job-")
        assert nodes.wait_until(lambda: not [*folder.glob("job-*")])
