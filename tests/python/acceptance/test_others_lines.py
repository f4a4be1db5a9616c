"""Tests the criteria of unannotated public programs."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from others_lines import gaps, other_loops, programs, wrong_loops
from others_tool.loops import MainLoop, are_alike
from others_tool.profiles import Profile, TakenLoop
from others_tool.recipe import read_all

FAILED = {"failed": "a: not built"}
WORKLOADS = {f"w{number}": list[str]() for number in range(4)}


def own(monkeypatch: pytest.MonkeyPatch, *cases: dict[str, wrong_loops.Behind]) -> wrong_loops.Measured:
    """Returns the criterion's result for workloads with such cases, as many as WORKLOADS."""
    rows = {f"wrong-{name}": case for name, case in zip(WORKLOADS, cases, strict=True)}
    monkeypatch.setattr(wrong_loops, "every_workload", lambda size: WORKLOADS)
    monkeypatch.setattr(wrong_loops, "keep_part", lambda name, make: rows[name])
    return wrong_loops.own_workloads()


FINE: dict[str, wrong_loops.Behind] = {"found": {"latency": (-3.0, ["run:3"], 9)}}
INNER: dict[str, wrong_loops.Behind] = {
    **FINE,
    "inner step<A, b>:9": {"latency": (1.0, ["step<A, b>:9", "run:3"], 5)},
}
NEVER: dict[str, wrong_loops.Behind] = {**FINE, "set-up fill:9": {"latency": (1.0, ["run:3"], 5)}}
IDLE: dict[str, wrong_loops.Behind] = {**FINE, "set-up fill:9": {"latency": (0.0, ["fill:9"], 0)}}


