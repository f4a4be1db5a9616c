"""Bars for a terminal: as long as their times say."""

from __future__ import annotations

import pytest
from terrace.output import bars


def test_bars_are_in_proportion_to_their_times():
    title, *lines = bars("title", [("slow", 0.4), ("half", 0.2), ("fast", 0.1)], "utf-8").splitlines()
    assert title == "title"
    lengths = [line.count("█") for line in lines]
    assert lengths[0] == 2 * lengths[1] == 4 * lengths[2] > 0
    assert [line.split()[0] for line in lines] == ["slow", "half", "fast"]
    assert len({line.index("█") for line in lines}) == 1, "they begin in one column"


def test_a_time_that_is_next_to_nothing_has_a_bar():
    assert bars("", [("a", 1.0), ("b", 1e-9)], "utf-8").splitlines()[2].count("█") == 1


def test_other_terminals_get_number_signs():
    assert "█" not in (text := bars("", [("a", 1.0)], "ascii"))
    assert "#" in text


def test_without_rows_there_is_no_picture():
    with pytest.raises(ValueError):
        bars("", [])
