"""Which constants are believed: synthetic runs whose truth is known, and nonsense."""

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
    """One thread that computes so long, starts, and spends a fifth of it all in the system."""
    whole = seconds / 0.8 + START.processor
    printed = None if decimals is None else f"{seconds:.{decimals}f}"
    return replace(Sample(whole + 2e-4, whole, 0.8 * whole, printed=printed), **more)  # type: ignore[arg-type]


def decide(samples: list[Sample], instructions: float, stalls: float) -> calibration.Constant:
    """With virtual time as the model would have it: so many instructions, and stalls of so many seconds."""
    least, most = stalls + instructions * core_times.MIN, stalls + instructions * PROBE
    return calibration.constant(samples, START, Virtual(least, least), Virtual(most, most), PROBE, FREQUENCY)


def test_the_interval_of_a_median_is_the_binomial_one() -> None:
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
def test_the_interval_holds_the_truth_as_often_as_it_says(noise: Callable[[random.Random], float]) -> None:
    """Whatever the distribution whose median is the truth: 95 % of 400 trials, less three standard deviations."""
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
def test_without_noise_the_constant_is_the_truth(truth: float, instructions: float, stalls: float) -> None:
    """At any number of instructions and share of stalls that is not refused, and the interval is a point."""
    core = truth * instructions
    assume(core * (1 + stalls) != pytest.approx(calibration.STARTS * START.processor))
    samples = [run_of(core * (1 + stalls), decimals=None)] * 9
    found = decide(samples, instructions, core * stalls)
    if core * (1 + stalls) < calibration.STARTS * START.processor:
        assert found.why.startswith("too short")
        return
    # What the system takes for itself is told by its share of all runs, and is no part of it.
    assert found.core_time == pytest.approx(truth, rel=1e-6), found.why
    assert found.interval is not None and found.interval.spread < 1e-6
    assert calibration.is_final(found)


def test_runs_that_others_disturbed_are_left_out() -> None:
    """A third of the runs twice as long, because they waited for the processor."""
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


def test_a_print_that_is_too_coarse_is_not_taken() -> None:
    """0.00 s of a process of 200 ms: its own time counts. Of one of 2 ms nothing does."""
    long = [run_of(0.2, printed="0.00")] * 9
    found = decide(long, 2e9, 0.02)
    assert found.clock == "process" and found.core_time == pytest.approx((0.2 - 0.02) / 2e9)
    found = decide([run_of(0.002, printed="0.00")] * 9, 2e7, 1e-4)
    assert found.core_time is None
    assert found.why == (
        "too short: it prints 0.00 s, and the whole process takes 2ms, and to start one 600us; "
        "give a size that takes 12ms or more"
    )


def test_a_number_that_is_no_time_of_the_run_is_not_taken() -> None:
    """A simulation's own time, which no core time changes; milliseconds, which are more than the run."""
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
    """Why there is no constant."""
    found = decide(samples, instructions, stalls)
    assert not found.calibrated and found.core_time is None
    return found.why


def test_nonsense_is_refused_with_what_is_wrong() -> None:
    """One line each."""
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


def test_waits_are_no_reason_where_neither_time_has_them() -> None:
    """A process waits for its files: processor time has nothing of it, and virtual time neither. Where virtual
    time has as much as a tenth of sleep or memory it may be the sleep; what waking costs counts always."""
    waiting = replace(run_of(0.1, None), wall=0.3, voluntary=30)
    found = decide([waiting] * 9, 1e9, 0.005)
    assert found.clock == "process" and found.core_time == pytest.approx((0.1 - 0.005) / 1e9)
    assert "sleeps or waits 58%" in decide([waiting] * 9, 1e9, 0.02).why
    assert "waits 20000 times" in decide([replace(waiting, voluntary=20000)] * 9, 1e9, 0.005).why


def test_more_runs_are_made_of_what_is_noisy_only() -> None:
    """A refusal that no run changes ends them, as does a constant that is known well."""
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
def test_no_constant_is_beyond_what_a_core_can_do(samples: list[Sample], least: float, most: float) -> None:
    """Whatever the runs: between 1/128 of a cycle and five, or a reason in one line."""
    found = calibration.constant(samples, START, Virtual(least, None), Virtual(most, None), PROBE, None)
    rate = calibration.ASSUMED_FREQUENCY
    if found.core_time is None:
        assert found.why and "\n" not in found.why
    else:
        assert 1 / (128 * rate) <= found.core_time <= 5 / rate


@given(st.floats(1e-4, 1e6), st.integers(0, 12))
def test_the_step_of_a_printed_number(value: float, digits: int) -> None:
    """Plain, with an exponent, and Fortran's."""
    assert calibration.resolution(f"{value:.{digits}f}") == pytest.approx(10.0**-digits)
    exponent = int(f"{value:.{digits}e}".partition("e")[2])
    for text in (f"{value:.{digits}e}", f"{value:.{digits}e}".replace("e", "D")):
        assert calibration.resolution(text) == pytest.approx(10.0 ** (exponent - digits))
        assert calibration.number(text) == pytest.approx(value, rel=10.0**-digits)


def test_one_coarse_print_spoils_the_clock() -> None:
    """All runs are compared by the same one."""
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, 3)]) == "printed"
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, 2)]) == "process"
    assert calibration.clock([run_of(0.5, 4), run_of(0.5, None)]) == "process"
    assert calibration.native_time(
        [run_of(n, None) for n in (1.0, 2.0, 3.0)], "process", START
    ).middle == pytest.approx(2.0, rel=1e-4)
