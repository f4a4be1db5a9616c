"""Whether a program's native time at the size for calibration gives a core time of an instruction that can be
believed, and how sure it is.

Virtual time is a line in the core time of an instruction (core_times.py). The native runs give an interval of
times, the line an interval of core times. The constant is refused, with one sentence that says why, where the
clock is too coarse for the section, the runs are too short or too noisy, threads wait, the memory's part of the
time leaves too little for the core, or no core could be as quick or as slow. The machine's constant stands then.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from terrace import units
from terrace.solve import core_times

# What a clock has to tell apart: a hundredth of the time is within the spread of most programs.
FINEST = 0.01
# Seconds of a printed section. In a shorter one first touches of memory and a core that still speeds up count.
SHORTEST_SECTION = 1e-3
# Times what starting a program takes: a process is timed whole, less a start. That of a program with more
# libraries takes up to twice as long, so at most a twentieth of the time is wrong.
STARTS = 20
# Of the time of a run. Of one that was kept from its processor longer, what the program printed says little; the
# time that it had the processor is as good as any other's.
MAX_DELAYED = 0.05
QUIET_RUNS = 9  # are enough for the printed clock, however many others there were
# Of the time of a run that a thread may wait, and by how much more processors than one may be at work.
MAX_WAITED = 0.1
# Seconds by which a wall's clock may be read late on a busy machine, in all of the runs.
LATE = 5e-3
# Seconds that it costs at least when a thread waits and is woken: two switches and what the caches lost.
WAIT = 5e-6
# Of the native time, for the core. Virtual time knows stalls to about a fifth: of two thirds of the time, that is
# 40 % of a third.
MIN_CORE = 1 / 3
# Half of the constant's interval, in parts of the constant: enough, and the most that is believed.
ENOUGH, MAX_SPREAD = 0.03, 0.15
CONFIDENCE = 0.95
# Instructions of the scalar code that a core does at most in a cycle: the widest cores begin eight, and each may
# be a vector instruction on sixteen elements (512 bits of floats).
MAX_A_CYCLE = 8 * 16
# Cycles that an instruction takes at most without a miss: in a chain where each waits for the last. Additions and
# multiplications of floats take 3 to 5 cycles, loads that hit the first cache 4 or 5; divisions and square roots
# count as 16 instructions.
MAX_CYCLES = 5.0
ASSUMED_FREQUENCY = 2.6e9  # Hz, of machine files that do not say, as for the calls of libm


@dataclass(frozen=True)
class Interval:
    """An estimate, and where the truth lies with CONFIDENCE."""

    low: float
    middle: float
    high: float

    @property
    def spread(self) -> float:
        """Half of its width, in parts of the estimate."""
        return (self.high - self.low) / 2 / self.middle if self.middle > 0 else math.inf

    def scaled(self, by: Callable[[float], float]) -> Interval:
        """Of what grows with the estimate."""
        return Interval(by(self.low), by(self.middle), by(self.high))


@dataclass(frozen=True)
class Sample:
    """One native run of one thread. Times in seconds."""

    wall: float
    processor: float  # of its user code and of the system's for it
    user: float  # of that, as the system's ticks tell it: right in the mean only
    delayed: float = 0.0  # that it was ready, and other programs had the processor
    voluntary: int = 0  # times that a thread gave the processor away to wait
    printed: str | None = None  # the time that it printed, as it stands there


@dataclass(frozen=True)
class Virtual:
    """The same of virtual time, at one core time."""

    process: float
    printed: float | None


@dataclass(frozen=True)
class Start:
    """What a program that does nothing takes. Seconds."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Constant:
    """The core time of an instruction that a program gets, and why."""

    core_time: float | None  # seconds; None: the machine's
    why: str  # what it rests on, or why it was refused
    clock: str = ""  # "printed" or "process": what was compared
    runs: int = 0
    interval: Interval | None = None  # of the core time, where the runs gave one
    native: Interval | None = None  # of what was compared

    @property
    def calibrated(self) -> bool:
        """Whether it is the program's own."""
        return self.core_time is not None

    def said(self, default: float) -> str:
        """In a few words; `default` is the machine's."""
        if self.core_time is None or self.interval is None:
            return f"the machine's {units.seconds(default)} an instruction: {self.why}"
        return f"{units.seconds(self.core_time)} an instruction, +-{self.interval.spread:.1%}: {self.why}"


def with_printed(sample: Sample, printed: str | None) -> Sample:
    """The same run, with the time that it printed."""
    return replace(sample, printed=printed)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median, and the two values between which the truth's median lies with at least `confidence` whatever the
    distribution: by ranks, from the binomial distribution of how many values are below it. Fewer than six values
    cannot say so much; their least and largest are given."""
    ordered = sorted(values)
    count = len(ordered)
    rank, outside = 0, 0.5**count  # values left out on each side; the chance that the truth is beyond, one side
    while rank + 1 < (count + 1) // 2:
        outside += math.comb(count, rank + 1) * 0.5**count
        if 2 * outside > 1 - confidence:
            break
        rank += 1
    return Interval(ordered[rank], statistics.median(ordered), ordered[count - 1 - rank])


def resolution(printed: str) -> float:
    """The least step of a number as it is printed: 0.01 of "1.25", 1e-4 of "1.25e-02"."""
    mantissa, _, exponent = re.sub("[dD]", "e", printed).lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def is_coarse(printed: Sequence[str]) -> bool:
    """Whether times that were printed so tell less than FINEST of the time apart."""
    middle = statistics.median(number(one) for one in printed)
    return max(resolution(one) for one in printed) > FINEST * middle


def number(printed: str) -> float:
    """The number that a program printed, Fortran's exponents included."""
    return float(re.sub("[dD]", "e", printed))


