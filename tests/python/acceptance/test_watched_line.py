"""Tests the criterion of watched programs: what puts it below target though output and time are equal."""

from __future__ import annotations

import pytest
from programs_lines import cases, cost, watched

ONE = "able"


def row(seen=3, moves=(0, 5, 9), peak=1 << 30):
    ways = (watched.PLAIN, watched.WATCHED, watched.PLACED)
    return {
        "program": ONE,
        "seconds": dict.fromkeys(ways, [1.0] * 3),
        "cpu": dict.fromkeys(ways, [1.0] * 3),
        "peak": {way: [1 << 30 if way == watched.PLAIN else peak] for way in ways},
        "watched": {way: [number < seen for number in range(3)] for way in ways},
        "moves": {way: list(moves) for way in ways},
    }


def test_programs_that_can_be_watched_are_measured():
    measured = {case.name for case in cases.CASES if case.is_timed and case.name not in watched._NOT}
    assert set(watched.MOVABLE) <= set(watched.WATCHABLE) < measured


@pytest.fixture
def able(monkeypatch):
    monkeypatch.setattr(watched, "WATCHABLE", (ONE,))
    monkeypatch.setattr(watched, "MOVABLE", (ONE,))


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("way", [watched.WATCHED, watched.PLACED])
def test_watched_unmonitored_program_falls_short(monkeypatch, way):
    monkeypatch.setattr(watched, "rows", lambda: [row()])
    assert watched._time(way).holds
    monkeypatch.setattr(watched, "rows", lambda: [row(seen=2)])
    found = watched._time(way)
    assert not found.holds
    assert f"{ONE}: watched in 2 of 3 runs" in found.text


@pytest.mark.usefixtures("able")
def test_watched_unmoved_program_falls_short(monkeypatch):
    monkeypatch.setattr(watched, "rows", lambda: [row(moves=(0, 0, 9))])
    assert watched._time(watched.WATCHED).holds
    found = watched._time(watched.PLACED)
    assert not found.holds
    assert f"{ONE}: nothing was moved" in found.text


def test_watched_judges_memory_in_each_way():
    much = row(peak=(1 << 30) + (1 << 30) // 20 + (65 << 20))
    assert cost.memory([row()], watched.PLACED).holds
    assert not cost.memory([much], watched.PLACED).holds
