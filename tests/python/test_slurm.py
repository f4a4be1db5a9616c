# SPDX-License-Identifier: Apache-2.0
"""Tests the Slurm cluster of tests/support/slurm_cluster.py, and programs under Terrace in its jobs."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE

sys.path.insert(0, str(ROOT / "tests" / "support"))

import slurm_cluster

# Two kinds of memory, both of which are node 0.
MACHINE = (
    (ROOT / "acceptance/programs_lines/same_node.toml")
    .read_text()
    .replace('kind = "ddr"', 'kind = "hbm"')
    .replace('"256MiB"', '"6GiB"')
)
OUTPUT = "ranks 4\nsum 327670\n"  # 1 + 2 + 3 + 4 times 32767
IGNORES = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[slurm_cluster.Cluster]:
    """Returns a running cluster of two nodes."""
    if reason := slurm_cluster.why_not_available():
        pytest.skip(reason)
    with slurm_cluster.cluster() as running:
        yield running


def system_files() -> set[tuple[Path, int]]:
    """Returns the files that Slurm and munge have for a whole machine, with their times of change."""
    folders = [
        Path(name) for name in ("/etc/slurm", "/etc/munge", "/run/munge", "/run/slurm", "/var/spool/slurmd")
    ]
    found = [path for folder in folders if folder.exists() for path in (folder, *folder.rglob("*"))]
    return {(path, path.lstat().st_mtime_ns) for path in found}


def shared_memory() -> set[Path]:
    """Returns the files in the machine's shared memory, except Open MPI's and MPICH's of other programs."""
    mpi = ("vader_segment", "sm_segment", "mpich", "ucx")
    return {path for path in Path("/dev/shm").iterdir() if not path.name.startswith(mpi)}


def test_cluster_started_and_stopped_leaves_nothing():
    if reason := slurm_cluster.why_not_available():
        pytest.skip(reason)
    before = system_files(), shared_memory()
    with slurm_cluster.cluster() as running:
        folder, daemons = running.folder, running.processes()
        assert len(daemons) >= 4
        hosts = running.run("srun", "-N2", "-n2", "sh", "-c", "echo $SLURMD_NODENAME; echo >/dev/shm/left").stdout
        assert sorted(hosts.split()) == list(slurm_cluster.NODES)
        running.submit("sleep 60", "-N2", cwd=folder)
    assert running.processes() == []
    assert not folder.exists()
    assert (system_files(), shared_memory()) == before


def test_cluster_counted_resource_is_in_record_of_job(nodes):
    record = nodes.run(
        "srun", "-N2", "-n1", "--gres=hbm:3000", "sh", "-c", "scontrol show job -d $SLURM_JOB_ID"
    ).stdout
    assert "GRES=hbm(CNT:3000)" in record


@pytest.fixture(scope="module", params=["mpich", "openmpi"])
def mpi(request, tmp_path_factory) -> tuple[str, Path, list[str]]:
    """Returns the name of an MPI, a program of it, and the words of srun that it needs."""
    compiler = shutil.which(f"mpicc.{request.param}")
    if compiler is None:
        pytest.skip(f"{request.param} is not installed")
    program = tmp_path_factory.mktemp(request.param) / "ranks"
    subprocess.run([compiler, ROOT / "tests/support/ranks.c", "-o", program], check=True)
    return request.param, program, [f"--mpi={'pmi2' if request.param == 'mpich' else 'pmix'}"]


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """Returns variables of a job: its temporary folder, and settings of Open MPI."""
    (tmp_path / "temporary").mkdir()
    return {**slurm_cluster.OPEN_MPI, "TMPDIR": str(tmp_path / "temporary")}


