"""Compares a program's virtual time with the clock, calibrated as `--native` does it, at the size compared. The
criteria in others_lines/clock.py call it.

Calibration takes the processor time of a run's own code as its measure. What is compared is therefore another
clock, read in other runs: the time of the timed section as the program prints it, else the time that passes during
a run, with what the system does for it.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from terrace.lab import calibrating, native, own_size, validation
from terrace.lab.calibrating import Program
from terrace.lab.surroundings import Surroundings
from terrace.solve.calibration import Sample, Start

from others_tool.build import WAYS, BuildTree, build
from others_tool.execute import arguments, filled
from others_tool.inputs import prepared
from others_tool.recipe import Recipe

RUNS = 5  # native ones at the size that is compared; the virtual run is between them


@dataclass(frozen=True)
class ClockComparison:
    """Times in seconds; shares of 1."""

    clock: str  # reference time: "printed": of a section, by the program itself; "run": wall clock of the run
    native: float  # the median
    spread: float  # largest less least
    virtual: float
    error: float  # of virtual time, in parts of the native one
    core_time: float  # of an instruction
    calibrated: bool  # whether it is the program's own
    constant: str  # the constant, and what it rests on
    memory: float  # share of virtual time that waits for memory
    not_seen: float | None  # share of the process's time in code without hooks; None where it was not measured
    system: float  # processor time that the system took for the process natively: in no virtual time
    wall: float  # of the process, natively


def compare(recipe: Recipe, size: str, work: Path, machine: Path) -> ClockComparison:
    """Compares virtual time on the machine of the file, which is this one, with the clock. Raises NotBuilt,
    WrongResult and TerraceError."""
    built = {way: build(recipe, way, work) for way in WAYS}
    program, start = called(recipe, built, size, work), native.start_up()
    found = own_size.calibrate(program, str(machine))
    default, options = calibrating.describe(str(machine)).instruction_time, found.options()
    samples = [calibrating.timed(program) for _ in range(RUNS // 2)]
    took = calibrating.simulated(program, str(machine), options)
    samples += [calibrating.timed(program) for _ in range(RUNS - len(samples))]
    row = validation.row(recipe.name, 1, samples, took.time, found.constant.core_time, start)
    clock, native_time, spread = row.clock, row.native, row.spread
    if clock != "printed":
        clock, (native_time, spread) = "run", elapsed(samples, start)
    counters = took.counters
    return ClockComparison(
        clock=clock,
        native=native_time,
        spread=spread,
        virtual=row.virtual,
        error=row.virtual / native_time - 1,
        core_time=default if row.core_time is None else row.core_time,
        calibrated=row.core_time is not None,
        constant=found.constant.describe(default),
        memory=0.0 if counters is None else 1 - min(counters.core / took.process, 1.0),
        not_seen=took.unhooked,
        system=statistics.median(one.processor - one.user for one in samples),
        wall=statistics.median(one.wall for one in samples),
    )


def elapsed(samples: Sequence[Sample], start: Start) -> tuple[float, float]:
    """Returns the median wall-clock time of a run and its range, less process start-up and run-queue delay
    (runnable but not running)."""
    times = [one.wall - one.delayed - start.wall for one in samples]
    return max(statistics.median(times), 1e-9), max(times) - min(times)


def called(recipe: Recipe, built: Mapping[str, BuildTree], size: str, work: Path) -> Program:
    """Returns both forms of the command, as calibration takes them."""
    run, inputs = recipe.runs[size], prepared(recipe, work)
    words = {way: [str(one.of(run)), *arguments(run, inputs, one)] for way, one in built.items()}
    folder = work / "folders" / recipe.name / size
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, of in run.files.items():
        shutil.copy(filled(of, inputs, built["native"]), folder / name)
    stdin = Path(filled(run.stdin, inputs, built["native"])) if run.stdin else None
    time = recipe.seconds or calibrating.TIME
    return Program(recipe.name, words["native"], words["hooked"], time, Surroundings(stdin, folder, recipe.status))
