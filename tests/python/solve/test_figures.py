"""Figures that several tables print: by hand, and that nothing may be shown below its bound."""

import math

import pytest
from terrace.errors import TerraceError
from terrace.solve import figures
from terrace.store.values import Machine, MachinePath, Move


def _machine(copies):
    """Two places: 0 is fast, 1 is slow; 10 GB/s are read of the slow one, 4 GB/s written to it."""
    paths = [MachinePath(0, 0, 20e9, 20e9, 80e-9), MachinePath(0, 1, 10e9, 4e9, 300e-9)]

    class Domain:
        initiator = 0

    return Machine("two", "", 64, [], [], [], [Domain()], paths, copies, b"")


def _move(source, target, size):
    return Move(0, 0, 1, source, target, 0, 0, 0, size, 0.0, 0.0, 0.0, 5.0, 9.0, 0.0, False)


def test_steady_is_the_later_half():
    assert figures.steady([9.0, 7.0, 1.0, 2.0]) == 3.0
    assert figures.steady([9.0, 1.0, 2.0]) == 3.0  # the middle one counts
    assert figures.steady([4.0]) == 4.0
    assert list(figures.later_half(range(5))) == [2, 3, 4]


def test_copies_take_size_over_bandwidth_however_long_they_were_under_way():
    moves = [_move(1, 0, 20_000_000_000), _move(0, 1, 8_000_000_000), _move(0, 1, 0)]
    assert figures.copying(_machine({}), moves) == 2.0 + 2.0  # read at 10 GB/s; written at 4 GB/s
    # A copy is no faster than its paths, whatever is said of it.
    assert figures.copying(_machine({(1, 0): 5e9, (0, 1): 40e9}), moves) == 4.0 + 2.0


def test_overlap_is_what_the_program_did_not_lose():
    assert figures.overlap(10.0, 10.0, 4.0) == 1.0  # all hidden
    assert figures.overlap(13.0, 10.0, 4.0) == 0.25
    assert figures.overlap(14.0, 10.0, 4.0) == 0.0  # as if each copy had been waited for
    assert figures.overlap(16.0, 10.0, 4.0) == -0.5  # and held the program up beyond that
    assert figures.overlap(10.0, 10.0, 0.0) is None


def test_nothing_is_shown_below_its_bound():
    assert figures.hold_bound("cell", 2.0, 2.0) == 2.0
    assert figures.hold_bound("cell", 2.0, 2.0 - 1e-9) == 2.0 - 1e-9  # rounding
    for seconds in (2.0 - 1e-8, 1.0, 0.0, math.nan):
        with pytest.raises(TerraceError, match=r"^mg on x, planned: .* beats the proven bound of 2\.0 s"):
            figures.hold_bound("mg on x, planned", 2.0, seconds)
