"""The criterion of hbwmalloc: the functions of the manual, and its shortfalls."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "acceptance"))

from programs_lines import hbwmalloc  # noqa: E402

LISTED = ["hbw_malloc", "hbw_free"]
FOUND = {
    "exported": LISTED[::-1],
    "declared": LISTED,
    "statuses": {"bind": 0},
    "calls": {"hbw_malloc": 3, "hbw_free": 2},
    "broken": {"hbw_malloc": 1, "hbw_free": -11},
}


def test_wrong_complete_results_are_accepted():
    assert hbwmalloc.wrong(FOUND, LISTED) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"exported": ["hbw_malloc"]}, "exported are other functions than the manual's: hbw_free"),
        ({"declared": [*LISTED, "hbw_more"]}, "declared are other functions than the manual's: hbw_more"),
        ({"statuses": {"bind": 1}}, "the test fails: bind, 1"),
        ({"calls": {"hbw_malloc": 3}}, "hbw_free: no test calls it"),
        ({"broken": {"hbw_malloc": 0, "hbw_free": 1}}, "hbw_malloc: the test does not see"),
    ],
)
def test_what_falls_short_is_told(changed, told):
    (text,) = hbwmalloc.wrong(copy.deepcopy(FOUND) | changed, LISTED)
    assert told in text


def test_called_sums_over_processes():
    assert hbwmalloc.called("hbw_malloc 3\nhbw_free 0\nhbw_malloc 4\n") == {"hbw_malloc": 7, "hbw_free": 0}


def test_witness_can_break_each_function_of_the_manual():
    """The library that stands before Terrace's defines each of them."""
    text = (ROOT / "acceptance" / "programs_lines" / "hbw_witness.c").read_text()
    assert sorted(re.findall(r"\bX\((hbw_\w+)\)", text)) == sorted(hbwmalloc.manual())
    assert sorted(set(re.findall(r"is_wrong\(k_(hbw_\w+)\)", text))) == sorted(hbwmalloc.manual())
