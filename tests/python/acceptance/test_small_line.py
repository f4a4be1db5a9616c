"""Tests the criterion of programs that cannot gain: which output is the program's, which losses are reported."""

from __future__ import annotations

import sqlite3

from programs_lines import small


def row(name, ours, watched, wrong=()):
    seconds = {small.PLAIN: [1.0, 1.0, 1.0], small.OURS: ours, small.WATCHED: watched}
    return {"program": name, "seconds": seconds, "wrong": list(wrong), "seen": True}


def test_small_judges_each_way():
    found = [row("one", [1.0, 1.005, 9.0], [1.0, 1.02, 1.03]), row("two", [0.9, 1.0, 1.0], [1.0, 1.0, 1.0])]
    assert small.judged(found, small.OURS) == ("2 of 2 within 1%; the worst +0.5%, one", True)
    text, holds = small.judged(found, small.WATCHED)
    assert not holds
    assert text.splitlines() == ["1 of 2 within 1%; the worst +2.0%, one", "one +2.0%"]


def test_small_unmonitored_watchable_program_falls_short():
    assert set(small.WATCHABLE) < set(small.PROGRAMS)
    found = [row(name, [1.0], [1.0]) for name in small.PROGRAMS]
    assert small.not_seen(found) == []
    for one in found:
        one["seen"] = one["program"] in ("xz", "sort")
    assert small.not_seen(found) == [name for name in small.WATCHABLE if name != "xz"]


def test_small_other_output_falls_short():
    text, holds = small.judged([row("one", [1.0], [1.0], wrong=[small.WATCHED])], small.WATCHED)
    assert not holds
    assert "other output: one" in text
    assert small.judged([row("one", [1.0], [1.0], wrong=[small.WATCHED])], small.OURS)[1]


def test_own_drops_terraces_lines_only_where_monitored():
    text = b"a\nterrace: 3 iterations\nb"
    assert small._own(text, small.WATCHED) == b"a\nb"
    assert small._own(text, small.OURS) == text


def test_was_watched_reads_the_profile(tmp_path):
    profile = tmp_path / "o.terrace"
    assert not small.was_watched(profile)
    with sqlite3.connect(profile) as store:
        store.execute("CREATE TABLE note(text TEXT)")
        assert not small.was_watched(profile)
        store.execute("INSERT INTO note VALUES ('no hooks: objects are watched by clear-refs')")
    assert small.was_watched(profile)
