"""Figures of several tables: against hand computation; none may be below its bound."""

import math

import pytest
from terrace import _core
from terrace.errors import TerraceError
from terrace.solve import figures
from terrace.store.values import Moved


class _Run:
    """A run with one core."""

    initiator = 0
    cores = 1.0


@pytest.fixture
def machine(tmp_path):
    """Two places: 0 is fast, 1 is slow, with 10 GB/s for reads and 4 GB/s for writes of the slow one."""
    head = """
schema = 1
name = "two"
[[domain]]
name = "node"
initiator = "cores"
[[initiator]]
name = "cores"
cores = 2
instruction_time = "1ns"
mlp = 1.0
prefetch_mlp = 1.0
"""
    places = "".join(
        f'[[place]]\nname = "{name}"\nkind = "{name}"\ncapacity = "64GiB"\ndomain = "node"\n'
        f'[[path]]\ninitiator = "cores"\nplace = "{name}"\nread = "{read}GB/s"\nwrite = "{write}GB/s"\n'
        f'latency = "{latency}ns"\n'
        for name, read, write, latency in (("fast", 20, 20, 80), ("slow", 10, 4, 320))
    )

    def of(more):
        path = tmp_path / "two.toml"
        path.write_text(head + places + more)
        return _core.Machine.read(str(path))

    return of


def test_steady_is_the_later_half():
    assert figures.steady([9.0, 7.0, 1.0, 2.0]) == 3.0
    assert figures.steady([9.0, 1.0, 2.0]) == 3.0  # the middle one counts
    assert figures.steady([4.0]) == 4.0
    assert list(figures.later_half(range(5))) == [2, 3, 4]


def test_copying_uses_the_copiers_bandwidth(machine):
    moves = [Moved(1, 0, 1, 1, 20_000_000_000), Moved(0, 1, 1, 1, 8_000_000_000), Moved(0, 1, 1, 1, 0)]
    assert figures.copying(machine(""), _Run, moves) == 2.0 + 2.0  # read at 10 GB/s; written at 4 GB/s
    # A copy is no faster than its paths, whatever is said of it.
    copies = "".join(
        f'[[copy]]\nfrom = "{source}"\nto = "{target}"\nbandwidth = "{rate}GB/s"\n'
        for source, target, rate in (("slow", "fast", 5), ("fast", "slow", 40))
    )
    assert figures.copying(machine(copies), _Run, moves) == 4.0 + 2.0
    # Nor than the lines in flight: 10 of 64 bytes over 320 ns are 2 GB/s. Two chunks are two calls.
    priced = '[[copier]]\nname = "a"\ncall = "1s"\nthreads = 4\nlines = 10.0\n'
    twice = [Moved(1, 0, 1, 2, 8_000_000_000)]
    assert figures.copying(machine(priced), _Run, twice) == pytest.approx(2 * 1.0 + 4.0)


def test_overlap_is_the_hidden_share():
    assert figures.overlap(10.0, 10.0, 4.0) == 1.0  # all hidden
    assert figures.overlap(13.0, 10.0, 4.0) == 0.25
    assert figures.overlap(14.0, 10.0, 4.0) == 0.0  # as if each copy had been waited for
    assert figures.overlap(16.0, 10.0, 4.0) == -0.5  # and held the program up beyond that
    assert figures.overlap(10.0, 10.0, 0.0) is None


def test_check_bound_rejects_lower_figures():
    assert figures.check_bound("cell", 2.0, 2.0) == 2.0
    assert figures.check_bound("cell", 2.0, 2.0 - 1e-9) == 2.0 - 1e-9  # rounding
    for seconds in (2.0 - 1e-8, 1.0, 0.0, math.nan):
        with pytest.raises(TerraceError, match=r"^mg on x, planned: .* beats the proven bound of 2\.0 s"):
            figures.check_bound("mg on x, planned", 2.0, seconds)
