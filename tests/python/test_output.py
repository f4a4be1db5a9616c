"""Bar charts in the terminal: lengths proportional to times."""

from __future__ import annotations

import pytest
from terrace.output import bars


def test_bars_are_proportional_to_times():
    title, *lines = bars("title", [("slow", 0.4), ("half", 0.2), ("fast", 0.1)], "utf-8").splitlines()
    assert title == "title"
    lengths = [line.count("█") for line in lines]
    assert lengths[0] == 2 * lengths[1] == 4 * lengths[2] > 0
    assert [line.split()[0] for line in lines] == ["slow", "half", "fast"]
    assert len({line.index("█") for line in lines}) == 1, "they begin in one column"


def test_tiny_time_has_a_bar():
    assert bars("", [("a", 1.0), ("b", 1e-9)], "utf-8").splitlines()[2].count("█") == 1


def test_ascii_terminals_get_number_signs():
    assert "█" not in (text := bars("", [("a", 1.0)], "ascii"))
    assert "#" in text


def test_bars_without_rows_fail():
    with pytest.raises(ValueError):
        bars("", [])
