# SPDX-License-Identifier: Apache-2.0
"""Fits the core time per instruction of a program and of its phases, at a size that fits into the caches.
calibrating.py runs the program for it.

Virtual time is a linear function of the core time as long as no place is saturated. Two runs at two core times
determine it, for the program's timed section and for each phase. The fit is where it equals the native time.

A phase is represented by the median of all its instances (iterations, repetitions), natively and in virtual time.
Phases too short for the clock, and those with a result far from the whole program's, use the program's core time.
Names that differ only in numbers form a family, and its largest phase decides: at another size, for example, a
program's grids have other numbers.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from terrace.store.values import PhaseInstance

# Minimum core time in seconds. It is not 0, so that programs that poll the clock make progress.
MIN = 1e-13
SHORTEST = 20e-6  # seconds; natively shorter phases are not fitted
FARTHEST = 4.0  # maximum ratio of a phase's core time to the program's

_NUMBER = "[0-9]*"  # as a shell's pattern

Times = Mapping[str, float]  # seconds, by phase


@dataclass(frozen=True)
class PhaseFit:
    """Core time per instruction of the phases that match a pattern, and its basis."""

    pattern: str
    native: float | None  # seconds of the family's largest phase; None if it did not run natively
    core_time: float
    rests_on: str  # "phase", or why the program's core time is used


@dataclass(frozen=True)
class PhaseFits:
    """Core time of a program, and of its phases with one of their own."""

    core_time: float
    phases: list[PhaseFit] = field(default_factory=list)

    def options(self) -> list[str]:
        """Returns the options of `terrace simulate`."""
        of_phases = [f"{phase.pattern}={_picoseconds(phase.core_time)}" for phase in self.phases]
        return [f"--core-time={given}" for given in (_picoseconds(self.core_time), *of_phases)]


def of_program(native: float, at_least: float, at_probe: float, probe: float) -> float:
    """Returns the core time at which virtual time is `native`; it is `at_least` at MIN and `at_probe` at
    `probe`.
    """
    return max(MIN + (native - at_least) / (at_probe - at_least) * (probe - MIN), MIN)


def of_phases(program: float, native: Times, at_least: Times, at_probe: Times, probe: float) -> list[PhaseFit]:
    """Returns the fit of each family of phases of the virtual runs, the most specific pattern first: the first
    match applies.
    """
    families: dict[str, list[str]] = {}
    for name in filter(None, at_probe):  # phases without a name cannot be matched
        families.setdefault(pattern(name), []).append(name)
    fits = []
    for family, names in families.items():
        largest = max(names, key=lambda name: (native.get(name, 0.0), name))
        took = native.get(largest)
        without, with_probe = at_least.get(largest, 0.0), at_probe[largest]
        if took is None:
            fits.append(PhaseFit(family, took, program, "not run natively"))
        elif took < SHORTEST:
            fits.append(PhaseFit(family, took, program, "too short"))
        elif with_probe <= without:
            fits.append(PhaseFit(family, took, program, "no instructions seen"))
        else:
            fitted = of_program(took, without, with_probe, probe)
            near = program / FARTHEST <= fitted <= program * FARTHEST
            fits.append(PhaseFit(family, took, fitted if near else program, "phase" if near else "too far off"))
    return sorted(fits, key=lambda fit: _specificity_order(fit.pattern))


def pattern(name: str) -> str:
    """Returns the pattern for phases of this name at another size: numbers may differ."""
    literal = re.sub(r"([\[\]*?\\])", r"\\\1", name)
    return re.sub(r"[0-9]+", _NUMBER, literal)


def medians(runs: Sequence[Sequence[PhaseInstance]]) -> dict[str, float]:
    """Returns the seconds of each phase, as the median of its instances in all runs."""
    took: dict[str, list[float]] = {}
    for instances in runs:
        for phase in instances:
            took.setdefault(phase.name, []).append(phase.ended - phase.begun)
    return {name: statistics.median(times) for name, times in took.items()}


def _specificity_order(family: str) -> tuple[int, int, str]:
    """Returns a sort key that puts the pattern with the most fixed characters first."""
    numbers = family.count(_NUMBER)
    return -(len(family) - numbers * len(_NUMBER)), numbers, family


def _picoseconds(seconds: float) -> str:
    return f"{seconds * 1e12:.9f}ps"
