"""Tests the criteria of real memory on synthetic runs: comparisons and verdicts."""

import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from memory_lines import faults, left, limits, over_file, study, ways
from memory_lines.disks import DiskBytes, device_of, moved
from memory_lines.faults import Fault, FaultOutcome
from memory_lines.limits import Run
from memory_lines.ways import KILLED, MIB, OTHER_RESULTS, OURS, STOPPED, TrialResult

DISK = "as it is"
TURN = {
    "seconds": 10.0,
    "predicted_s": 8.0,
    "measured_s": 8.0,
    "read": 1000 * MIB,
    "kernel_read": 1010 * MIB,
    "written": 500 * MIB,
    "kernel_written": 520 * MIB,
}


def row(**changes: Any) -> dict[str, Any]:
    """Returns a case without failures: rivals take 30 times as long."""
    return {
        "program": "cg",
        "threads": 1,
        "ratio": 2,
        "disk": DISK,
        "memory": 100 * MIB,
        "peak": 90 * MIB,
        "in_memory_s": 9.0,
        "bound_s": 9.5,
        "disk_s": 5.0,
        "least_read": 100,
        "least_written": 50,
        "read": 120,
        "written": 60,
        "simulated_read": 118,
        "simulated_written": 61,
        "kernel_read": 121,
        "kernel_written": 61,
        "turns": [TURN] * 3,
        "speed": {"read": 1e9, "write": 2e9, "both": 1.5e9},
        "tried": {way: [{"counts": 300.0, "read": 3 * MIB, "written": None}] for way in ways.WAYS},
        "wrong": [],
        "seconds": dict.fromkeys(ways.WAYS, 300.0) | {"terrace": 10.0},
        "failed": dict.fromkeys(ways.WAYS, ""),
        **changes,
    }


def without(way: str, why: str, time: float | None = None, **changes: Any) -> dict[str, Any]:
    fine = row(**changes)
    return {**fine, "seconds": fine["seconds"] | {way: time}, "failed": fine["failed"] | {way: why}}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the study's rows."""

    def give(*rows: dict[str, Any]) -> None:
        monkeypatch.setattr(study, "rows", lambda disk: list(rows))

    return give


def test_memory_criteria_good_rows_hold(given: Any) -> None:
    given(row(), row(ratio=4))
    assert over_file.compared(study.rows(DISK), over_file.SWAP, 10).ratios.keys() == {"cg x1 2x", "cg x1 4x"}
    assert over_file.against_mapping(DISK).holds
    assert over_file.never_slower(DISK).holds
    assert over_file.near_bound(DISK).holds
    assert over_file.same_bytes(DISK).holds
    assert over_file.well_predicted(DISK).holds
    assert over_file.simulated(DISK).holds


@pytest.mark.parametrize("way", ways.WAYS[1:])
def test_memory_criteria_failed_rival_is_not_compared(given: Any, way: str) -> None:
    given(row(), without(way, "status 139", program="mg"), row(ratio=4))
    slower = over_file.never_slower(DISK)
    assert not slower.holds
    assert f"over 2 of 3 cases; not compared: mg x1 2x: {way}: status 139" in slower.text
    assert over_file.against_mapping(DISK).holds == (way == "swap")


def test_memory_criteria_nothing_to_compare_falls_short(given: Any) -> None:
    given(*(without("mapping", "status 1", ratio=ratio) for ratio in (2, 4)))
    measured = over_file.against_mapping(DISK)
    assert not measured.holds
    assert measured.text.count("nothing compared, over 0 of 1 cases; not compared: cg") == 2
    given(row())  # none at 4x
    assert not over_file.against_mapping(DISK).holds


def test_memory_criteria_always_killed_rival_counts_as_goal(given: Any) -> None:
    given(without("swap", KILLED), row(program="mg"))
    found = over_file.compared(study.rows(DISK), over_file.SWAP, 10)
    assert found.holds
    assert found.ratios == {"cg x1 2x": 10, "mg x1 2x": 30}
    assert "in 1 the kernel killed the rival" in found.over()
    assert found.over().endswith("which counts as 10: without them 30.00")
    given(without("swap", KILLED), row(program="mg", seconds=dict.fromkeys(ways.WAYS, 90.0) | {OURS: 10.0}))
    assert not over_file.against_swap(DISK).holds
    given(without("swap", KILLED))  # nothing is left
    assert not over_file.against_swap(DISK).holds
    given(without("swap", f"{KILLED}, status 1"))  # it went wrong, too
    assert "not compared: cg x1 2x: swap: killed, status 1" in over_file.against_swap(DISK).text