def left_on_node(nodes: slurm_cluster.Cluster, temporary: Path) -> list[str]:
    """Returns what jobs have left: processes besides daemons, temporary files, shared memory."""
    daemons = {"munged", "slurmctld", "slurmd", "bash", "unshare", "slurmscriptd"}
    names = [Path(f"/proc/{process}/comm") for process in nodes.processes()]
    processes = {name.read_text().strip() for name in names if name.exists()} - daemons
    node = next(
        process for process in nodes.processes() if Path(f"/proc/{process}/comm").read_text() == "slurmd\n"
    )
    shared = [path for path in Path(f"/proc/{node}/root/dev/shm").rglob("*") if path.is_file()]
    own = [path for name in slurm_cluster.NODES for path in (nodes.folder / f"tmp.{name}").iterdir()]
    # Open MPI's mpirun leaves its folder when it is killed, without Terrace, too.
    files = [path for path in (*shared, *own, *temporary.iterdir()) if not path.name.startswith("ompi.")]
    return [*processes, *map(str, files)]


def wait_until_nothing_is_left(nodes: slurm_cluster.Cluster, temporary: Path) -> None:
    if not nodes.wait_until(lambda: not left_on_node(nodes, temporary)):
        pytest.fail(f"left: {left_on_node(nodes, temporary)}")


def test_ranks_under_launchers_of_srun_print_what_plain_ranks_do(nodes, mpi, tmp_path, environment):
    _, program, words = mpi
    done = nodes.run("srun", "-N2", "-n4", *words, TERRACE, "run", program, env=environment, cwd=tmp_path)
    assert done.stdout == OUTPUT
    wait_until_nothing_is_left(nodes, tmp_path / "temporary")


def test_batch_job_with_mpirun_prints_what_plain_ranks_do(nodes, mpi, tmp_path, environment):
    name, program, _ = mpi
    mpirun = f"mpirun.{name} -n 4"
    # Daemons of Open MPI outlive the launcher outside, and keep its ledger until the next launch.
    script = f"{mpirun} {program}\n{TERRACE} run -- {mpirun} {program}\n{mpirun} {TERRACE} run {program}"
    job = nodes.submit(script, "-N2", "--ntasks-per-node=2", cwd=tmp_path, env=environment)
    nodes.wait_for(job)
    assert (tmp_path / f"slurm-{job}.out").read_text().replace("\n\n", "\n") == 3 * OUTPUT
    wait_until_nothing_is_left(nodes, tmp_path / "temporary")


def test_ranks_write_one_profile(nodes, mpi, tmp_path, environment):
    _, program, words = mpi
    (tmp_path / "here.toml").write_text(MACHINE)
    words = [*words, TERRACE, "run", "--machine", tmp_path / "here.toml", "-o", "ranks.terrace", program]
    nodes.run("srun", "-N2", "-n4", *words, env=environment, cwd=tmp_path)
    (profile,) = tmp_path.glob("ranks*.terrace")
    with sqlite3.connect(profile) as opened:
        rows = opened.execute("SELECT rank, ranks, host FROM run WHERE rank IS NOT NULL ORDER BY rank").fetchall()
    assert [row[:2] for row in rows] == [(rank, 4) for rank in range(4)]


def budget_lines(nodes, tmp_path, *words, options=("--gres=hbm:4000",), **environment):
    """Runs two launchers on each node, and returns their lines on the budget, sorted."""
    (tmp_path / "here.toml").write_text(MACHINE)
    command = [TERRACE, "run", "--machine", tmp_path / "here.toml", "--dry-run", *words, "sleep", "1"]
    done = nodes.run("srun", "-N2", "-n4", *options, *command, cwd=tmp_path, env=environment)
    return sorted(line for line in done.stdout.splitlines() if "budget" in line and line.startswith("note: "))


def test_budget_is_taken_from_generic_resource_and_printed_once_a_node(nodes, tmp_path):
    lines = budget_lines(nodes, tmp_path)
    assert {re.sub(r"job \d+", "job N", line) for line in lines} == {
        f"note: the budget on {node} is hbm=4000MiB, from the generic resources of Slurm job N (hbm:4000); "
        "--budget overrides it"
        for node in slurm_cluster.NODES
    }


def test_budget_in_other_units_is_taken(nodes, tmp_path):
    lines = budget_lines(nodes, tmp_path, options=["--gres=hbm:3"], TERRACE_GRES="hbm=hbm:1GiB")
    assert all("is hbm=3GiB, from" in line for line in lines) and lines


