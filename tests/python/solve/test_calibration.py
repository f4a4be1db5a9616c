"""Acceptance of constants: synthetic runs with known truth, and invalid ones."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from terrace.solve import calibration, core_times
from terrace.solve.calibration import Sample, Start, Virtual

START = Start(0.0008, 0.0006)
FREQUENCY = 2.5e9
PROBE = 1e-9
TIMES = st.floats(1e-6, 1e3)


def run_of(seconds: float, decimals: int | None = 9, **more: float) -> Sample:
    """Returns a single-threaded run that computes so long, starts, and spends a fifth in the kernel."""
    whole = seconds / 0.8 + START.processor
    printed = None if decimals is None else f"{seconds:.{decimals}f}"
    return replace(Sample(whole + 2e-4, whole, 0.8 * whole, printed=printed), **more)  # type: ignore[arg-type]


def decide(samples: list[Sample], instructions: float, stalls: float) -> calibration.Constant:
    """Decides with the model's virtual time: so many instructions, and stalls of so many seconds."""
    least, most = stalls + instructions * core_times.MIN, stalls + instructions * PROBE
    return calibration.constant(samples, START, Virtual(least, least), Virtual(most, most), PROBE, FREQUENCY)


def test_median_interval_equals_published_tables() -> None:
    """Ranks of published tables (Conover, Practical Nonparametric Statistics): 95 % of 9 values are the second to
    the eighth, of 20 the sixth to the fifteenth, of 25 the eighth to the eighteenth."""
    for count, first in ((6, 1), (8, 1), (9, 2), (20, 6), (25, 8)):
        found = calibration.median_interval([float(n) for n in range(count, 0, -1)])
        assert (found.low, found.high) == (first, count + 1 - first)
        assert found.middle == (count + 1) / 2
    assert calibration.median_interval([3.0, 1.0]) == calibration.Interval(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    "noise",
    [
        lambda draw: draw.gauss(0, 0.02),
        lambda draw: draw.expovariate(1 / 0.03) - 0.03 * math.log(2),  # one-sided, and its median is 0
        lambda draw: draw.uniform(-0.05, 0.05),
    ],
)
def test_median_interval_covers_at_its_level(noise: Callable[[random.Random], float]) -> None:
    """For any distribution with the true median: 95 % of 400 trials, less three standard deviations."""
    draw = random.Random(20)
    instructions, stalls, truth = 5e8, 0.02, 60e-12
    within, near = 0, 0
    for _ in range(400):
        exact = stalls + instructions * truth
        found = decide([run_of(exact * (1 + noise(draw))) for _ in range(15)], instructions, stalls)
        assert found.core_time is not None and found.interval is not None, found.why
        within += found.interval.low <= truth <= found.interval.high
        near += abs(found.core_time / truth - 1) < 0.15
    assert within >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05)
    assert near >= 396


@given(st.floats(5e-12, 1.8e-9), st.floats(1e7, 1e10), st.floats(0, 1.9))
def test_constant_without_noise_is_exact(truth: float, instructions: float, stalls: float) -> None:
    """For any accepted number of instructions and share of stalls; the interval is a point."""
    core = truth * instructions
    assume(core * (1 + stalls) != pytest.approx(calibration.STARTS * START.processor))
    samples = [run_of(core * (1 + stalls), decimals=None)] * 9
    found = decide(samples, instructions, core * stalls)
    if core * (1 + stalls) < calibration.STARTS * START.processor:
        assert found.why.startswith("too short")
        return
    # The time that the system takes for itself is told by its share of all runs, and is no part of it.
    assert found.core_time == pytest.approx(truth, rel=1e-6), found.why
    assert found.interval is not None and found.interval.spread < 1e-6
    assert calibration.is_final(found)


def test_disturbed_runs_are_excluded() -> None:
    """A third of the runs takes twice as long, because they waited for the processor."""
    instructions, stalls, truth = 1e9, 0.01, 50e-12
    time = stalls + instructions * truth
    quiet = [run_of(time * (1 + 0.001 * n)) for n in range(10)]
    one = run_of(time)
    disturbed = [replace(one, wall=one.wall + time, delayed=time, printed=f"{2 * time:.9f}")] * 5
    found = decide(quiet + disturbed, instructions, stalls)
    assert found.core_time == pytest.approx(truth, rel=0.02) and found.runs == 10
    # Where they are most of the runs, the time that the process had the processor is taken, of all of them.
    found = decide(quiet[:4] + disturbed, instructions, stalls)
    assert found.core_time == pytest.approx(truth, rel=0.02) and (found.runs, found.clock) == (9, "process")


def test_coarse_print_is_not_used() -> None:
    """0.00 s for a process of 200 ms: the process's time is used. For one of 2 ms neither is usable."""
    long = [run_of(0.2, printed="0.00")] * 9
    found = decide(long, 2e9, 0.02)
    assert found.clock == "process" and found.core_time == pytest.approx((0.2 - 0.02) / 2e9)
    found = decide([run_of(0.002, printed="0.00")] * 9, 2e7, 1e-4)
    assert found.core_time is None
    assert found.why == (
        "too short: it prints 0.00 s, and the whole process takes 2ms, and to start one 600us; "
        "give a size that takes 12ms or more"
    )