def undisturbed(samples: Sequence[Sample]) -> list[Sample]:
    """Those that had the processor when they wanted it: of these, wall clocks tell the time that was needed."""
    return [one for one in samples if one.delayed <= MAX_DELAYED * one.wall]


def are_enough(quiet: Sequence[Sample], samples: Sequence[Sample]) -> bool:
    """Whether the undisturbed ones among the samples are enough for a wall's clock."""
    return 2 * len(quiet) >= len(samples) or len(quiet) >= QUIET_RUNS


def clock(samples: Sequence[Sample]) -> str:
    """ "printed" where every run printed a time that is fine enough, else "process"."""
    printed = [one.printed for one in samples if one.printed is not None]
    return "printed" if len(printed) == len(samples) and not is_coarse(printed) else "process"


def native_time(samples: Sequence[Sample], by: str, start: Start) -> Interval:
    """By the clock: of the section as printed, or of the process's own code, less a start. The system splits a
    process's time between it and itself by ticks, so the share is that of all runs together."""
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
    """Of a program whose virtual time is `at_least` without core time and `at_probe` at `probe` seconds. What
    starting a program takes, and the clock rate of the machine where the samples were taken, say what can be
    believed."""
    quiet = undisturbed(samples)
    fine = clock(samples) == "printed" and _is_time(samples, at_least, at_probe)
    printed = fine and are_enough(quiet, samples)
    by = "printed" if printed else "process"
    taken = quiet if printed else samples
    native = native_time(taken, by, start)
    # Waits for files or other threads are in neither time of a process: what virtual time takes without its core
    # is sleep or memory.
    waits_count = printed or at_least.process > MAX_WAITED * native.middle
    if refused := of_threads(samples, start, waits_count=waits_count):
        return Constant(None, refused, by, len(taken))
    disturbed = len(samples) - len(quiet) if fine and not printed else 0
    if refused := _too_short(taken, native, start, by, disturbed):
        return Constant(None, refused, by, len(taken), native=native)
    least, most = (at_least.printed, at_probe.printed) if by == "printed" else (at_least.process, at_probe.process)
    assert least is not None and most is not None  # printed natively, so printed there
    if most <= least:
        return Constant(None, "no instruction is seen in what is timed; is it built with hooks?", by, len(taken))
    if native.middle - least < MIN_CORE * native.middle:
        return Constant(None, _stalled(native.middle, least), by, len(taken), native=native)

    def fitted(time: float) -> float:
        return core_times.of_program(time, least, most, probe)

    interval = native.scaled(fitted)
    found = Constant(interval.middle, _rests_on(native, by, len(taken)), by, len(taken), interval, native)
    if interval.spread > MAX_SPREAD:
        why = f"too noisy: {len(taken)} runs tell it to {interval.spread:.0%} only, not {MAX_SPREAD:.0%}; "
        why += "calibrate on an idle machine, or with a larger size"
        return Constant(None, why, by, len(taken), interval, native)
    if refused := beyond(interval.middle, frequency):
        return Constant(None, refused, by, len(taken), interval, native)
    return found


def is_settled(found: Constant) -> bool:
    """Whether more runs would say nothing new: sure enough, or refused for what no run changes."""
    if found.interval is not None:
        return found.interval.spread <= ENOUGH
    return not found.calibrated and not found.why.startswith("too noisy")


def beyond(core_time: float, frequency: float | None) -> str:
    """Why no core takes so long for an instruction, or so short; empty where one can."""
    rate = frequency or ASSUMED_FREQUENCY
    least, most = possible(frequency)
    at = f"at {rate / 1e9:.2g} GHz"
    if core_time < least:
        return (
            f"no core is so quick: {units.seconds(core_time)} an instruction, and one that begins {MAX_A_CYCLE} "
            f"in a cycle {at} takes {units.seconds(least)}"
        )
    if core_time > most:
        return (
            f"no core without misses is so slow: {units.seconds(core_time)} an instruction, and one that waits "
            f"{MAX_CYCLES:g} cycles for each {at} takes {units.seconds(most)}; something else took the time"
        )
    return ""


def possible(frequency: float | None) -> tuple[float, float]:
    """What an instruction takes at least and at most, without misses."""
    rate = frequency or ASSUMED_FREQUENCY
    return 1 / (MAX_A_CYCLE * rate), MAX_CYCLES / rate


def _is_time(samples: Sequence[Sample], at_least: Virtual, at_probe: Virtual) -> bool:
    """Whether the number that was printed as a time is one: natively no more than the run took, and in virtual
    time more with a larger core time. A simulation's own time is not."""
    if at_least.printed is None or at_probe.printed is None or at_probe.printed <= at_least.printed:
        return False
    return all(one.printed is not None and number(one.printed) <= one.wall for one in samples)


def of_threads(samples: Sequence[Sample], start: Start, *, waits_count: bool) -> str:
    """Why the runs are not those of one thread at work. On a busy machine a wall's clock is read late: the run
    that it says least against counts. Time asleep is a reason only where it counts in what is compared; what
    waking costs always is one."""
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
    """Why the clock says too little of so short a time; so many runs kept their print from counting."""
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
    stalls, whole = units.seconds(least), units.seconds(native)
    if least < native:
        what = f"takes most of the time: {stalls} of {whole} by virtual time, and the rest says little of the core"
    else:
        what = f"alone takes {stalls} by virtual time, more than the whole takes natively, {whole}"
    return f"memory {what}; give a size that the caches hold"


def _rests_on(native: Interval, by: str, runs: int) -> str:
    what = "as printed" if by == "printed" else "of the whole process"
    return f"{runs} runs of {units.seconds(native.middle)} {what}"
