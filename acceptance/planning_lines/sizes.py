"""Measures the share of the possible gain that a plan reaches, from a sixteenth of the footprint to all, on the
study's recordings. A criterion of acceptance/planning."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from harness import ROOT, SETTINGS, Criterion, Measured, Unfinished, seconds_left, studied
from terrace.lab.experiment import unimem
from terrace.lab.experiment.cells import Answers, Cell
from terrace.lab.experiment.recording import Place
from terrace.lab.experiment.runner import run
from terrace.lab.experiment.setting import Reader

from planning_lines.common import experiment

SIZES = ("1/16", "1/8", "1/4", "1/2", "3/4", "1/1")
METHODS = ("planned auto", "bound")
SHARE = 0.97  # of the gain that the bound leaves possible
SLOWED = 0.02  # slow-only over the bound: programs with less to gain do not count
JOBS = 2


@dataclass(frozen=True)
class Case:
    """A program on a machine with one size of fast memory."""

    name: str
    share: float  # of the possible gain


def programs() -> tuple[str, ...]:
    """Returns the names of the study's programs, or those of --programs."""
    named = getattr(SETTINGS, "programs", None)
    return tuple(named.split(",")) if named else studied("unimem")


def place() -> Place:
    """Returns the folder of the study's recordings in the chosen class."""
    problem_class = getattr(SETTINGS, "size", "W")
    return Place(experiment("unimem", problem_class), ROOT, problem_class)


@functools.cache
def _cases() -> list[Case]:
    """Answers the cells of all sizes of fast memory, and returns the share that each plan reaches."""
    at = place()
    cells = [
        Cell(name, machine, method, size)
        for name in programs()
        for machine in unimem.MANAGED
        for method, sizes in [("slow-only", ("",)), *((method, SIZES) for method in METHODS)]
        for size in sizes
    ]
    if run(at, cells, JOBS, seconds=seconds_left()).left:
        raise Unfinished
    answers = Answers(at.folder)
    cases = []
    for name in programs():
        for machine in unimem.MANAGED:
            reader = Reader(answers, name, machine)
            for size in SIZES:
                bound, planned = (reader.get(method, size).loop_s for method in reversed(METHODS))
                if reader.slow >= bound * (1 + SLOWED):
                    share = (reader.slow - planned) / (reader.slow - bound)
                    cases.append(Case(f"{name} on {machine}, {size}", share))
    return cases


def gains() -> Measured:
    """Returns planned gains, as a share of slow-only less the bound."""
    cases = _cases()
    missed = sorted((case for case in cases if case.share < SHARE), key=lambda case: case.share)
    text = f"{len(cases) - len(missed)} of {len(cases)} cases get {SHARE:.0%} of the possible gain or more"
    for size in SIZES:
        shares = [case.share for case in cases if case.name.endswith(f", {size}")]
        if shares:
            text += f"\n{size}: {sum(shares) / len(shares):.1%} on average, the least {min(shares):.1%}"
    if missed:
        text += "\nleast: " + "; ".join(f"{case.name} {case.share:.1%}" for case in missed[:8])
    return Measured(text, bool(cases) and not missed)


CRITERIA = [
    Criterion(
        "sizes",
        f"from 1/16 to all of the footprint planned gets {SHARE:.0%} of the gain that the bound leaves possible, "
        f"wherever slow-only is {SLOWED:.0%} over it",
        gains,
    )
]
