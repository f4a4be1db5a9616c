# SPDX-License-Identifier: Apache-2.0
"""Decides whether native times at the calibration size determine a credible core time per instruction, for
`terrace lab calibrate` and `lab validate`.

Virtual time is a linear function of the core time per instruction (core_times.py). The native runs give an
interval of times, and the line maps it to an interval of core times. The constant is refused, with a one-sentence
reason, if the clock is too coarse for the section, the runs are too short or too noisy, threads wait, memory
stalls leave too little time to the core, or no real core could be that fast or slow. Then the machine's constant
applies.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from terrace import units
from terrace.solve import core_times

# Relative resolution that a clock needs: 1 % is within the spread of most programs.
FINEST = 0.01
# Seconds of a printed section. Shorter ones are distorted by page faults and by a core that still speeds up.
SHORTEST_SECTION = 1e-3
# Minimum duration in units of start-up time. A whole process is timed minus the start-up of an empty program;
# programs with more libraries take up to twice as long to start, so the error is at most a twentieth.
STARTS = 20
# Maximum share of a run's time for which it is runnable but not running. Beyond, its printed wall time is
# unreliable; its processor time remains valid.
MAX_DELAYED = 0.05
QUIET_RUNS = 9  # undisturbed runs that suffice for the printed clock, however many were disturbed
# Maximum share of a run's time that a thread may sleep, and maximum excess over one busy processor.
MAX_WAITED = 0.1
# Seconds by which a wall clock may be read late on a busy machine, total of all runs.
LATE = 5e-3
# Minimum cost in seconds of a sleep and wake-up: two context switches and the lost cache contents.
WAIT = 5e-6
# Minimum share of the native time left to the core. Virtual time knows stalls to about a fifth: of two thirds of
# the time, that is 40 % of the remaining third.
MIN_CORE = 1 / 3
# Half-width of the constant's interval relative to the constant: sufficient, and the largest accepted.
ENOUGH, MAX_SPREAD = 0.03, 0.15
CONFIDENCE = 0.95
# Maximum scalar operations per cycle: the widest cores issue eight instructions, and each may be a vector
# instruction on sixteen elements (512 bits of floats).
MAX_A_CYCLE = 8 * 16
# Maximum cycles per instruction without a miss, in a dependence chain. Floating-point additions and
# multiplications take 3 to 5 cycles, L1 hits 4 or 5; divisions and square roots count as 16 instructions.
MAX_CYCLES = 5.0
ASSUMED_FREQUENCY = 2.6e9  # Hz, if the machine file states none; also the assumption for libm calls


@dataclass(frozen=True)
class Interval:
    """An estimate, and its interval at level CONFIDENCE."""

    low: float
    middle: float
    high: float

    @property
    def spread(self) -> float:
        """Returns half of the width, relative to the estimate."""
        return (self.high - self.low) / 2 / self.middle if self.middle > 0 else math.inf

    def scaled(self, by: Callable[[float], float]) -> Interval:
        """Returns the interval of an increasing function of the estimate."""
        return Interval(by(self.low), by(self.middle), by(self.high))


@dataclass(frozen=True)
class Sample:
    """Times of one native run, single-threaded. Seconds."""

    wall: float
    processor: float  # user time, and system time on its behalf
    user: float  # the user part, by the kernel's ticks: correct only on average
    delayed: float = 0.0  # runnable while other programs had the processor
    voluntary: int = 0  # voluntary context switches
    printed: str | None = None  # its printed time, verbatim


@dataclass(frozen=True)
class Virtual:
    """Times of a run in virtual time, at one core time. Seconds."""

    process: float
    printed: float | None


@dataclass(frozen=True)
class Start:
    """Times of an empty program. Seconds."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Constant:
    """The core time per instruction of a program, and its basis."""

    core_time: float | None  # seconds; None: the machine's
    why: str  # what it is based on, or why it was refused
    clock: str = ""  # "printed" or "process": what was compared
    runs: int = 0
    interval: Interval | None = None  # of the core time, if the runs determine one
    native: Interval | None = None  # of the compared time

    @property
    def calibrated(self) -> bool:
        """Returns whether the constant is the program's own."""
        return self.core_time is not None

    def describe(self, default: float) -> str:
        """Returns a description; `default` is the machine's constant."""
        if self.core_time is None or self.interval is None:
            return f"the machine's {units.seconds(default)} an instruction: {self.why}"
        return f"{units.seconds(self.core_time)} an instruction, +-{self.interval.spread:.1%}: {self.why}"