def test_wrong_loops_count_where_they_are_taken_and_move_data(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = own(monkeypatch, FINE, INNER, INNER, NEVER)
    assert measured.holds
    assert measured.text.splitlines() == [
        "7 of 7 cases, +1.0 % at most; in 2 of them, of 2 of 4 workloads, a wrong loop is taken "
        "and data is moved for it",
        "nothing is moved: w3, set-up fill:9 (latency)",
        "no wrong loop moves data in w0, w3",
    ]


def test_wrong_loops_fall_short_where_few_workloads_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not own(monkeypatch, FINE, INNER, NEVER, NEVER).holds
    assert not own(monkeypatch, FINE, INNER, IDLE, IDLE).holds


def test_wrong_loops_fall_short_where_one_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slow: dict[str, wrong_loops.Behind] = {**FINE, "set-up fill:9": {"latency": (2.1, ["fill:9"], 1)}}
    measured = own(monkeypatch, INNER, INNER, INNER, slow)
    assert not measured.holds
    assert "w3, set-up fill:9 (latency): +2.1 %" in measured.text.splitlines()


@pytest.mark.parametrize(
    ("rows", "holds"),
    [([1.0] * 20, True), ([1.0] * 19, False), ([1.0] * 20 + [2.1], False), ([], False)],
    ids=["twenty", "few", "one that costs more", "none"],
)
def test_wrong_loops_of_public_programs(monkeypatch: pytest.MonkeyPatch, rows: list[float], holds: bool) -> None:
    placed: dict[str, Any] = {f"p{n}": {"behind": behind, "takes_a_loop": True} for n, behind in enumerate(rows)}
    monkeypatch.setattr(wrong_loops, "placements", lambda: {**placed, "bad": FAILED})
    measured = wrong_loops.public_programs()
    assert measured.holds == holds
    assert "bad: a: not built" in measured.text.splitlines()


# --- which loops are wrong ones ----------------------------------------------------------------------------------


def profile(file: Path) -> Profile:
    """Writes the profile of a run with set-up in `fill`, and three iterations of `run:3` from second 2 to second
    8, the first of which ran before it was recognised."""
    with sqlite3.connect(file) as store:
        store.executescript(
            """
            CREATE TABLE counters (run, accesses);
            CREATE TABLE loop (run, name, begun, ended, iterations, turns_before, why);
            CREATE VIEW main_loop AS SELECT * FROM loop WHERE name = 'run:3';
            CREATE TABLE phase_instance (run, name, begun, ended);
            CREATE TABLE object (run, name, kind, size);
            INSERT INTO counters VALUES (1, 10);
            INSERT INTO loop VALUES (1, 'run:3', 4, 8, 2, 1, ''), (1, 'sort:5', 1, 1.5, 2, 2, '');
            INSERT INTO loop VALUES (1, 'sort:5', 1.6, 1.7, 2, 2, ''), (1, 'cut:9', 9, NULL, NULL, 2, '');
            INSERT INTO phase_instance VALUES (1, 'step#2', 4, 5), (1, 'step', 5, 8), (1, 'sum:7', 5, 6);
            INSERT INTO object VALUES (1, 'fill<a, b> a.cpp:3#2', 'heap', 8), (1, 'tops', 'fixed', 16);
            """
        )
    return Profile(file)


def test_names_of_loops_lists_candidates(tmp_path: Path) -> None:
    of = profile(tmp_path / "a.terrace")
    assert of.names_of_loops() == ["run:3", "sort:5", "cut:9", "step", "sum:7", "fill<a, b>"]
    assert (of.first_turn(), of.last_turn()) == (2, 8)
    assert [one for one in of.taken() if one.name == "sort:5"] == [
        TakenLoop("sort:5", pytest.approx(0.6), 1.6, 1.7)
    ]


def test_others_takes_the_longest_of_each_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {
        "sort:5": [TakenLoop("sort:5", 0.6, 1.6, 1.7)],
        "step": [TakenLoop("step:2", 2.0, 7.0, 7.9), TakenLoop("run:3", 4.0, 4.0, 8.0)],
        "sum:7": [TakenLoop("sum:7", 1.0, 3.0, 4.0)],
        "cut:9": [TakenLoop("cut:9", 9.0, 8.5, 17.5)],  # neither: it begins after the main loop
        "fill<a, b>": [TakenLoop("fill<a, b>:1", 0.7, 0.2, 0.9)],
    }

    class Recording(other_loops.Recording):
        def taken(self, file: Path, loop: str) -> list[TakenLoop]:
            return taken.get(loop, [])

    file = tmp_path / "a.terrace"
    cases = other_loops.others(Recording([], []), profile(file), file)
    assert cases == {"inner": "step:2", "set-up": "fill<a, b>:1"}


# --- loops of public programs ------------------------------------------------------------------------------------


def costs(monkeypatch: pytest.MonkeyPatch, rows: dict[str, dict[str, Any]]) -> None:
    recipes = read_all()
    monkeypatch.setattr(programs, "rows", lambda: {name: (recipes[name], row) for name, row in rows.items()})


def cost(name: str = "", turns: int = 0, misses: float | None = 0.9, time: float | None = 0.9) -> dict[str, Any]:
    loop = {"name": name, "why": "", "turns": turns}
    return {"loop": loop, "miss_share": misses, "time_share": time, "misses": 10**6, "compares": True}


def test_loops_found_where_none_is_stated_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    costs(monkeypatch, {"blas": cost("dchk1_:300", 7), "lua": cost(), "mrbayes": cost("RunChain:16736", 5000)})
    first, *rest = programs.loops().text.splitlines()
    assert first == "1 of 1 that have one; one is reported in 1 of 2 that have none"
    assert rest == ["blas: dchk1_:300, 7 turns; it has none"]


@pytest.mark.parametrize(
    ("others", "holds"),
    [
        ({}, True),
        ({"lua": cost("f:1", 9, 0.4, 0.9)}, False),
        ({"lua": cost("f:1", 9, 0.5, 0.4)}, True),
        ({"lua": {**cost("f:1", 9, 0.1, 0.5), "misses": 9_999}}, True),  # which says nothing
    ],
)
def test_none_small_judges_the_share_of_the_loop(
    monkeypatch: pytest.MonkeyPatch, others: dict[str, Any], holds: bool
) -> None:
    names = [name for name in read_all() if name not in others][: 20 - len(others)]
    costs(monkeypatch, {**{name: cost("g:2", 9) for name in names}, **others})
    assert programs.none_small().holds == holds


def test_none_small_few_programs_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(read_all())[:20]
    costs(monkeypatch, {name: cost("g:2", 9) for name in names[:-1]} | {names[-1]: FAILED})
    measured = programs.none_small()
    assert not measured.holds
    assert measured.text.splitlines() == ["0 of 19 are", f"{names[-1]}: a: not built"]


def test_builds_changed_recipes_do_not_count_as_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    built = {name: {"native": 1.0, "hooked": 1.0} for name in read_all()}
    for name in ("jpeg", "mrbayes"):  # which build unchanged, too
        built[name]["unchanged"] = 1.0
    monkeypatch.setattr(programs, "of_recipes", lambda prefix, measure: built)
    recipes = read_all()
    changed = [name for name, recipe in recipes.items() if recipe.why]
    first, *rest = programs.builds().text.splitlines()
    assert first == f"{len(recipes) - len(changed) + 2} of {len(recipes)} programs"
    assert [line.partition(":")[0] for line in rest] == changed
    assert {"acoustic77", "acoustic90", "auto", "jpeg", "minisat", "mrbayes"} <= set(changed)


@pytest.mark.parametrize(
    ("of_run", "alike"), [(("f:1", 102), True), (("f:1", 97), False), (("f:2", 100), False), (("", 0), False)]
)
def test_are_alike_requires_as_many_iterations(of_run: tuple[str, int], alike: bool) -> None:
    assert are_alike(MainLoop("f:1", "", 100), MainLoop(of_run[0], "", of_run[1])) == alike


# --- gaps ------------------------------------------------------------------------------------------------------


def test_gaps_do_not_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"marked": {"latency": 0.10, "bandwidth": 0.10}, "found": {"latency": 0.13, "bandwidth": 0.07}}
    monkeypatch.setattr(gaps, "every_workload", lambda size: {"w": []})
    monkeypatch.setattr(gaps, "keep_part", lambda name, make: both)
    measured = gaps.gaps_are_alike()
    assert measured.holds
    assert measured.text == "+0.00 points on average over 2 cases (3.00 without their signs), +3.00 at most"