def test_printed_number_that_is_no_time_is_not_used() -> None:
    """A simulation's own time does not depend on core time; milliseconds exceed the run's duration."""
    for printed, virtual in (("0.13770", [0.1377, 0.1377]), ("200.123", [20.0, 2020.0])):
        found = calibration.constant(
            [run_of(0.2, printed=printed)] * 9,
            START,
            Virtual(0.02, virtual[0]),
            Virtual(2.02, virtual[1]),
            PROBE,
            FREQUENCY,
        )
        assert found.clock == "process" and found.core_time == pytest.approx(0.09e-9)


def refused(samples: list[Sample], instructions: float = 1e9, stalls: float = 0.01) -> str:
    """Returns why there is no constant."""
    found = decide(samples, instructions, stalls)
    assert not found.calibrated and found.core_time is None
    return found.why


def test_invalid_runs_refused_with_reason() -> None:
    """Each reason is one line."""
    one = run_of(0.1)
    assert "sleeps or waits 58% of its time, 30 times" in refused([replace(one, wall=0.3, voluntary=30)] * 9)
    assert "several threads, 2.0 at a time" in refused([replace(one, wall=one.processor / 2)] * 9)
    late = replace(run_of(0.005), wall=0.05, delayed=0.04)
    assert "too noisy: other programs had the processor in 9 of 9 runs, and" in refused([late] * 9, 1e7)
    assert "waits 20000 times" in refused([replace(one, voluntary=20000)] * 9)
    assert "too short: its timed section takes 200us" in refused([run_of(2e-4)] * 9)
    noisy = [run_of(0.1 * (1 + 0.1 * n)) for n in range(9)]
    assert "too noisy: 9 runs give it to" in refused(noisy)
    assert "no instruction is observed" in refused([one] * 9, instructions=0)
    assert "memory takes most of the time: 80.1ms of 100ms" in refused([one] * 9, stalls=0.08)
    alone = "memory alone takes 120ms by virtual time, more than the whole takes natively, 100ms; give"
    assert alone in refused([one] * 9, stalls=0.12)
    assert "no core is that fast: 1ps" in refused([one] * 9, instructions=9e10)
    assert "no core without misses is that slow: 9ns" in refused([one] * 9, instructions=1e7)


def test_waits_outside_of_compared_times_are_no_reason() -> None:
    """A process waits for its files: processor time has nothing of it, and virtual time neither. Where virtual
    time has as much as a tenth of sleep or memory it may be the sleep; what waking costs counts always."""
    waiting = replace(run_of(0.1, None), wall=0.3, voluntary=30)
    found = decide([waiting] * 9, 1e9, 0.005)
    assert found.clock == "process" and found.core_time == pytest.approx((0.1 - 0.005) / 1e9)
    assert "sleeps or waits 58%" in decide([waiting] * 9, 1e9, 0.02).why
    assert "waits 20000 times" in decide([replace(waiting, voluntary=20000)] * 9, 1e9, 0.005).why


def test_more_runs_only_for_noise() -> None:
    """Final refusals and precise constants end the runs."""
    noisy = [run_of(0.1 * (1 + 0.1 * n)) for n in range(9)]
    assert not calibration.is_final(decide(noisy, 1e9, 0.01))
    assert calibration.is_final(decide([run_of(0.1)] * 9, 1e9, 0.01))
    assert calibration.is_final(decide([run_of(0.1)] * 9, 1e9, 0.09))
    assert calibration.is_final(decide([run_of(1e-4)] * 9, 1e9, 0))


@given(
    st.lists(st.builds(Sample, TIMES, TIMES, TIMES, TIMES, st.integers(0, 10**6)), min_size=1, max_size=12),
    TIMES,
    TIMES,
)
def test_constant_is_within_limits_of_a_core(samples: list[Sample], least: float, most: float) -> None:
    """For any runs: between 1/128 of a cycle and five, or a reason in one line."""
    found = calibration.constant(samples, START, Virtual(least, None), Virtual(most, None), PROBE, None)
    rate = calibration.ASSUMED_FREQUENCY
    if found.core_time is None:
        assert found.why and "\n" not in found.why
    else:
        assert 1 / (128 * rate) <= found.core_time <= 5 / rate


@given(st.floats(1e-4, 1e6), st.integers(0, 12))
def test_resolution_of_a_printed_number(value: float, digits: int) -> None:
    """Plain, with an exponent, and Fortran's format."""
    assert calibration.resolution(f"{value:.{digits}f}") == pytest.approx(10.0**-digits)
    exponent = int(f"{value:.{digits}e}".partition("e")[2])
    for text in (f"{value:.{digits}e}", f"{value:.{digits}e}".replace("e", "D")):
        assert calibration.resolution(text) == pytest.approx(10.0 ** (exponent - digits))
        assert calibration.number(text) == pytest.approx(value, rel=10.0**-digits)


def test_single_coarse_print_disables_the_clock() -> None:
    """All runs use the same clock."""
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, 3)]) == "printed"
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, 2)]) == "process"
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, None)]) == "process"
    assert calibration.native_time(
        [run_of(n, None) for n in (1.0, 2.0, 3.0)], "process", START
    ).middle == pytest.approx(2.0, rel=1e-4)