def test_memory_criteria_one_killed_mapping_leaves_the_other(given: Any) -> None:
    given(without("mapping", KILLED), row(ratio=4))
    assert over_file.compared(study.rows(DISK), ways.MAPPINGS, 2).ratios["cg x1 2x"] == 30
    assert over_file.never_slower(DISK).holds
    given(without(OURS, KILLED), row(ratio=4))
    assert not over_file.against_mapping(DISK).holds


def test_memory_criteria_stopped_rival_counts_as_long_as_it_ran(given: Any) -> None:
    given(without("swap", STOPPED, 150.0))
    measured = over_file.against_swap(DISK)
    assert measured.text.startswith("15.00 times as fast")
    assert "1 times a rival was stopped" in measured.text


def test_same_bytes_other_kernel_count_falls_short(given: Any) -> None:
    given(row(turns=[TURN, TURN, {**TURN, "kernel_read": 1165 * MIB}]))
    measured = over_file.same_bytes(DISK)
    assert not measured.holds
    assert "3 turns, 1 times apart" in measured.text
    assert "read 1000 MiB, by the kernel 1165" in measured.text
    given(row(turns=[{**TURN, "kernel_written": 400 * MIB}]))
    assert over_file.same_bytes(DISK).holds  # by 100 MiB, which is a tenth and 64 MiB at most
    given(row(turns=[{**TURN, "kernel_written": None}]))
    measured = over_file.same_bytes(DISK)
    assert not measured.holds
    assert measured.rows[0]["disk_read_mb_s"] == "1000"
    assert (measured.rows[0]["swap_read_mib"], measured.rows[0]["swap_written_mib"]) == ("3", "")


def test_near_bound_fewer_than_least_bytes_falls_short(given: Any) -> None:
    given(row(), row(program="mg", written=49))
    measured = over_file.near_bound(DISK)
    assert not measured.holds
    assert measured.text.startswith("1 of 2 within")
    assert "less than any schedule moves: mg x1 2x: written" in measured.text


def test_well_predicted_errors_do_not_cancel(given: Any) -> None:
    given(row(turns=[{**TURN, "predicted_s": 8 * share} for share in (1.3, 0.7, 1.0)]))
    measured = over_file.well_predicted(DISK)
    assert not measured.holds
    assert "median absolute error of a turn 30%" in measured.text
    given(row(turns=[TURN, TURN, {**TURN, "seconds": 20.0}]))
    assert not over_file.well_predicted(DISK).holds  # of one turn less than half


def test_simulated_reads_are_compared_with_the_real_run(given: Any) -> None:
    given(row(simulated_read=160), row(threads=2, simulated_read=1000))
    measured = over_file.simulated(DISK)
    assert not measured.holds
    assert measured.text.startswith("0 of 1 cases within 25%; worst cg x1 2x, +33%")


def test_judged_time_by_outcome() -> None:
    def judged(way: str, status: int | None, is_right: bool = True, killed: bool = False) -> TrialResult:
        return ways.judged(way, Run(status, "", 7.0, 0, killed, DiskBytes(5, 6)), 150.0, is_right)

    assert judged("swap", 0) == TrialResult(7, "", 7, 5, 6)
    assert judged("swap", 0, is_right=False) == TrialResult(7, OTHER_RESULTS, None, 5, 6)
    assert judged("swap", -9, killed=True) == TrialResult(7, KILLED, None, 5, 6)
    assert judged("swap", -9) == TrialResult(7, "status -9", None, 5, 6)
    assert judged("swap", None) == TrialResult(7, STOPPED, 150, 5, 6)
    assert judged(OURS, -9, killed=True).counts is None
    assert judged(OURS, None) == TrialResult(7, STOPPED, None, 5, 6)
    assert ways.judged("swap", Run(0, "", 7.0, 0), 150.0, True).read is None


def test_same_ignores_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "workloads", lambda: {"cg": Namespace(time_lines="^Time ")})
    assert study._same("cg", "a\nTime 9 s\nterrace: b\nDigest 1\n") == "a\nDigest 1"
    assert study._same("cg", "a\n1 second\nDigest 1\n") != "a\nDigest 1"


