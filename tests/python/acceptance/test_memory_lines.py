"""Lines of real memory: what they compare, and what makes them fall short."""

import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "acceptance"))

from memory_lines import faults, left, over_file, study
from memory_lines.faults import Ended, Fault
from memory_lines.limits import Run

DISK = "as it is"
TURN = {"seconds": 10.0, "predicted_s": 8.0, "measured_s": 8.0}


def row(**changes: Any) -> dict[str, Any]:
    """A case in which all is well: rivals take 30 times as long."""
    return {
        "program": "cg",
        "threads": 1,
        "ratio": 2,
        "in_memory_s": 9.0,
        "bound_s": 9.5,
        "disk_s": 5.0,
        "least_read": 100,
        "least_written": 50,
        "read": 120,
        "written": 60,
        "simulated_read": 118,
        "simulated_written": 61,
        "turns": [TURN] * 3,
        "wrong": [],
        "seconds": dict.fromkeys(study.WAYS, 300.0) | {"terrace": 10.0},
        "failed": dict.fromkeys(study.WAYS, ""),
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


def test_all_hold_where_all_is_well(given: Any) -> None:
    given(row(), row(ratio=4))
    assert over_file.compared(study.rows(DISK), over_file.SWAP).ratios.keys() == {"cg x1 2x", "cg x1 4x"}
    assert over_file.against_mapping(DISK).holds
    assert over_file.never_slower(DISK).holds
    assert over_file.near_bound(DISK).holds
    assert over_file.well_predicted(DISK).holds
    assert over_file.simulated(DISK).holds


@pytest.mark.parametrize("way", study.WAYS[1:])
def test_a_rival_that_failed_is_no_rival_that_lost(given: Any, way: str) -> None:
    given(row(), without(way, "status 139", program="mg"), row(ratio=4))
    slower = over_file.never_slower(DISK)
    assert not slower.holds
    assert f"over 2 of 3 cases; not compared: mg x1 2x: {way}: status 139" in slower.text
    assert over_file.against_mapping(DISK).holds == (way == "swap")


def test_nothing_to_compare_falls_short(given: Any) -> None:
    given(*(without("mapping", "status 1", ratio=ratio) for ratio in (2, 4)))
    measured = over_file.against_mapping(DISK)
    assert not measured.holds
    assert measured.text.count("nothing compared, over 0 of 1 cases; not compared: cg") == 2
    given(row())  # none at 4x
    assert not over_file.against_mapping(DISK).holds


def test_a_rival_killed_for_want_of_memory_has_lost(given: Any) -> None:
    given(without("swap", study.KILLED, 150.0), row(program="mg"))
    found = over_file.compared(study.rows(DISK), over_file.SWAP)
    assert found.whole
    assert found.ratios["cg x1 2x"] == 15
    assert "1 times a rival was killed by the kernel for want of memory" in found.over()


def test_less_than_the_least_bytes_is_not_within_the_bound(given: Any) -> None:
    given(row(), row(program="mg", written=49))
    measured = over_file.near_bound(DISK)
    assert not measured.holds
    assert measured.text.startswith("1 of 2 within")
    assert "less than any schedule moves: mg x1 2x: written" in measured.text


def test_errors_of_turns_do_not_cancel(given: Any) -> None:
    given(row(turns=[{**TURN, "predicted_s": 8 * share} for share in (1.3, 0.7, 1.0)]))
    measured = over_file.well_predicted(DISK)
    assert not measured.holds
    assert "median absolute error of a turn 30%" in measured.text
    given(row(turns=[TURN, TURN, {**TURN, "seconds": 20.0}]))
    assert not over_file.well_predicted(DISK).holds  # of one turn less than half


def test_virtual_time_reads_what_the_real_run_reads(given: Any) -> None:
    given(row(simulated_read=160), row(threads=2, simulated_read=1000))
    measured = over_file.simulated(DISK)
    assert not measured.holds
    assert measured.text.startswith("0 of 1 cases within 25%; worst cg x1 2x, +33%")


def test_how_a_run_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "workloads", lambda: {"cg": Namespace(time_lines="^Time ")})
    case = study.Case("cg", 1, 2, DISK)

    def judged(
        way: str, status: int | None, output: str = "a\nDigest 1\n", killed: bool = False
    ) -> tuple[str, str]:
        time, why = study._judged(way, case, Run(status, output, 7.0, 0, killed), 150.0, "a\nDigest 1")
        return f"{time:g}", why

    assert judged("swap", 0, "a\nTime 9 s\nterrace: b\nDigest 1\n") == ("7", "")
    assert judged("swap", 0, "a\nDigest 2\n") == ("nan", study.OTHER_RESULTS)
    assert judged("swap", 0, "a\n1 second\nDigest 1\n") == ("nan", study.OTHER_RESULTS)
    assert judged("swap", -9, killed=True) == ("150", study.KILLED)
    assert judged("swap", -9) == ("nan", "status -9")
    assert judged("swap", None) == ("150", study.STOPPED)
    assert judged("terrace", -9, killed=True) == ("nan", study.KILLED)
    assert judged("terrace", None) == ("nan", study.STOPPED)


def test_a_fault_is_told_by_its_lines_alone() -> None:
    fault = Fault(lambda: Ended(0, "", (), ()), ("cannot be read",), also="cannot be written")
    assert fault.is_told_by(["terrace: it cannot be read"])
    assert fault.is_told_by(["terrace: it cannot be written", "terrace: it cannot be read"])
    assert not fault.is_told_by(["terrace: it cannot be written"])
    assert not fault.is_told_by(["terrace: it cannot be read", "terrace: more"])
    assert not Fault(lambda: Ended(0, "", (), ())).is_told_by(["terrace: more"])


def test_a_memory_fault_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    row = faults._row("one", True, True, Ended(0, "", (), tuple(found)))
    assert not faults.judged([row]).holds
    assert faults.judged([faults._row("one", True, True, Ended(0, "", (), ()))]).holds
