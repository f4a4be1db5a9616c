# SPDX-License-Identifier: Apache-2.0
"""Runs programs to calibrate their core time: natively with one thread until the time is known, and twice in
virtual time. `terrace lab calibrate` and `validate` use it; core_times.py fits the core time; calibration.py
decides whether the result is plausible."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from terrace.errors import TerraceError
from terrace.lab import native, study
from terrace.lab.surroundings import AS_HERE, Surroundings
from terrace.output import progress
from terrace.solve import calibration, core_times
from terrace.solve.calibration import Constant, Sample, Virtual
from terrace.solve.core_times import PhaseFits
from terrace.solve.function_times import FunctionFits
from terrace.store.reader import Store
from terrace.store.values import Counters, PhaseInstance

# "Time   0.25 s", "Time in seconds =   0.25"
TIME = r"^\s*[Tt]ime(?: in seconds)?\s*[=:]?\s*([0-9][0-9.eE+-]*)"
MIN_RUNS, MAX_RUNS = 9, 45
PROBE = 1e-9  # core time per instruction, seconds, of the second virtual run that a fit needs

Words = Sequence[str | os.PathLike[str]]
Fits = TypeVar("Fits", PhaseFits, FunctionFits)


@dataclass(frozen=True)
class Program:
    """Both builds of a program at the calibration size, and the pattern of its printed time, if it prints one."""

    name: str
    native: Words
    hooked: Words
    time: str | None = TIME
    around: Surroundings = AS_HERE


@dataclass(frozen=True)
class Calibrated(Generic[Fits]):
    """Result of a calibration; `fits` is None if the constant was refused."""

    constant: Constant
    fits: Fits | None

    def options(self) -> list[str]:
        """Returns the options of `terrace simulate`."""
        return [] if self.fits is None else self.fits.options()


@dataclass(frozen=True)
class Machine:
    """Properties of this machine that limit plausible core times."""

    instruction_time: float  # seconds; stated or measured, not specific to a program
    frequency: float | None


@dataclass(frozen=True)
class RunTimes:
    """Times of a run under `terrace`: the process, its printed time, and each phase. Seconds."""

    process: float
    printed: str | None
    phases: list[PhaseInstance]
    counters: Counters | None
    unhooked: float | None  # share of the time in uninstrumented code; None if not measured

    @property
    def time(self) -> Virtual:
        """Returns the times as calibration needs them."""
        return Virtual(self.process, None if self.printed is None else calibration.number(self.printed))


@dataclass
class _Calibration:
    """A program and the runs made so far."""

    program: Program
    at_least: RunTimes
    at_probe: RunTimes
    samples: list[Sample] = field(default_factory=list)
    phases: list[list[PhaseInstance]] = field(default_factory=list)
    constant: Constant | None = None


def calibrate(programs: Sequence[Program], machine: str, min_runs: int = MIN_RUNS) -> list[Calibrated[PhaseFits]]:
    """Returns the calibration of each program.

    `machine` is a file of this machine, as measured, or "" for its built-in description. Native runs are
    interleaved, so that background load affects all programs alike. Raises TerraceError if a run fails.
    """
    if not programs:
        return []
    about, start = describe(machine), native.start_up()
    ongoing = []
    with progress("virtual runs to calibrate", 2 * len(programs)) as steps:
        for program in programs:
            runs = []
            for core_time in (core_times.MIN, PROBE):
                options = PhaseFits(core_time).options()
                runs.append(simulated(program, machine, options))
                steps.done()
            ongoing.append(_Calibration(program, runs[0], runs[1]))
    most_runs = max(MAX_RUNS, min_runs)
    with progress("native runs to calibrate") as steps:
        for done in range(1, most_runs + 1):
            for one in ongoing:
                if one.constant is not None and calibration.is_final(one.constant):
                    continue
                _run_natively(one, phases=done <= min_runs)
                if done >= min_runs:
                    times = (one.at_least.time, one.at_probe.time)
                    one.constant = calibration.constant(one.samples, start, *times, PROBE, about.frequency)
                steps.done()
    return [_outcome(one) for one in ongoing]


def describe(machine: str) -> Machine:
    """Returns the properties of a machine file, or of this machine for ""."""
    (first, *_) = document(machine)["initiators"]
    return Machine(first["instruction_time"], first["frequency"] or None)


def document(machine: str) -> dict[str, Any]:
    """Returns the JSON of `terrace machine --json` for a machine file, or for this machine."""
    found: dict[str, Any] = json.loads(study.run_terrace(["machine", *([machine] if machine else []), "--json"]))
    return found


def one_thread(threads: int = 1) -> Mapping[str, str]:
    """Returns the environment of runs with that many threads, for programs that take the number from OpenMP."""
    return {"OMP_NUM_THREADS": str(threads)}


def printed(said: str, pattern: str | None) -> str | None:
    """Returns the time that a program printed, or None."""
    found = re.search(pattern, said, re.MULTILINE) if pattern is not None else None
    return found[1] if found is not None else None


def simulated(program: Program, machine: str, options: Sequence[str]) -> RunTimes:
    """Runs a program in virtual time with one thread, on a machine file or on this machine."""
    return under_terrace("simulate", program.hooked, program.time, machine, options, around=program.around)


def under_terrace(
    subcommand: str,
    words: Words,
    time: str | None,
    machine: str,
    options: Sequence[str],
    threads: int = 1,
    around: Surroundings = AS_HERE,
) -> RunTimes:
    """Runs a program under `terrace run` or `terrace simulate`."""
    with tempfile.TemporaryDirectory(prefix="terrace-calibrate-") as folder:
        path = Path(folder) / "store.terrace"
        whole: list[str | os.PathLike[str]] = [subcommand, "--quiet", "--planner", "slow-only"]
        if machine:  # absolute path, because a run may have a folder of its own
            whole += ["--machine", Path(machine).resolve() if Path(machine).is_file() else machine]
        whole += ["--output", path, *options, "--", *words]
        said = study.run_terrace(whole, one_thread(threads), around)
        store = Store(path)
        run = store.run()
        if run.ended is None:
            command = " ".join(map(str, words))
            raise TerraceError(
                f"{command}: its profile ends early, so it was killed or called _exit; repeat the run"
            )
        covered = store.coverage(run)
        unhooked = covered.time_share if covered is not None and not covered.not_sampled else None
        return RunTimes(run.ended, printed(said, time), store.phase_instances(run), store.counters(run), unhooked)


def _run_natively(one: _Calibration, *, phases: bool) -> None:
    """Runs the program natively on this machine for its total time, and once more for its phase times if it has
    any.

    Phase times need markers and the uninstrumented build.
    """
    one.samples.append(timed(one.program))
    if phases and _has_phases(one):
        around = one.program.around
        one.phases.append(under_terrace("run", one.program.native, None, "", [], around=around).phases)


def timed(program: Program) -> Sample:
    """Runs a program natively with one thread."""
    said, sample = native.run(program.native, one_thread(), program.around)
    return calibration.with_printed(sample, printed(said, program.time))


def _has_phases(one: _Calibration) -> bool:
    return bool(one.at_probe.phases) and (not one.phases or bool(one.phases[0]))


def _outcome(one: _Calibration) -> Calibrated[PhaseFits]:
    assert one.constant is not None  # set, because there were runs
    if one.constant.core_time is None:
        return Calibrated(one.constant, None)
    native = core_times.medians(one.phases)
    return Calibrated(one.constant, fit(one.constant.core_time, native, one.at_least, one.at_probe))


def fit(core_time: float, native: core_times.Times, at_least: RunTimes, at_probe: RunTimes) -> PhaseFits:
    """Returns the core time of the program, and of its phases if they were timed natively."""
    if not native:
        return PhaseFits(core_time)
    without, with_probe = (core_times.medians([took.phases]) for took in (at_least, at_probe))
    return PhaseFits(core_time, core_times.of_phases(core_time, native, without, with_probe, PROBE))
