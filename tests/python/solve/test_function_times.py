"""Core times by function, from known native times and known prices."""

import random

import pytest
from terrace.solve import function_times
from terrace.solve.function_times import NOTHING, Prices, Use

# A hit of the second cache 1 ns, of memory 100 ns, a tenth of it for independent misses.
PRICES = Prices((0.0, 1e-9), 0.0, 100e-9, 0.01, 0.1, 1e10, 1e10, 1e-12, 2e-9)


def use(instructions: float, hits: int = 0, independent: int = 0) -> Use:
    return Use(instructions, 0, 0, independent, 0, 0, 0, (0, hits, 0, 0))


def test_fit_recovers_core_times() -> None:
    """Times generated from core times are recovered."""
    draw = random.Random(1)
    for _ in range(50):
        core_times = {name: draw.uniform(50e-12, 400e-12) for name in "abcdef"}
        uses = {
            name: use(draw.randint(10**7, 10**9), draw.randint(0, 10**6), draw.randint(0, 10**5))
            for name in core_times
        }
        native = {name: core_times[name] * one.instructions + PRICES.stalls(one) for name, one in uses.items()}
        program = function_times.core_time(function_times.total(uses), sum(native.values()), PRICES)
        fits = function_times.fit(uses, native, 1e6, PRICES, program)
        found = {one.name: one.core_time for one in fits.functions}
        assert set(found) == {name for name in uses if native[name] >= 0.01 * sum(native.values())}
        for name, core_time in found.items():
            assert core_time == pytest.approx(core_times[name])


def test_function_inlined_in_one_build_belongs_to_the_rest() -> None:
    """The native caller includes the time of a function that only the instrumented program has."""
    uses = {"main": use(1e5), "inlined": use(1e9), "solve": use(1e9)}
    native = {"main": 0.2, "solve": 0.1}
    fits = function_times.fit(uses, native, 1e6, PRICES, 0.3 / 2.0001e9)
    assert [one.name for one in fits.functions] == ["solve"]
    assert fits.rest == pytest.approx(0.2 / 1.0001e9)


def test_fit_preserves_the_total_time() -> None:
    """Although the caller's own instructions could take all of it."""
    uses = {"main": use(1e9), "inlined": use(1e9), "solve": use(1e9)}
    native = {"main": 0.2, "solve": 0.1}
    fits = function_times.fit(uses, native, 1e6, PRICES, 0.1e-9)
    of = {one.name: one.core_time for one in fits.functions}
    took = sum(of.get(name, fits.rest) * one.instructions for name, one in uses.items())
    assert took == pytest.approx(0.3, rel=0.01)


def test_few_samples_fit_one_core_time() -> None:
    """Then the program has a single core time."""
    uses = {"a": use(1e9), "b": use(1e9)}
    fits = function_times.fit(uses, {"a": 0.1, "b": 0.3}, 50, PRICES, 0.2e-9)
    assert not fits.functions or all(one.name == "b" for one in fits.functions)
    fits = function_times.fit(uses, {"a": 0.1, "b": 0.3}, 10, PRICES, 0.2e-9)
    assert not fits.functions and fits.rest == pytest.approx(0.2e-9)


def test_memory_bound_function_keeps_minimum_core_share() -> None:
    """Virtual time attributes more to its memory than the clock measured in total."""
    stalled = use(1e9, independent=10**8)  # 1 s of stalls
    assert function_times.core_time(stalled, 0.5, PRICES) == pytest.approx(0.5 / 16 / 1e9)


def test_read_uses_parses_counts() -> None:
    """Lines with equal names are summed, as for several processes."""
    line = "f\t512\t1\t2\t3\t4\t255\t6\t0\t7\t8\t9\t10\n"
    once = Use(2.0, 1, 2, 3, 4, 255, 6, (7, 8, 9, 10))
    assert function_times.read_uses(line) == {"f": once}
    assert function_times.read_uses(line * 2) == {"f": once + once}
    assert function_times.read_uses("") == {}
    assert function_times.total({}) == NOTHING


@pytest.mark.parametrize(
    "line", ["f", "f\t1\t2", "f\t1\t2\t3\t4\t5\t6\t7\tx", "f\t-1\t2\t3\t4\t5\t6\t7\t8\t9", "\t\t"]
)
def test_read_uses_rejects_other_lines(line: str) -> None:
    with pytest.raises(ValueError):
        function_times.read_uses(line)


def test_options_list_rest_then_functions() -> None:
    fits = function_times.FunctionFits(50e-12, [function_times.FunctionFit("f", 0.1e-9, 1.0, 0.0)])
    assert fits.options() == ["--core-time=50.000000000ps", "--core-time=f()=100.000000000ps"]
