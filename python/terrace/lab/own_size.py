# SPDX-License-Identifier: Apache-2.0
"""Fits core times by function at a program's own problem size, for `terrace lab calibrate`.

The native build runs a few times and is sampled by function (function_samples.py). The instrumented build runs
once in virtual time and counts events by function (function_times.py). Neither a printed time nor another problem
size is needed.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terrace import units
from terrace.lab import calibrating, native, study
from terrace.lab.calibrating import Calibrated, Program
from terrace.lab.function_samples import SHORTEST
from terrace.output import progress
from terrace.solve import calibration, function_times
from terrace.solve.calibration import Constant, Interval, Sample, Start
from terrace.solve.function_times import FunctionFits, Use

MIN_RUNS, MAX_RUNS = 5, 45
ENOUGH_SECONDS = 60.0  # total of native runs, once there are MIN_RUNS
# In all runs. A function with 1 % of the time has 40 samples, a relative standard error of one sixth.
ENOUGH_SAMPLES = 4000
FEWEST_SAMPLES = 400
SAMPLES_OF_A_RUN = 4000
LONGEST_PERIOD = 1e-3  # seconds
SHORTEST_TIME = 1e-3  # seconds of own code per run; in shorter runs cold caches and page faults dominate


@dataclass
class NativeRuns:
    """All native runs, in seconds.

    On a virtual machine a sample costs tens of microseconds. So sampled runs give the distribution of time over
    functions, and unsampled runs give its amount.
    """

    plain: list[Sample] = field(default_factory=list)
    sampled: list[Sample] = field(default_factory=list)
    time: Counter[str] = field(default_factory=Counter)  # by function, total of the sampled runs
    elsewhere: float = 0.0
    count: float = 0.0  # number of samples
    lines: int = 0  # of output per run
    why_not_sampled: str = ""

    @property
    def runs(self) -> list[Sample]:
        """Returns all runs."""
        return [*self.plain, *self.sampled]

    def own(self, start: Start) -> Interval:
        """Returns the time of the program's own code per run."""
        processor = calibration.median_interval([one.processor for one in self.plain])
        if self.sampled:
            # Sampled runs also contain the start of a shell.
            whole = sum(max(one.processor - start.processor, 0.0) for one in self.sampled)
            share = min(sum(self.time.values()) / max(whole, 1e-12), 1.0)
            return processor.scaled(lambda took: share * took)
        user = sum(one.user for one in self.plain) / sum(one.processor for one in self.plain)
        return processor.scaled(lambda took: user * max(took - start.processor, 0.0))

    def by_function(self, start: Start) -> dict[str, float]:
        """Returns the time of own code by function in the median run."""
        scale = self.own(start).middle / max(sum(self.time.values()), 1e-12)
        return {name: took * scale for name, took in self.time.items()}


@dataclass(frozen=True)
class VirtualRun:
    """The run in virtual time."""

    uses: Mapping[str, Use]
    lines: int


def calibrate(program: Program, machine: str) -> Calibrated[FunctionFits]:
    """Calibrates a program. `machine` is a file of this machine, as measured, or "" for its built-in description.

    Raises TerraceError if a run fails.
    """
    start = native.start_up()
    with progress("native runs to calibrate") as steps:
        natively = run_natively(program, steps.done)
    with progress("virtual run to calibrate", 1) as steps:
        hooked = simulate(program, machine)
        steps.done()
    return judge(natively, hooked, calibrating.document(machine), start)


def run_natively(program: Program, done: Callable[[], None] = lambda: None) -> NativeRuns:
    """Runs until the time is known, with sampling in every second run. The first run sets the sampling period."""
    found = NativeRuns()
    period: float | None = None
    while not _is_enough(found):
        try:
            run = native.run_whole(program.native, calibrating.one_thread(), program.around, period=period)
        except native.NotSampledError as error:
            found.why_not_sampled = str(error)
            period = None
            continue
        native.check(run, program.native, program.around)
        done()
        found.lines = run.stdout.count("\n")
        if run.where is not None and period is not None:
            found.sampled.append(run.sample)
            found.time.update(run.where.time)
            found.elsewhere += run.where.elsewhere
            found.count += sum(run.where.time.values()) / period
        else:
            found.plain.append(run.sample)
        if period is not None or found.why_not_sampled:
            period = None
        else:
            wanted = statistics.median(one.processor for one in found.plain) / SAMPLES_OF_A_RUN
            period = min(max(wanted, SHORTEST), LONGEST_PERIOD)
    return found