def with_printed(sample: Sample, printed: str | None) -> Sample:
    """Returns the run with its printed time."""
    return replace(sample, printed=printed)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Returns the median and its distribution-free confidence interval.

    The interval's ends are order statistics, chosen by the binomial distribution of the number of values below the
    true median. Fewer than six values cannot reach the confidence; then their minimum and maximum are returned.
    """
    ordered = sorted(values)
    count = len(ordered)
    rank, outside = 0, 0.5**count  # values excluded at each end; one-sided probability of a miss
    while rank + 1 < (count + 1) // 2:
        outside += math.comb(count, rank + 1) * 0.5**count
        if 2 * outside > 1 - confidence:
            break
        rank += 1
    return Interval(ordered[rank], statistics.median(ordered), ordered[count - 1 - rank])


def resolution(printed: str) -> float:
    """Returns the last decimal place of a printed number: 0.01 for "1.25", 1e-4 for "1.25e-02"."""
    mantissa, _, exponent = re.sub("[dD]", "e", printed).lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def is_coarse(printed: Sequence[str]) -> bool:
    """Returns whether the printed times have a relative resolution worse than FINEST."""
    middle = statistics.median(number(one) for one in printed)
    return max(resolution(one) for one in printed) > FINEST * middle


def number(printed: str) -> float:
    """Parses a printed number, also with Fortran's exponents."""
    return float(re.sub("[dD]", "e", printed))


def undisturbed(samples: Sequence[Sample]) -> list[Sample]:
    """Returns the runs that were not delayed, whose wall-clock times are valid."""
    return [one for one in samples if one.delayed <= MAX_DELAYED * one.wall]


def has_enough(quiet: Sequence[Sample], samples: Sequence[Sample]) -> bool:
    """Returns whether there are enough undisturbed samples to use the wall clock."""
    return 2 * len(quiet) >= len(samples) or len(quiet) >= QUIET_RUNS


def clock(samples: Sequence[Sample]) -> str:
    """Returns "printed" if every run printed a sufficiently precise time, else "process"."""
    printed = [one.printed for one in samples if one.printed is not None]
    return "printed" if len(printed) == len(samples) and not is_coarse(printed) else "process"


def native_time(samples: Sequence[Sample], by: str, start: Start) -> Interval:
    """Returns the native time by the chosen clock: of the printed section, or user time minus start-up.

    The kernel divides processor time into user and system time by ticks, so the ratio of all runs together is
    used.
    """
    if by == "printed":
        return median_interval([number(one.printed) for one in samples if one.printed is not None])
    share = sum(one.user for one in samples) / max(sum(one.processor for one in samples), 1e-12)
    whole = median_interval([max(one.processor - start.processor, 0.0) for one in samples])
    return Interval(share * whole.low, share * whole.middle, share * whole.high)


def constant(
    samples: Sequence[Sample],
    start: Start,
    at_least: Virtual,
    at_probe: Virtual,
    probe: float,
    frequency: float | None,
) -> Constant:
    """Returns the constant of a program, or why it is refused.

    Its virtual time is `at_least` without core time and `at_probe` at `probe` seconds. The start-up time and the
    clock rate of the machine that took the samples limit what is credible.
    """
    quiet = undisturbed(samples)
    fine = clock(samples) == "printed" and _is_time(samples, at_least, at_probe)
    printed = fine and has_enough(quiet, samples)
    by = "printed" if printed else "process"
    taken = quiet if printed else samples
    native = native_time(taken, by, start)
    # Waits for files or threads are in neither processor time. Virtual time without core time is memory or sleep.
    waits_count = printed or at_least.process > MAX_WAITED * native.middle
    if refused := thread_problem(samples, start, waits_count=waits_count):
        return Constant(None, refused, by, len(taken))
    disturbed = len(samples) - len(quiet) if fine and not printed else 0
    if refused := _too_short(taken, native, start, by, disturbed):
        return Constant(None, refused, by, len(taken), native=native)
    least, most = (at_least.printed, at_probe.printed) if by == "printed" else (at_least.process, at_probe.process)
    assert least is not None and most is not None  # printed natively, so printed in virtual time as well
    if most <= least:
        return Constant(None, "no instruction is observed in the timed part; is it instrumented?", by, len(taken))
    if native.middle - least < MIN_CORE * native.middle:
        return Constant(None, _stalled(native.middle, least), by, len(taken), native=native)

    def fitted(time: float) -> float:
        return core_times.of_program(time, least, most, probe)

    interval = native.scaled(fitted)
    found = Constant(interval.middle, _rests_on(native, by, len(taken)), by, len(taken), interval, native)
    if interval.spread > MAX_SPREAD:
        why = f"too noisy: {len(taken)} runs give it to {interval.spread:.0%} only, not {MAX_SPREAD:.0%}; "
        why += "calibrate on an idle machine, or with a larger size"
        return Constant(None, why, by, len(taken), interval, native)
    if refused := beyond(interval.middle, frequency):
        return Constant(None, refused, by, len(taken), interval, native)
    return found


