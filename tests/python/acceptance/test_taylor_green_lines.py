"""Tests the criteria of the Taylor-Green vortex."""

from typing import Any

import pytest
from stencils_lines import taylor_green

FINE = {
    "largest_decay": 0.0129,
    "time_of_largest_decay": 9.0,
    "largest_dissipation": 0.0129,
    "largest_enstrophy": 10.3,
    "time_of_largest_enstrophy": 9.0,
}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what the program says."""

    def give(**values: float) -> None:
        said = {name: {"value": value} for name, value in values.items()}
        monkeypatch.setattr(taylor_green, "_results", lambda name, arguments: said)
        monkeypatch.setattr(taylor_green, "is_small", lambda: False)

    return give


@pytest.mark.parametrize("points", taylor_green.GOALS)
def test_taylor_green_published_values_hold(given: Any, points: int) -> None:
    given(**FINE)
    assert taylor_green.decay(points).holds


@pytest.mark.parametrize(
    ("changed", "points", "short"),
    [
        ({"largest_decay": 0.0115}, 64, "decay"),
        ({"time_of_largest_decay": 8.0}, 64, "time"),
        ({"largest_decay": 0.0120, "largest_enstrophy": 7.0}, 128, "decay, enstrophy"),
    ],
)
def test_taylor_green_distant_value_falls_short(
    given: Any, changed: dict[str, float], points: int, short: str
) -> None:
    given(**FINE | changed)
    measured = taylor_green.decay(points)
    assert not measured.holds
    assert measured.text.endswith(f"; short: {short}")


def test_taylor_green_coarse_enstrophy_is_no_goal(given: Any) -> None:
    given(**FINE | {"largest_enstrophy": 5.6})
    assert taylor_green.decay(64).holds


def test_taylor_green_other_counts_fall_short(given: Any) -> None:
    given(datasets=29, stencils=20, mirror_stencils=12, loops=27)
    assert taylor_green.counts().holds
    assert not taylor_green.stencils().holds
    given(datasets=29, stencils=9, mirror_stencils=1, loops=26)
    assert not taylor_green.counts().holds
    assert taylor_green.stencils().holds
