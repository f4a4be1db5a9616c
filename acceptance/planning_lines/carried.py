"""Plans of class W in class A, beside class A's own: until the planner has made another there, and to the end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, Line, Measured
from terrace.lab import study
from terrace.lab.experiment import measure, unimem
from terrace.lab.experiment.cells import Cell
from terrace.lab.experiment.recording import Place, build, profile, record, recording

from planning_lines.common import WORK

PROGRAMS = ("cg", "mg")
SMALL, LARGE = "W", "A"
SIZE = "256MB"  # the study's share of the data
LOST = 0.02  # of fast-only's time


def _place(problem_class: str) -> Place:
    return Place(WORK / f"unimem-{problem_class}", ROOT, problem_class)


def _loop(place: Place, name: str, machine: str, plan: Path, *, better: bool = False) -> float:
    of = recording(place, name, machine)
    fast = measure.fast_bytes(Cell(name, machine, "planned auto", SIZE), of.footprint)
    store = place.folder / "carried.terrace"
    store.unlink(missing_ok=True)
    words: list[str | Path] = ["replay", of.misses, "--quiet", "--machine", machine, *of.options]
    options = ["--better-plan"] if better else []
    study.run_terrace([*words, "--plan", plan, *options, "--fast", str(fast), "--output", store])
    if not better:
        study.obeyed(store)
    return study.outcome(store).loop


@dataclass(frozen=True)
class Case:
    """One program on one machine in the larger class: loops in seconds."""

    name: str
    own: float
    kept: float
    bettered: float
    fast: float
    slow: float

    def lost(self, carried: float) -> float:
        """Of fast-only's time, against its own plan."""
        return (carried - self.own) / self.fast

    def line(self, carried: float) -> str:
        return (
            f"{self.name}: {self.lost(carried):+.1%} of fast-only (own plan {self.own / self.fast - 1:+.1%}, "
            f"carried {carried / self.fast - 1:+.1%}, slow-only {self.slow / self.fast - 1:+.1%})"
        )


@functools.cache
def _cases() -> list[Case]:
    cases = []
    for name in PROGRAMS:
        for problem_class in (SMALL, LARGE):
            place = _place(problem_class)
            build(place, [name])
            for machine in unimem.MANAGED:
                record(place, name, machine)
                profile(place, name, machine)
        for machine in unimem.MANAGED:
            cell = Cell(name, machine, "planned auto", SIZE)
            for problem_class in (SMALL, LARGE):
                measure.answer(_place(problem_class), cell)  # which makes the plan
            small, large = _place(SMALL), _place(LARGE)
            plan = f"plans/{cell.name}.toml"
            cases.append(
                Case(
                    f"{name} on {machine}",
                    own=_loop(large, name, machine, large.folder / plan),
                    kept=_loop(large, name, machine, small.folder / plan),
                    bettered=_loop(large, name, machine, small.folder / plan, better=True),
                    fast=measure.answer(large, Cell(name, machine, "fast-only")).loop_s,
                    slow=measure.answer(large, Cell(name, machine, "slow-only")).loop_s,
                )
            )
    return cases


def _judged(carried: Callable[[Case], float]) -> Measured:
    cases = _cases()
    holds = all(case.lost(carried(case)) <= LOST for case in cases)
    return Measured("\n".join(case.line(carried(case)) for case in cases), holds)


GOAL = f"a plan from class W loses at most {LOST:.0%} against class A's own"
LINES = [
    Line("carried plans", GOAL, lambda: _judged(lambda case: case.kept)),
    Line(
        "carried plans, bettered",
        GOAL + ", bettered while the program runs (--better-plan)",
        lambda: _judged(lambda case: case.bettered),
    ),
]
