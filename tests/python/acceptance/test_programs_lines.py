"""The acceptance of unmodified programs: what counts as the same output, and what has to be installed."""

from __future__ import annotations

import harness
import pytest
from programs_lines import cases, cost, filters, needed, over_file

LMP = """Step Temp E_pair
       0         1.44   -6.7733681
Loop time of {time} on 1 procs for 15 steps with 364500 atoms
{share}% CPU use with 1 MPI tasks x 1 OpenMP threads
Pair    | {time}     | 1.7343     | 1.7343     |   0.0 | 94.70
  create_atoms CPU = {time} seconds
Nlocal:        364500.0 ave      364500 max      364500 min
Total wall time: 0:00:0{digit}"""

HPCC = """||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0084552 ...... PASSED
Found {errors} errors in 1048576 locations (passed).
StarDGEMM_Gflops={speed}
PTRANS_residual={errors}
CPU time used = {speed} seconds"""

PYTHON = """0:00:0{n} load avg: {n}.15 [1/2] test_os
0:00:0{n} load avg: {n}.95 [2/2] test_re -- test_os passed in 1{n}.2 sec
All 2 tests {word}.
Total duration: {n} min 12 sec"""


def test_filtered_removes_times():
    one, other = (
        filters.filtered("lmp", LMP.format(time=t, share=s, digit=d))
        for t, s, d in ((1.8, 59.6, 2), (2.25, 99, 3))
    )
    assert one == other
    assert "Nlocal" in one
    assert filters.filtered("hpcc", HPCC.format(errors=0, speed=6.5)) == filters.filtered(
        "hpcc", HPCC.format(errors=0, speed=7)
    )
    assert filters.filtered("python", PYTHON.format(n=1, word="OK")) == filters.filtered(
        "python", PYTHON.format(n=2, word="OK")
    )


@pytest.mark.parametrize(
    ("kind", "text", "changed"),
    [
        ("lmp", LMP.format(time=1, share=1, digit=1), ("-6.7733681", "-6.7733682")),
        ("hpcc", HPCC.format(errors=0, speed=1), ("Found 0", "Found 1")),
        ("hpcc", HPCC.format(errors=0, speed=1), ("PASSED", "FAILED")),
        ("hpcc", HPCC.format(errors=0, speed=1), ("residual=0", "residual=1")),
        ("python", PYTHON.format(n=1, word="OK"), ("OK", "failed")),
        ("stress-ng", "stress-ng: info: [12] failed: 0: skipped: 0", ("failed: 0", "failed: 1")),
        ("sqlite3", "847058|4223511", ("4223511", "4223512")),
        ("unknown", "0.5 seconds", ("0.5", "0.6")),
    ],
)
def test_filtered_keeps_results(kind, text, changed):
    assert filters.filtered(kind, text) != filters.filtered(kind, text.replace(*changed))


def test_packages_list_every_command():
    listed = needed.packages()
    assert {name for case in cases.CASES for name in case.needs} <= set(listed)
    with pytest.raises(KeyError):
        needed.require(["no-such-program-anywhere"])
    with pytest.raises(needed.Unavailable, match="apt-get install package-of-it"):
        _require_from({"no-such-program-anywhere": "package-of-it"})


def _require_from(listed):
    before = needed.packages
    needed.packages = lambda: listed
    try:
        needed.require(listed)
    finally:
        needed.packages = before


def test_new_case_is_one_new_file(monkeypatch, tmp_path):
    """Those with an order come first; a file without criteria is not imported."""
    folder = tmp_path / "acceptance" / "some_lines"
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("raise ImportError\n")
    for name in "abc":
        (folder / f"{name}.py").write_text(f"CRITERIA = ['{name}1', '{name}2']\n")
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "acceptance")
    assert harness.criteria_in("some_lines", ("b",)) == ["b1", "b2", "a1", "a2", "c1", "c2"]
    with pytest.raises(LookupError, match="no criteria of gone"):
        harness.criteria_in("some_lines", ("gone",))


def row(plain, ours, *, wrong=()):
    """Returns the row of a program whose runs took so long."""
    seconds = {cost.PLAIN: plain, cost.OURS: ours, cost.OFF: plain}
    return {
        "program": "one",
        "is_timed": True,
        "ended": "status 0",
        "seconds": seconds,
        "cpu": seconds,
        "peak": {way: [1 << 30] for way in cost.WAYS},
        "wrong": list(wrong),
        "said": [],
        "left": [],
    }


@pytest.mark.parametrize(("ours", "holds"), [([1.0, 1.02, 9.0], True), ([1.0, 1.04, 1.05], False)])
def test_time_takes_the_median(ours, holds, monkeypatch):
    monkeypatch.setattr(cost, "rows", lambda: [row([1.0, 1.0, 1.0], ours)])
    assert cost._time(cost.OURS).holds is holds


def test_same_output_other_output_falls_short(monkeypatch):
    monkeypatch.setattr(cost, "rows", lambda: [row([1.0], [1.0], wrong=["terrace: 'a' became 'b'"])])
    assert not cost.same_output(cost.rows(), cost.OURS).holds
    assert cost.same_output(cost.rows(), cost.OFF).holds


def test_memory_above_limit_falls_short(monkeypatch):
    much = row([1.0], [1.0])
    much["peak"][cost.OURS] = [(1 << 30) + (1 << 30) // 20 + (65 << 20)]
    monkeypatch.setattr(cost, "rows", lambda: [much])
    assert not cost._memory().holds


def test_level_killed_run_falls_short(monkeypatch):
    each = {
        "program": "one",
        "peak": 1 << 30,
        "memory": 1 << 29,
        "in_memory": 1.0,
        "seconds": {way: [2.0] for way in over_file.WAYS},
        "wrong": ["terrace: status -9"],
    }
    monkeypatch.setattr(over_file, "rows", lambda: [each])
    assert not over_file._level().holds
    assert not over_file._same().holds
    each["wrong"] = []
    assert over_file._level().holds
    each["seconds"][over_file.SWAP] = [1.9]
    assert not over_file._level().holds


def cost_row(**changed):
    ways = {way: [1.0] for way in cost.WAYS}
    return {"program": "one", "seconds": ways, "wrong": [], "said": [], "left": [], **changed}


@pytest.mark.parametrize("what", ["wrong", "said", "left"])
def test_same_output_lines_or_files_of_terrace_fall_short(what):
    assert cost.same_output([cost_row()], cost.OURS).holds
    assert cost.same_output([cost_row(**{what: ["off: that"]})], cost.OURS).holds
    found = cost.same_output([cost_row(**{what: ["terrace: that"]})], cost.OURS)
    assert not found.holds
    assert "one: terrace: that" in found.text


def test_other_files_compares_with_plain_runs(tmp_path):
    for name in ("data/0000A1", "data/17", "kept"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    usual = [cost.files_of(tmp_path)]
    (tmp_path / "data/0000A2").touch()
    assert cost.other_files(usual, cost.files_of(tmp_path)) == []
    (tmp_path / "program.terrace").touch()
    assert cost.other_files(usual, cost.files_of(tmp_path)) == ["leaves program.terrace"]
    (tmp_path / "kept").unlink()
    assert cost.other_files(usual, cost.files_of(tmp_path)) == ["leaves program.terrace", "lacks kept"]
    assert cost.other_files([*usual, {"data"}], {"data"}) == []
