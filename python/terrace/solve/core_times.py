"""What an instruction takes in a program and in each of its phases, fitted at a size that the caches hold.

Virtual time is a line in the core time of an instruction, as long as no place is saturated: two runs at two core
times give it, for the program's timed section and for each phase. Where it meets the native time is the fit.

A phase has the median of all its runs (iterations, repetitions), natively and in virtual time. What the clock
cannot tell in so short a time, and what comes out far from the whole program's, is noise: such phases take the
program's. Names that differ by numbers only are one family, whose largest phase decides: a program's grids, say,
have other numbers at another size.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from terrace.store.values import PhaseInstance

# Seconds of core time for an instruction, where the fit leaves none. Who waits for the clock has to see it go on.
MIN = 1e-13
SHORTEST = 20e-6  # seconds; a phase that is shorter natively is not fitted
FARTHEST = 4.0  # times the program's; beyond, a phase's fit is not believed

_NUMBER = "[0-9]*"  # as a shell's pattern

Times = Mapping[str, float]  # seconds, by phase


@dataclass(frozen=True)
class PhaseFit:
    """The core time of an instruction in the phases that a pattern matches, and why."""

    pattern: str
    native: float | None  # seconds of the family's largest phase; None where it did not run natively
    core_time: float
    rests_on: str  # "phase", or why it is the program's


@dataclass(frozen=True)
class PhaseFits:
    """The core time of a program, and of its phases that have their own."""

    core_time: float
    phases: list[PhaseFit] = field(default_factory=list)

    def options(self) -> list[str]:
        """As `terrace simulate` takes them."""
        of_phases = [f"{phase.pattern}={_picoseconds(phase.core_time)}" for phase in self.phases]
        return [f"--core-time={given}" for given in (_picoseconds(self.core_time), *of_phases)]


def of_program(native: float, at_least: float, at_probe: float, probe: float) -> float:
    """Core time with which virtual time is `native`; it is `at_least` at MIN, `at_probe` at `probe`."""
    return max(MIN + (native - at_least) / (at_probe - at_least) * (probe - MIN), MIN)


def of_phases(program: float, native: Times, at_least: Times, at_probe: Times, probe: float) -> list[PhaseFit]:
    """For each family of phases of the virtual runs, the most particular pattern first: the first that matches is
    the one that counts."""
    families: dict[str, list[str]] = {}
    for name in filter(None, at_probe):  # what has no name has no pattern either
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
    return sorted(fits, key=lambda fit: _generality(fit.pattern))


def pattern(name: str) -> str:
    """What matches a phase of this name at another size: numbers may differ."""
    literal = re.sub(r"([\[\]*?\\])", r"\\\1", name)
    return re.sub(r"[0-9]+", _NUMBER, literal)


def medians(runs: Sequence[Sequence[PhaseInstance]]) -> dict[str, float]:
    """Seconds of each phase, of all its instances in all runs."""
    took: dict[str, list[float]] = {}
    for instances in runs:
        for phase in instances:
            took.setdefault(phase.name, []).append(phase.ended - phase.begun)
    return {name: statistics.median(times) for name, times in took.items()}


def _generality(of: str) -> tuple[int, int, str]:
    numbers = of.count(_NUMBER)
    return -(len(of) - numbers * len(_NUMBER)), numbers, of


def _picoseconds(seconds: float) -> str:
    return f"{seconds * 1e12:.9f}ps"