def _is_enough(found: NativeRuns) -> bool:
    """Returns whether the native runs suffice: their time is settled and there are enough samples."""
    if len(found.plain) < MIN_RUNS:
        return False
    if len(found.plain) >= MAX_RUNS or sum(one.wall for one in found.runs) > ENOUGH_SECONDS:
        return True
    settled = calibration.median_interval([one.processor for one in found.plain]).spread <= calibration.ENOUGH
    return settled and (found.count >= ENOUGH_SAMPLES or bool(found.why_not_sampled))


def simulate(program: Program, machine: str) -> VirtualRun:
    """Runs in virtual time with one thread, on a machine file or on this machine."""
    with tempfile.TemporaryDirectory(prefix="terrace-calibrate-") as folder:
        counts = Path(folder) / "functions"
        counts.mkdir()
        whole: list[str | os.PathLike[str]] = ["simulate", "--quiet", "--planner", "slow-only"]
        whole += ["--functions", counts]
        if machine:
            whole += ["--machine", Path(machine).resolve() if Path(machine).is_file() else machine]
        whole += ["--output", Path(folder) / "store.terrace", "--", *program.hooked]
        said = study.run_terrace(whole, calibrating.one_thread(), program.around)
        text = "".join(path.read_text(errors="replace") for path in sorted(counts.iterdir()))
    return VirtualRun(function_times.read_uses(text), said.count("\n"))


def judge(
    natively: NativeRuns, hooked: VirtualRun, document: Mapping[str, Any], start: Start
) -> Calibrated[FunctionFits]:
    """Returns the result of the runs, or the reason why they give none. `document` is the machine's JSON."""
    runs, interval = len(natively.plain), natively.own(start)
    if refused := _refused(natively, hooked, interval.middle):
        return Calibrated(Constant(None, refused, "process", runs), None)
    prices = function_times.prices(document)
    whole = function_times.total(hooked.uses)
    constant = interval.scaled(lambda took: function_times.core_time(whole, took, prices))
    if interval.spread > calibration.MAX_SPREAD:
        why = f"too noisy: {runs} runs give it to {interval.spread:.0%} only, not {calibration.MAX_SPREAD:.0%}; "
        why += "calibrate on an idle machine"
        return Calibrated(Constant(None, why, "process", runs, constant, interval), None)
    if refused := calibration.beyond(constant.middle, document["initiators"][0]["frequency"] or None):
        return Calibrated(Constant(None, refused, "process", runs, constant, interval), None)
    fits = function_times.fit(hooked.uses, natively.by_function(start), natively.count, prices, constant.middle)
    if natively.why_not_sampled:
        how = f"without a division by function ({natively.why_not_sampled})"
    else:
        how = f"{len(fits.functions)} functions fitted separately"
    stalls = prices.stalls(whole)
    if stalls > calibration.MIN_CORE * 2 * interval.middle:
        how += f"; virtual time attributes {units.seconds(stalls)} of it to memory, so the core time is uncertain"
    why = f"{runs} runs of {units.seconds(interval.middle)} of own code, {how}"
    return Calibrated(Constant(constant.middle, why, "process", runs, constant, interval), fits)


def _refused(natively: NativeRuns, hooked: VirtualRun, took: float) -> str:
    """Returns why the two builds cannot be compared, or "".

    Tests the duration first, because short runs are noisy.
    """
    if took < SHORTEST_TIME:
        return (
            f"too short: its own code takes {units.seconds(took)} per run, and at least "
            f"{units.seconds(SHORTEST_TIME)} is needed; give the arguments of a larger size with --calibrate"
        )
    if refused := calibration.thread_problem(natively.runs, Start(0.0, 0.0), waits_count=False):
        return refused
    if natively.lines != hooked.lines:
        return (
            f"the native program prints {natively.lines} lines and the instrumented one {hooked.lines}: they do "
            "different work; build both from the same source with the same options"
        )
    if function_times.total(hooked.uses).instructions <= 0:
        return "no instruction of it was observed; is it built with the wrappers?"
    if not natively.why_not_sampled and natively.count < FEWEST_SAMPLES:
        return f"too few samples of its time: {natively.count:.0f}; at least {FEWEST_SAMPLES} are needed"
    return ""
