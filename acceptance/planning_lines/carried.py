"""Runs plans of class W in class A, and compares them with class A's own: until the planner has made another one,
and to the end. Criteria of acceptance/planning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, Criterion, Measured, Unfinished, keep_part, seconds_left, studied
from terrace.lab import study
from terrace.lab.experiment import measure, unimem
from terrace.lab.experiment.cells import Answers, Cell
from terrace.lab.experiment.recording import Place, recording
from terrace.lab.experiment.runner import run
from terrace.lab.experiment.setting import Reader

from planning_lines.common import experiment

SMALL, LARGE = "W", "A"
SIZE = "256MB"  # the study's share of the data
LOST = 0.02  # of fast-only's time
PLANNED = "planned auto"
LARGE_METHODS = {"slow-only": "", "fast-only": "", PLANNED: SIZE, "bound": SIZE}
JOBS = 2


def _place(problem_class: str) -> Place:
    return Place(experiment("unimem", problem_class), ROOT, problem_class)


def _answer() -> None:
    """Runs class W's plans, and class A's own runs."""
    asked = {SMALL: {PLANNED: SIZE}, LARGE: LARGE_METHODS}
    for problem_class, methods in asked.items():
        cells = [
            Cell(name, m, *how) for name in studied("carried") for m in unimem.MANAGED for how in methods.items()
        ]
        if run(_place(problem_class), cells, JOBS, seconds=seconds_left()).left:
            raise Unfinished


def _carried(name: str, machine: str, *, better: bool) -> float:
    """Returns the seconds of class A's loop under class W's plan."""
    small, large = _place(SMALL), _place(LARGE)
    cell = Cell(name, machine, PLANNED, SIZE)
    of = recording(large, name, machine)
    store = large.folder / "carried.terrace"
    store.unlink(missing_ok=True)
    words: list[str | Path] = ["replay", of.misses, "--quiet", "--machine", machine, *of.options]
    words += ["--plan", small.folder / "plans" / f"{cell.name}.toml"]
    options = ["--refine-plan"] if better else []
    study.run_terrace(
        [*words, *options, "--fast", str(measure.fast_bytes(large, cell, of.footprint)), "--output", store]
    )
    if not better:
        study.check_follows_plan(store)
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
        """Returns the loss against the machine's own plan, as a share of fast-only's time."""
        return (carried - self.own) / self.fast

    def line(self, carried: float) -> str:
        return (
            f"{self.name}: {self.lost(carried):+.1%} of fast-only (own plan {self.own / self.fast - 1:+.1%}, "
            f"carried {carried / self.fast - 1:+.1%}, slow-only {self.slow / self.fast - 1:+.1%})"
        )


@functools.cache
def _cases() -> list[Case]:
    """Runs each program of the study under the carried plan, and reads its own plan's time and the bound."""
    _answer()
    cases = []
    for name in studied("carried"):
        for machine in unimem.MANAGED:
            reader = Reader(Answers(_place(LARGE).folder), name, machine)

            def carried(better: bool, name: str = name, machine: str = machine, reader: Reader = reader) -> float:
                part = f"carried-{name}-{machine}-{'bettered' if better else 'kept'}"
                seconds = keep_part(part, lambda: _carried(name, machine, better=better))
                return reader.checked(part, SIZE, seconds)

            cases.append(
                Case(
                    f"{name} on {machine}",
                    own=reader.get(PLANNED, SIZE).loop_s,
                    kept=carried(False),
                    bettered=carried(True),
                    fast=reader.fast,
                    slow=reader.slow,
                )
            )
    return cases


def _judged(carried: Callable[[Case], float]) -> Measured:
    cases = _cases()
    holds = all(case.lost(carried(case)) <= LOST for case in cases)
    return Measured("\n".join(case.line(carried(case)) for case in cases), holds)


GOAL = f"a plan from class W loses at most {LOST:.0%} against class A's own"
CRITERIA = [
    Criterion("carried plans", GOAL, lambda: _judged(lambda case: case.kept)),
    Criterion(
        "carried plans, bettered",
        GOAL + ", bettered while the program runs (--refine-plan)",
        lambda: _judged(lambda case: case.bettered),
    ),
]
