# SPDX-License-Identifier: Apache-2.0
"""Tests the Slurm cluster of tests/support/slurm_cluster.py, and programs under Terrace in its jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))

import slurm_cluster


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
