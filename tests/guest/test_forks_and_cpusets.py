"""Tests real memory under forks, SIGKILL and cpusets."""

from __future__ import annotations

import signal

import pytest
from accounts import FAR, NEAR
from audit import check_journal, fine

pytestmark = pytest.mark.guest


def test_forked_children_during_moves_keep_data(guest):
    assert guest.status("forks") == 7, guest.errors("forks")
    assert guest.text("forks") == "sums are right\n"
    fine(check_journal(guest.samples("forks"), guest.run("forks", "victim")))


def test_run_killed_during_moves_leaves_a_profile(guest):
    assert guest.status("killed") == 128 + signal.SIGKILL
    run = guest.run("killed", "victim")
    assert run.ended is None
    assert {iteration for iteration, _ in run.phases} == {0, 1, 2}
    assert run.moves
    assert "cut" in " ".join(run.notes) or "end" in " ".join(run.notes), run.notes


def test_job_bound_to_one_node_is_not_managed(guest):
    assert guest.status("restricted") == 7, guest.errors("restricted")
    assert guest.text("restricted") == "sums are right\n"
    run, samples = guest.run("restricted", "victim"), guest.samples("restricted")
    told = [note for note in run.notes if "the system" in note]
    assert len(told) == 1, run.notes
    far = [move for move in run.moves if run.node_of[move.target] == FAR]
    assert far
    assert all(move.refused for move in far)
    for sample in samples:
        for one in run.living(run.phases.get((sample.iteration, sample.position), 0)):
            assert set(sample.nodes(one.address, one.address + one.size)) <= {NEAR}


def test_kernel_killed_no_process(guest):
    counters = dict(line.split() for line in (guest.folder / "vmstat.txt").read_text().splitlines())
    assert counters["oom_kill"] == "0"
    assert int(counters["thp_fault_alloc"]) > 0
