"""Compares an uninstrumented program on real memory of two kinds with the kernel's account of its pages."""

from __future__ import annotations

import re
import sqlite3

import pytest
from accounts import NEAR

pytestmark = pytest.mark.guest
soak = pytest.mark.soak  # jobs of the whole suite
MIB = 256  # pages


@soak
def test_watched_program_used_data_are_in_near_memory(guest):
    """Made last, so that it did not fit; the kernel says where it is at the end, and the journal says the same."""
    assert guest.status("watched") == 0, guest.errors("watched")
    found = re.search(r"hot (\d+) cold (\d+) of (\d+) on node 0", guest.text("watched"))
    assert found, guest.text("watched")
    hot, cold, all_pages = map(int, found.groups())
    assert hot == all_pages, guest.errors("watched")
    assert cold <= (28 - 24) * MIB
    run = guest.run("watched", "watched")
    assert [note for note in run.notes if note.startswith("no hooks: objects are watched by")]
    brought = sum(move.size for move in run.moves if move.target == NEAR and not move.refused)
    assert brought > 0, "the block that is used was made last: it did not fit"


@soak
def test_watched_program_plan_is_compared_and_data_follow_verdict(guest):
    """Times of an emulated machine's iterations do not depend on memory, so the plan may or may not be undone.
    Where other load disturbs them, its gain is unknown, which a note reports."""
    assert guest.status("proved") == 0, guest.errors("proved")
    hot, all_pages = map(int, re.search(r"hot (\d+) cold \d+ of (\d+) on node 0", guest.text("proved")).groups())
    said = guest.run("proved", "watched").notes
    undone = any("the plan is undone" in note for note in said)
    with sqlite3.connect(guest.folder / "proved.terrace") as store:
        rows = store.execute("SELECT iterations_unplaced, iterations_placed, unplaced, placed, undone FROM proof")
        row = rows.fetchone()
    if row is None:
        assert any("what the plan gained is not known" in note for note in said), guest.errors("proved")
    else:
        without, planned, took_without, took, verdict = row
        assert planned > 0
        assert took > 0
        assert (min(without, took_without) > 0) or not verdict
        undone = undone or bool(verdict)
        assert ("undone, as it lost" in guest.errors("proved")) == bool(verdict)
    assert hot == (pytest.approx((28 - 24) * MIB, abs=MIB) if undone else all_pages), guest.errors("proved")
