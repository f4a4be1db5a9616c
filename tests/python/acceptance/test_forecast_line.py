"""Forecasts of the time of out-of-core runs: errors by segment, and what counts without a forecast."""

from __future__ import annotations

import pytest
from programs_lines import predicted


def turns(*pairs):
    return [{"seconds": 10.0, "predicted_s": p, "measured_s": m} for p, m in pairs]


def line(monkeypatch, *pairs):
    monkeypatch.setattr(predicted, "_found", lambda: [{"program": "one", "turns": turns(*pairs)}])
    return predicted._forecasts()


def test_errors_are_relative_to_measured():
    assert predicted.errors(turns((5, 4), (3, 4), (0, 0))) == pytest.approx([0.25, -0.25])
    assert predicted.near(turns((5, 4), (3, 4), (0, 0), (6, 4))) == 0.5


def test_forecasts_nine_tenths_near_hold(monkeypatch):
    good, bad = (4, 4), (6, 4)
    assert line(monkeypatch, *[good] * 9, bad).holds
    assert not line(monkeypatch, *[good] * 8, bad, bad).holds


def test_forecasts_missing_fall_short(monkeypatch):
    found = line(monkeypatch, (0, 0), (0, 0))
    assert not found.holds
    assert "one no forecast" in found.text
    assert found.rows[0]["with_a_forecast"] == 0
