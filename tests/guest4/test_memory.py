"""Real memory of four nodes: what Terrace placed, moved and counted against what the kernel says."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.guest


def test_what_was_placed_stays_with_numa_balancing(guest):
    assert guest.status("balancing") == 0, guest.text("balancing")
    assert "SKIPPED" not in guest.text("balancing")


def test_random_stress_ends_with_equal_accounts(guest):
    """Four processes, the ledger's account, the kernel's of each page and of each node."""
    text = guest.text("stress")
    assert guest.status("stress") == 0, text + guest.errors("stress")
    assert text.endswith("0 differences\n")
    counts = re.search(r"(\d+) objects, .* (\d+) freed; (\d+) pages touched; (\d+) chunks moved", text)
    assert counts, text
    assert all(int(count) >= 50 for count in counts.groups()), text
    assert re.findall(r"^(\w+): .* held at the end", text, re.MULTILINE) == ["ddr0", "hbm0", "ddr1", "hbm1"]


def test_nothing_was_killed_for_want_of_memory(guest):
    counters = dict(line.split() for line in (guest.folder / "vmstat.txt").read_text().splitlines())
    assert counters["oom_kill"] == "0"
    assert int(counters["numa_pages_migrated"]) > 0, "the kernel was balancing"
