"""Tests the criterion of virtual time against the clock: its text, and what puts it below target."""

from typing import Any

import pytest
from others_lines import clock
from others_tool.clock import elapsed
from terrace.solve.calibration import Sample, Start

ROW = {
    "clock": "run", "native": 1.0, "spread": 0.05, "virtual": 1.1, "error": 0.1, "core_time": 1e-10,
    "calibrated": True, "constant": "100ps an instruction, +-1.0%: 9 runs", "memory": 0.25, "not_seen": None,
    "system": 0.1, "wall": 1.2,
}  # fmt: skip


def measured(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> clock.Measured:
    """Returns the criterion's result for such programs."""
    monkeypatch.setattr(clock, "rows", lambda: {f"p{number}": row for number, row in enumerate(rows)})
    return clock.clock()


def off(error: float) -> dict[str, Any]:
    return {**ROW, "virtual": 1 + error, "error": error}


def test_clock_small_errors_hold_and_name_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, [off(-0.5), *[ROW] * 19])
    assert found.holds
    first, worst, *_ = found.text.splitlines()
    # 19 programs at 0.1 and one at 0.5; without 0.1 s of the system's, 19 at 0.2 / 0.9 and one at 0.4 / 0.9
    assert first == (
        "mean absolute error 12.0% over 20 programs, 1 above 40%; 23.3% without the kernel's processor time"
    )
    assert worst.startswith("p0 -50.0%: 0.5 s for 1 s (run, spread 5%); 25% of it waits for memory; 100ps")
    assert [row["error"] for row in found.rows[:2]] == ["-50%", "+10%"]


@pytest.mark.parametrize(
    "rows",
    [
        [ROW] * 19,
        [off(0.21)] * 20,
        [*[off(-0.41)] * 3, *[off(0.0)] * 20],
        [*[ROW] * 20, {"failed": "a: not built"}],
    ],
    ids=["few programs", "the mean", "three large ones", "one that failed"],
)
def test_clock_large_errors_fall_short(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> None:
    found = measured(monkeypatch, rows)
    assert not found.holds
    assert len(found.rows) == len(rows)


def test_elapsed_subtracts_start_up_and_run_queue_delay_from_wall_time() -> None:
    samples = [
        Sample(wall, wall - delayed - 0.3, 0.5, delayed) for wall, delayed in ((1.6, 0.5), (1.1, 0.0), (1.3, 0.1))
    ]
    assert elapsed(samples, Start(0.1, 0.05)) == (pytest.approx(1.0), pytest.approx(0.1))