def is_final(found: Constant) -> bool:
    """Returns whether more runs are useless: precise enough, or refused for a reason that runs do not change."""
    if found.interval is not None:
        return found.interval.spread <= ENOUGH
    return not found.calibrated and not found.why.startswith("too noisy")


def beyond(core_time: float, frequency: float | None) -> str:
    """Returns why no core has such a core time per instruction; empty if one can."""
    rate = frequency or ASSUMED_FREQUENCY
    least, most = possible(frequency)
    at = f"at {rate / 1e9:.2g} GHz"
    if core_time < least:
        return (
            f"no core is that fast: {units.seconds(core_time)} per instruction; one that issues {MAX_A_CYCLE} "
            f"per cycle {at} takes {units.seconds(least)}"
        )
    if core_time > most:
        return (
            f"no core without misses is that slow: {units.seconds(core_time)} per instruction; one that takes "
            f"{MAX_CYCLES:g} cycles for each {at} takes {units.seconds(most)}; something else took the time"
        )
    return ""


def possible(frequency: float | None) -> tuple[float, float]:
    """Returns the minimum and maximum time of an instruction without misses."""
    rate = frequency or ASSUMED_FREQUENCY
    return 1 / (MAX_A_CYCLE * rate), MAX_CYCLES / rate


def _is_time(samples: Sequence[Sample], at_least: Virtual, at_probe: Virtual) -> bool:
    """Returns whether the printed number is a time, and not, for example, the time inside a simulation.

    A time is at most the run's native duration, and in virtual time it grows with the core time.
    """
    if at_least.printed is None or at_probe.printed is None or at_probe.printed <= at_least.printed:
        return False
    return all(one.printed is not None and number(one.printed) <= one.wall for one in samples)


def thread_problem(samples: Sequence[Sample], start: Start, *, waits_count: bool) -> str:
    """Returns why the runs are not those of a single busy thread; empty if they are.

    The run with the least evidence counts, because a wall clock is read late on a busy machine. Sleep is a reason
    only if the compared time contains it; the cost of wake-ups always is one.
    """
    at_work = max(one.processor / one.wall for one in samples)
    if at_work > 1 + MAX_WAITED:
        return f"it ran with several threads, {at_work:.1f} at a time; calibrate with one"
    starts = max(start.wall - start.processor, 0)
    slept = min((one.wall - one.processor - one.delayed - starts) / one.wall for one in samples)
    times = statistics.median(one.voluntary for one in samples)
    woken = statistics.median(one.voluntary * WAIT / one.wall for one in samples if one.wall > 0)
    long = min(one.wall - one.processor - one.delayed - starts for one in samples) > LATE
    if waits_count and slept > MAX_WAITED and long:
        how = f"sleeps or waits {slept:.0%} of its time, {times:.0f} times"
    elif woken > MAX_WAITED:
        how = f"waits {times:.0f} times, which costs more than {MAX_WAITED:.0%} of its time"
    else:
        return ""
    return f"it {how}; calibrate with one thread and without waits"


def _too_short(samples: Sequence[Sample], native: Interval, start: Start, by: str, disturbed: int) -> str:
    """Returns why the clock is too coarse for so short a time; `disturbed` runs made the printed time unusable."""
    if by == "printed":
        if native.middle >= SHORTEST_SECTION:
            return ""
        took, least = units.seconds(native.middle), units.seconds(SHORTEST_SECTION)
        return f"too short: its timed section takes {took}, and less than {least} says little; give a larger size"
    enough = STARTS * start.processor
    if native.middle >= enough:
        return ""
    takes = f"{units.seconds(native.middle)}, and to start one {units.seconds(start.processor)}"
    enough_for = f"give a size that takes {units.seconds(enough)} or more"
    if disturbed:
        return (
            f"too noisy: other programs had the processor in {disturbed} of {len(samples)} runs, and the whole "
            f"process is too short to be timed instead: it takes {takes}; {enough_for}, or calibrate on an idle "
            "machine"
        )
    printed = samples[0].printed
    section = f"it prints {printed} s, and " if printed is not None else ""
    return f"too short: {section}the whole process takes {takes}; {enough_for}"


def _stalled(native: float, least: float) -> str:
    """Returns why a program's memory stalls leave too little core time to be fitted."""
    stalls, whole = units.seconds(least), units.seconds(native)
    if least < native:
        what = f"takes most of the time: {stalls} of {whole} by virtual time, and the rest says little of the core"
    else:
        what = f"alone takes {stalls} by virtual time, more than the whole takes natively, {whole}"
    return f"memory {what}; give a size that the caches hold"


def _rests_on(native: Interval, by: str, runs: int) -> str:
    what = "as printed" if by == "printed" else "of the whole process"
    return f"{runs} runs of {units.seconds(native.middle)} {what}"
