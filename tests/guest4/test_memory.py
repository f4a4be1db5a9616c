"""Compares placement, moves and accounting on four nodes with the kernel's page locations."""

from __future__ import annotations

import itertools
import os
import re

import pytest

pytestmark = pytest.mark.guest

MIB = 2**20
soak = pytest.mark.soak


@soak
def test_numa_balancing_leaves_placed_pages(guest):
    assert guest.status("balancing") == 0, guest.text("balancing")
    assert "SKIPPED" not in guest.text("balancing")


def test_random_stress_ends_with_equal_accounts(guest):
    """Compares ledger, journals and the kernel's pages of four processes."""
    text = guest.text("stress")
    assert guest.status("stress") == 0, text + guest.errors("stress")
    assert text.endswith("0 differences\n")
    counts = re.search(r"(\d+) objects, .* (\d+) freed; (\d+) pages touched; (\d+) chunks moved", text)
    assert counts, text
    assert all(int(count) >= 50 for count in counts.groups()), text
    by_intent = re.search(
        r"by intent: (\d+) ranges, .* (\d+) freed; (\d+) pages touched; (\d+) applied, \d+ refused", text
    )
    assert by_intent, text
    assert all(int(count) >= 50 for count in by_intent.groups()), text
    assert re.findall(r"^(\w+): .* held at the end", text, re.MULTILINE) == ["ddr0", "hbm0", "ddr1", "hbm1"]


def test_data_by_intent_fills_the_places_in_order(guest):
    """Intents of either socket, eagerly and at touch, and four processes at once, page by page."""
    assert guest.status("ordered") == 0, guest.text("ordered")
    passed = re.findall(r"^\[       OK \] (\S+)", guest.text("ordered"), re.MULTILINE)
    filled = {tuple(one.split("/")[-1].split("_", 2)) for one in passed if one.startswith("All/EveryOrdering")}
    if os.environ.get("TERRACE_SOAK"):
        intents = ("bandwidth", "latency", "capacity", "normal", "mine")
        assert filled == set(itertools.product(intents, ("cores0", "cores1"), ("at_once", "at_touch")))
        assert len(passed) >= len(filled) + 5, passed
    else:
        assert filled == {("latency", "cores1", "at_touch"), ("mine", "cores0", "at_once")}
        assert len(passed) == 3, passed
    assert "SKIPPED" not in guest.text("ordered")


# --- in a group with a memory limit ------------------------------------------------------------------------------


LIMIT = 120 * MIB


@pytest.mark.parametrize(
    "job",
    [
        "bind_1",
        "interleave_0",
        *(pytest.param(job, marks=soak) for job in ("bind_0", "preferred_1", "bind_all_1")),
    ],
)
def test_high_bandwidth_memory_is_of_nearest_socket(guest, job):
    assert guest.status(f"hbw_{job}") == 0, guest.text(f"hbw_{job}")
    assert guest.text(f"hbw_{job}").endswith("all right\n")


def test_discovery_reports_the_groups_limit(guest):
    limit = guest.json("limited_machine")["memory_limit"]
    assert (limit["limit"], limit["version"]) == (LIMIT, 2)
    assert 0 < limit["used"] < LIMIT
    assert guest.json("machine_four")["memory_limit"] is None
    assert "\nMemory limit\n  120MiB of all places together, by the control group (version 2), " in guest.text(
        "limited_said"
    )
    (check,) = [one for one in guest.json("limited_check")["checks"] if one["subject"] == "memory limit"]
    assert (check["verdict"], check["facts"]["limit"]) == ("limited", LIMIT)


def test_budgets_stay_within_the_groups_limit(guest):
    """The fast places have 80 MiB each by the command line, and 120 together by the group."""
    assert guest.status("limited_budget") == 0, guest.errors("limited_budget")
    said = (
        "terrace: the control group lets this job have 120MiB of memory: "
        "the budget is ddr0=120MiB,hbm0=60MiB,ddr1=120MiB,hbm1=60MiB\n"
    )
    assert guest.errors("limited_budget").count(said) == 1
    assert "Verification    =               SUCCESSFUL" in guest.text("limited_budget")


def test_memory_over_a_file_reports_kernel_paging_in_one_line(guest):
    assert guest.status("limited_spill") == 0
    said = [line for line in guest.errors("limited_spill").splitlines() if "out-of-core memory" in line]
    assert len(said) == 1
    assert said[0].startswith("terrace: out-of-core memory needs Linux 6.8")
    assert said[0].endswith("which is slower")
    assert "Verification SUCCESSFUL" in guest.text("limited_spill")


def test_data_by_intent_within_the_groups_limit(guest):
    assert guest.status("limited_intent") == 0, guest.errors("limited_intent")
    pages = {
        int(node): int(count) for node, count in re.findall(r"node (\d): (\d+)", guest.text("limited_intent"))
    }
    assert set(pages) <= {2, 3}, "the fast nodes"
    assert sum(pages.values()) * 4096 >= 80 * MIB


def test_the_group_lost_no_process(guest):
    events = dict(line.split() for line in (guest.folder / "limited_events.txt").read_text().splitlines())
    assert events["oom"] == events["oom_kill"] == "0"


def test_kernel_killed_no_process(guest):
    counters = dict(line.split() for line in (guest.folder / "vmstat.txt").read_text().splitlines())
    assert counters["oom_kill"] == "0"
    if os.environ.get("TERRACE_SOAK"):
        assert int(counters["numa_pages_migrated"]) > 0, "the kernel was balancing"