def test_counted_takes_the_median_of_valid_runs() -> None:
    killed, wrong = TrialResult(1, KILLED), TrialResult(1, "status 1")
    nine, eight = TrialResult(9, counts=9.0), TrialResult(8, counts=8.0)
    assert ways.counted("swap", [killed, nine, killed]) == 9
    assert ways.counted("swap", [nine, killed, eight]) == 8
    assert ways.counted("swap", [killed] * 3) is None
    assert ways.counted("swap", [nine, wrong, eight]) is None
    assert ways.counted(OURS, [nine, killed, eight]) is None
    assert ways.counted(OURS, [nine, eight]) == 9
    assert ways.reasons([killed, nine, wrong, killed]) == "killed, status 1"


def test_is_run_again_only_if_results_can_change() -> None:
    def again(way: str, **first: float | str) -> bool:
        runs = {"terrace": 10.0, "swap": 200.0, "mapping": 20.0, "sequential": 20.0, **first}
        tried = {
            "mapping, sequential" if name == "sequential" else name: [
                TrialResult(1, time) if isinstance(time, str) else TrialResult(time, counts=time)
            ]
            for name, time in runs.items()
        }
        return ways.is_run_again(way, tried)

    plain, sequential = ways.MAPPINGS
    assert again(OURS)
    assert not again("swap")
    assert again("swap", swap=25.0)
    assert again("swap", swap=KILLED)  # it may end the next time
    assert again("swap", swap="status 1")
    assert again(plain)
    assert again(plain, mapping=25.9)
    assert not again(plain, mapping=26.1)
    assert again(sequential, mapping=26.1)
    assert not again(sequential, mapping=10.0)
    assert again(sequential, mapping=KILLED)
    assert again(plain, mapping=KILLED)
    assert not again(plain, mapping=31.0, sequential=31.0)  # far behind


def test_reached_takes_the_best_of_valid_runs() -> None:
    runs = [
        TrialResult(2, "", 2, 8, 4),
        TrialResult(1, STOPPED, 150, 3, 5),
        TrialResult(1),
        TrialResult(0.1, "status 2", None, 9, 9),
    ]
    assert ways.reached(runs) == {"read": 4, "write": 5, "both": 8}


def test_run_limited_counts_the_disks_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stat").write_text("  1 0 16 3 2 0 32 4 0 5 6\n")
    assert moved(tmp_path) == DiskBytes(16 * 512, 32 * 512)
    assert DiskBytes(9, 8).since(DiskBytes(2, 3)) == DiskBytes(7, 5)
    assert device_of(Path("/proc")) is None
    monkeypatch.setattr(limits, "device_of", lambda folder: None)
    with pytest.raises(limits.Unavailable):
        limits._disk_of(tmp_path)


def test_fault_is_told_by_exactly_its_lines() -> None:
    fault = Fault(lambda: FaultOutcome(0, "", (), ()), ("cannot be read",), also="cannot be written")
    assert fault.is_told_by(["terrace: it cannot be read"])
    assert fault.is_told_by(["terrace: it cannot be written", "terrace: it cannot be read"])
    assert not fault.is_told_by(["terrace: it cannot be written"])
    assert not fault.is_told_by(["terrace: it cannot be read", "terrace: more"])
    assert not Fault(lambda: FaultOutcome(0, "", (), ())).is_told_by(["terrace: more"])


def test_left_since_finds_remaining_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left, "PATIENCE", 0.0)
    for name in ("spill", "journals", "session"):
        (tmp_path / name).mkdir()
    places = left.Places(tmp_path / "spill", tmp_path / "journals", tmp_path / "session")
    before = left.State(0, places.ledgers())
    job = subprocess.Popen(["sleep", "60"], start_new_session=True)
    (tmp_path / "spill" / "data").touch()
    (tmp_path / "journals" / "terrace-1").touch()
    (tmp_path / "session" / "terrace").mkdir()
    (tmp_path / "session" / "terrace" / "job").touch()
    found = places.left_since(before, job.pid)
    assert f"processes [{job.pid}]" in found
    job.kill()
    job.wait()
    assert {"data", f"ledger {tmp_path}/session/terrace/job", "journals terrace-1"} <= set(found)
    taken = left.State(places.free() + 8 * left.MIB, before.ledgers)
    assert any(one.endswith("MiB of the disk") for one in places.left_since(taken, job.pid))
    row = faults._row("one", True, True, FaultOutcome(0, "", (), tuple(found)))
    assert not faults.judged([row]).holds
    assert faults.judged([faults._row("one", True, True, FaultOutcome(0, "", (), ()))]).holds
