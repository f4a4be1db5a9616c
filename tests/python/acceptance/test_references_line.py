"""Tests the criterion of page references: its baseline, and the minimum number of windows."""

from __future__ import annotations

import pytest
from programs_lines import references


def row(ours=5.0, first=8.0, windows=20):
    seconds = {references.SLOW: 10.0, references.FIRST: first, "load-sampling": 5.0, "page-references": ours}
    return {"program": "one", "windows": windows, **seconds}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"ours": 6.0}, "0 of 1 win"),
        ({"first": 4.0}, "worst loss against first touch +25.0%"),
        ({"windows": 7}, "fewer than 8 windows: one"),
    ],
)
def test_criterion_below_target_states_reason(changed, told):
    assert references.judged_plans([row()]).holds
    found = references.judged_plans([row(**changed)])
    assert not found.holds
    assert told in found.text


def test_windows_insufficient_row_has_none():
    assert references.judged_plans([row(windows=7)]).rows[0]["windows"] == 0
    assert references.judged_plans([row(windows=8)]).rows[0]["windows"] == 8


def test_windows_in_takes_a_share_of_the_time():
    assert references.windows_in(1.0, 0) == 50
    assert references.windows_in(10.0, 64 << 20) == 17