def test_stated_budget_wins(nodes, tmp_path):
    assert budget_lines(nodes, tmp_path, "--budget", "hbm=1GiB") == []
    assert budget_lines(nodes, tmp_path, "--fast", "1GiB") == []
    assert budget_lines(nodes, tmp_path, TERRACE_GRES="") == []
    assert budget_lines(nodes, tmp_path, options=[]) == []


def test_failure_of_scontrol_warns_and_the_program_runs(nodes, tmp_path):
    (tmp_path / "here.toml").write_text(MACHINE)
    (tmp_path / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "scontrol").chmod(0o755)
    path = f"{tmp_path}:{nodes.environment['PATH']}"
    words = [TERRACE, "run", "--machine", tmp_path / "here.toml", "echo", "ran"]
    done = nodes.run("srun", "-n", "1", "--gres=hbm:1", *words, cwd=tmp_path, env={"PATH": path})
    assert done.stdout == "ran\n"
    (line,) = [line for line in done.stderr.splitlines() if "Slurm" in line]
    assert re.sub(r"\d+", "N", line) == (
        "terrace: the budget of Slurm job N is not known (`scontrol show job -d N` has failed): "
        "give --budget to limit the run"
    )


@pytest.mark.parametrize("form", ["srun", "inside", "outside"])
def test_cancelled_job_leaves_nothing(nodes, mpi, form, tmp_path, environment):
    name, program, words = mpi
    command = {
        "srun": f"srun {words[0]} {TERRACE} run {program} 60",
        "inside": f"mpirun.{name} -n 4 {TERRACE} run {program} 60",
        "outside": f"{TERRACE} run -- mpirun.{name} -n 4 {program} 60",
    }[form]
    job = nodes.submit(command, "-N2", "-n4", cwd=tmp_path, env=environment)
    output = tmp_path / f"slurm-{job}.out"
    assert nodes.wait_until(lambda: output.exists() and "ranks 4" in output.read_text())
    nodes.run("scancel", job)
    nodes.wait_for(job)
    wait_until_nothing_is_left(nodes, tmp_path / "temporary")


def test_killed_job_that_ignores_sigterm_leaves_nothing(nodes, tmp_path, environment):
    job = nodes.submit(
        f'srun {TERRACE} run {sys.executable} -c "{IGNORES}"', "-N2", "-n2", cwd=tmp_path, env=environment
    )
    output = tmp_path / f"slurm-{job}.out"
    assert nodes.wait_until(lambda: output.exists() and output.read_text().count("up") == 2)
    assert any((tmp_path / "temporary").iterdir())
    nodes.run("scancel", job)
    nodes.wait_for(job)
    wait_until_nothing_is_left(nodes, tmp_path / "temporary")


EXPERIMENT = [sys.executable, "-P", "-m", "terrace", "lab", "experiment", "unimem", "--small", "--only", "mg"]


@pytest.mark.soak
def test_experiment_split_over_an_array_equals_the_whole(nodes, tmp_path):
    """The parts use the recordings and profiles of the whole run, and answer a seventh of its questions again."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    words = [*EXPERIMENT, "--source", ROOT, "-j", "2", "-o"]
    subprocess.run([*words, whole], check=True, capture_output=True, timeout=900)
    shutil.copytree(whole, parts)
    for path in (*parts.glob("*.csv"), *sorted(parts.glob("cells/**/*.json"))[::7]):
        path.unlink()
    command = " ".join(map(str, [*words, parts, "--shard", "slurm"]))
    job = nodes.submit(command, "--array=4-8:2", "--ntasks=1", "--output=part-%a", cwd=tmp_path)
    nodes.wait_for(job)
    answered = [int((tmp_path / f"part-{number}").read_text().split()[0]) for number in (4, 6, 8)]
    cells = [path.relative_to(whole) for path in whole.glob("cells/**/*.json")]
    assert sum(answered) == len(sorted(cells)[::7])
    assert sum(number > 0 for number in answered) >= 2
    done = subprocess.run([*words, parts], check=True, capture_output=True, text=True, timeout=900)
    assert done.stdout.startswith("0 cells answered now")
    for table in whole.glob("*.csv"):
        assert (parts / table.name).read_text() == table.read_text()
    assert all((parts / path).read_bytes() == (whole / path).read_bytes() for path in cells)
