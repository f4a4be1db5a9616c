"""Tests the criteria of bounds and of intervals: what they count, and what puts them below target."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from strangers_lines import bounds, bounds_time, intervals

FAILED = {"failed": "a: not built"}
NAMES = [f"p{number}" for number in range(bounds.PROGRAMS)]


def kept(monkeypatch: pytest.MonkeyPatch, module: Any, parts: Mapping[str, Any]) -> None:
    monkeypatch.setattr(module, "keep_each", lambda prefix, makes: {name: parts[name] for name in makes})


# --- bounds


def never_beaten(monkeypatch: pytest.MonkeyPatch, last: dict[str, Any]) -> Any:
    """Judges as many programs as are required; `last` replaces the last one."""
    fine = {"rows": {"m, 25 %": {"best": 1.0, "sampled": 0.98, "best_of_all": 1.0, "exact": 0.99}}}
    kept(monkeypatch, bounds, dict.fromkeys(NAMES, fine) | {NAMES[-1]: last})
    monkeypatch.setattr(bounds, "programs", lambda: dict.fromkeys(NAMES))
    monkeypatch.setattr(bounds, "own_programs", lambda *, marked: Path())
    return bounds.never_beaten()


def case(best: float, sampled: float, exact: float) -> dict[str, Any]:
    return {"rows": {"m, 25 %": {"best": best, "sampled": sampled, "best_of_all": best, "exact": exact}}}


def test_bounds_below_the_best_run_and_near_the_exact_one_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = never_beaten(monkeypatch, case(1.0, 0.97, 0.999))
    assert measured.holds
    assert measured.text == "0 bounds of 40 beaten, 0 more than 3 points loose; 20 of 20 programs have a plan"


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (case(1.0, 1.25, 0.99), "p19, m, 25 %: 20.00 % faster than the sampled bound"),
        (case(1.0, 0.99, 1.25), "p19, m, 25 %: 20.00 % faster than the exact bound"),
        (case(1.0, 0.95, 0.99), "p19, m, 25 %: sampled bound 4.0 points below the exact one"),
        (FAILED, "p19: a: not built"),
    ],
    ids=["sampled", "exact", "loose", "failed"],
)
def test_bounds_beaten_loose_or_missing_fall_short(
    monkeypatch: pytest.MonkeyPatch, last: dict[str, Any], said: str
) -> None:
    measured = never_beaten(monkeypatch, last)
    assert not measured.holds
    assert said in measured.text.splitlines()


def timed(objects: int, seconds: float, with_fast: float) -> dict[str, Any]:
    return {"objects": objects, "seconds": seconds, "seconds with --fast": with_fast}


def test_time_of_bounds_few_objects_each_within_the_limit() -> None:
    found = {name: timed(40, 1.9, 1.0) for name in NAMES[:5]} | {
        "many": timed(41, 9.0, 9.0),
        "none": {"objects": 0},
    }
    measured = bounds_time.judge(found)
    assert measured.holds
    assert measured.text == "5 of 5 recordings, 1.9 s at most; not judged: 1 with no object or more than 40"


@pytest.mark.parametrize(
    "last",
    [timed(40, 2.1, 1.0), timed(40, 1.0, 2.1), timed(41, 1.0, 1.0), FAILED],
    ids=["", "fast", "few", "failed"],
)
def test_time_of_bounds_over_the_limit_or_few_programs_falls_short(last: dict[str, Any]) -> None:
    assert not bounds_time.judge({name: timed(40, 1.9, 1.0) for name in NAMES[:4]} | {"last": last}).holds


# --- intervals


def of(kind: str, true: int, count: int) -> list[dict[str, Any]]:
    """Returns so many intervals, of which so many contain the true value."""
    return [
        {"kind": kind, "where": "m", "low": 1.0, "high": 2.0, "truth": 1.5 if i < true else 2.5}
        for i in range(count)
    ]


def cover(
    monkeypatch: pytest.MonkeyPatch, public: int, own: dict[str, int], failed: int = 0, right: int = 9
) -> Any:
    """Returns public programs with 9 of 10 of each kind, and one workload with 100 of each."""
    rows = [row for kind in intervals.KINDS for row in of(kind, right, 10)]
    names = [f"p{number}" for number in range(public + failed)]
    parts: dict[str, Any] = {name: {"rows": rows} if name in names[:public] else FAILED for name in names}
    parts["own w"] = {"rows": [row for kind in intervals.KINDS for row in of(kind, own[kind], 100)]}
    kept(monkeypatch, intervals, parts)
    monkeypatch.setattr(intervals, "read_all", lambda: dict.fromkeys(names))
    monkeypatch.setattr(intervals, "every_workload", lambda size: {"w": []})
    monkeypatch.setattr(intervals, "programs", lambda *, marked: Path())
    return intervals.cover()


def test_intervals_are_judged_by_kind_over_all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = cover(monkeypatch, 20, {"time": 90, "regret": 96, "objects": 84})
    assert measured.holds
    assert measured.text.splitlines() == [
        "all: time 90.0% of 300, regret 92.0% of 300, objects 88.0% of 300",
        "public programs: time 90.0% of 200, regret 90.0% of 200, objects 90.0% of 200",
        "own workloads: time 90.0% of 100, regret 96.0% of 100, objects 84.0% of 100",
    ]
    assert measured.rows[0] == {"program": "p0", "time": "9 of 10", "regret": "9 of 10", "objects": "9 of 10"}


@pytest.mark.parametrize(
    ("public", "own"),
    [
        (20, {"time": 90, "regret": 90, "objects": 70}),
        (20, {"time": 60, "regret": 90, "objects": 90}),
        (19, {"time": 90, "regret": 90, "objects": 90}),
    ],
    ids=["objects", "time", "few programs"],
)
def test_intervals_of_a_kind_or_programs_too_few_fall_short(
    monkeypatch: pytest.MonkeyPatch, public: int, own: dict[str, int]
) -> None:
    measured = cover(monkeypatch, public, own, failed=1)
    assert not measured.holds
    assert measured.text.splitlines()[-1].endswith("a: not built")


def test_intervals_that_hold_too_often_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not cover(monkeypatch, 20, dict.fromkeys(intervals.KINDS, 100), right=10).holds


def test_intervals_hold_but_for_rounding() -> None:
    row = {"kind": "time", "low": 1.0, "high": 2.0, "truth": 2.0 * (1 + 1e-10)}
    assert intervals.held(row)
    assert not intervals.held(row | {"truth": 2.0 * (1 + 1e-8)})
