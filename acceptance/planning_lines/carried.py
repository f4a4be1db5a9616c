"""Plans of class W in class A, beside class A's own: until the planner has made another there, and to the end."""

from __future__ import annotations

from pathlib import Path

from harness import ROOT, Line, Measured
from terrace import study
from terrace.experiment import measure, unimem
from terrace.experiment.cells import Cell
from terrace.experiment.recording import Place, build, profile, record, recording

from planning_lines.common import WORK

PROGRAMS = ("cg", "mg")
SMALL, LARGE = "W", "A"
SIZE = "256MB"  # the study's share of the data
LOST = 0.02  # of fast-only's time


def _place(problem_class: str) -> Place:
    return Place(WORK / f"unimem-{problem_class}", ROOT, problem_class)


def _loop(place: Place, name: str, machine: str, plan: Path, *planner: str) -> float:
    of = recording(place, name, machine)
    fast = measure.fast_bytes(Cell(name, machine, "planned auto", SIZE), of.footprint)
    store = place.folder / "carried.terrace"
    store.unlink(missing_ok=True)
    words: list[str | Path] = ["replay", of.misses, "--quiet", "--machine", machine, *of.options]
    study.run_terrace([*words, "--plan", plan, *planner, "--fast", str(fast), "--output", store])
    return study.outcome(store).loop


def carried() -> Measured:
    """By how much a plan of the smaller class is slower than its own, in points of fast-only's time."""
    lines, holds = [], True
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
            fast = measure.answer(large, Cell(name, machine, "fast-only")).loop_s
            slow = measure.answer(large, Cell(name, machine, "slow-only")).loop_s
            own = _loop(large, name, machine, large.folder / "plans" / f"{cell.name}.toml")
            of_small = small.folder / "plans" / f"{cell.name}.toml"
            bettered = _loop(large, name, machine, of_small, "--planner", "auto")
            kept = _loop(large, name, machine, of_small)
            lost = (bettered - own) / fast
            holds = holds and lost <= LOST
            lines.append(
                f"{name} on {machine}: {lost:+.1%} of fast-only's time (own plan {own / fast - 1:+.1%}, carried "
                f"and bettered {bettered / fast - 1:+.1%}, carried and kept {kept / fast - 1:+.1%}, slow-only "
                f"{slow / fast - 1:+.1%})"
            )
    return Measured("\n".join(lines), holds)


LINES = [
    Line(
        "carried plans",
        f"a plan from class W loses at most {LOST:.0%} against class A's own, where --planner betters it",
        carried,
    )
]
