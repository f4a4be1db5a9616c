"""Tests the criterion of live runs against first touch: groups of machines, verdicts on synthetic rows."""

import tomllib

import pytest
from harness import ROOT
from strangers_lines import live

Row = live.Row


def row(live_time: float, first: float = 1.5, over_bound: float = 1.02) -> Row:
    priced = {
        "seconds": {"slow": 2.0, "fast": 1.0}
        | {
            f"{share}-{way}": time
            for share in live.SHARES
            for way, time in {"first": first, "live": live_time, "planned": 1.2}.items()
        },
        "over bound": {str(share): over_bound for share in live.SHARES},
    }
    (one, *_) = live._rows("cg", "two", priced)
    return one


def test_two_kinds_each_machine_once_with_the_caches_of_its_group() -> None:
    names = [name for group in live.two_kinds() for name in group.names]
    kinds = {path.stem: tomllib.loads(path.read_text()) for path in (ROOT / "machines").glob("*.toml")}
    assert sorted(names) == sorted(name for name, machine in kinds.items() if len(machine["place"]) == 2)
    for group in live.two_kinds():
        levels = {
            tuple(cache["name"] for one in kinds[name]["initiator"] for cache in one.get("cache", []))
            for name in group.names
        }
        assert len(levels) == 1


def measured(monkeypatch: pytest.MonkeyPatch, rows: list[Row]) -> tuple[bool, bool, bool]:
    monkeypatch.setattr(live, "_table", lambda whole: (rows, []))
    return live.never_behind().holds, live.share_of_gain().holds, live.near_the_bound().holds


def test_lines_live_level_with_planned_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1.2) | {"program": f"program {i}"} for i in range(live.PROGRAMS)]
    assert measured(monkeypatch, rows) == (True, True, True)


def test_lines_live_behind_first_touch_or_short_of_planned_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1.2) | {"program": f"program {i}"} for i in range(live.PROGRAMS)]
    assert measured(monkeypatch, [*rows, row(1.52)]) == (False, True, True)
    slow = [row(1.5) | {"program": f"program {i}"} for i in range(live.PROGRAMS)]
    assert measured(monkeypatch, slow) == (True, False, True)  # 0.5 of 0.8


def test_lines_planned_far_from_its_bound_falls_short(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1.2) | {"program": f"program {i}"} for i in range(live.PROGRAMS)]
    assert measured(monkeypatch, [*rows, row(1.2, over_bound=1.13)]) == (True, True, False)
    assert measured(monkeypatch, [one | {"planned over its bound": 1.05} for one in rows]) == (True, True, False)


def test_gain_shares_capped_and_only_where_the_plan_gains() -> None:
    assert live.gain_shares([row(1.0)], "slow-only") == [1.0]
    assert live.gain_shares([row(2.1)], "slow-only") == [0.01]
    assert live.gain_shares([row(1.2) | {"planned": 1.99}], "slow-only") == []
