"""Tests the criterion of NumPy's own tests on synthetic outcomes: what puts it below target."""

from __future__ import annotations

import copy

import pytest
from programs_lines import arrays


def way(*, handler, under=False):
    return {
        "tests": 40_000,
        "differ": [],
        "handlers": {"terrace_bandwidth" if handler else "default_allocator": 40_000},
        "counts": [900_000 if handler else 0, 1000 if handler else 0, 0],
        "under_terrace": under,
        "said": ["terrace: 2MiB of data by bandwidth: 2MiB in ddr0"] if under else [],
    }


FOUND = {
    "is_whole": True,
    "ways": {
        arrays.PLAIN: way(handler=False),
        arrays.UNDER: way(handler=True, under=True),
        arrays.ALONE: way(handler=True),
    },
}


def test_equal_runs_have_no_findings():
    assert arrays.wrong(FOUND) == []


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        (arrays.UNDER, {"differ": ["a: call passed became call failed"]}, "1 tests ended otherwise"),
        (arrays.ALONE, {"handlers": {"default_allocator": 40_000}}, "not the active one"),
        (arrays.ALONE, {"counts": [0, 0, 0]}, "asked for 0 blocks"),
        (arrays.UNDER, {"under_terrace": False}, "was not in the process"),
        (arrays.ALONE, {"under_terrace": True}, "was in the process"),
        (arrays.UNDER, {"said": []}, "placed nothing"),
        (arrays.PLAIN, {"tests": 300}, "only 300 tests"),
        (arrays.PLAIN, {"counts": [1, 0, 0]}, "asked in the plain run"),
    ],
)
def test_criterion_below_target_states_reason(name, changed, told):
    found = copy.deepcopy(FOUND)
    found["ways"][name].update(changed)
    assert told in "\n".join(arrays.wrong(found))


def test_differences_compares_each_test():
    plain = {"a": "call passed", "b": "call failed", "c": "setup skipped"}
    assert arrays.differences(plain, dict(reversed(plain.items()))) == []
    assert arrays.differences(plain, {"a": "call failed", "b": "call passed", "d": "call passed"}) == [
        "a: call passed became call failed",
        "b: call failed became call passed",
        "c: setup skipped became not run",
        "d: not run became call passed",
    ]
