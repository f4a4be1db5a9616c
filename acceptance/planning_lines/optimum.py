"""Compares the default planner with the exact optimum, of random problems and of workloads in class S, and with
the paper's planners, predicted and simulated. Criteria of acceptance/planning."""

from __future__ import annotations

import functools
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from harness import Criterion, Measured, every_workload, fresh, keep_part, workload, workloads
from terrace import _core
from terrace.errors import TerraceError
from terrace.lab import study
from terrace.lab.study import Configuration
from terrace.lab.workers import workers
from terrace.solve.certificate import certificate, whole_phases
from terrace.solve.figures import check_bound
from terrace.solve.linear import linear_bound
from terrace.solve.optimum import executable_optimum

from planning_lines.common import CACHE, MACHINES, Dump, recorded
from planning_lines.instances import MAX_CHUNKS, MAX_PHASES, instance

INSTANCES = 200
ABOVE = 0.01  # of the optimum
SLOWER = 0.01  # simulated, than the better of the paper's planners
SOLVER_SECONDS = 60.0
CLOSED = 1e-3  # gap below which the solver's answer is the optimum
SOLVER_ROUNDING = 1e-6  # of a time: HiGHS keeps its rows to 1e-7, scaled
SHARES = (4, 2)  # of the footprint, one over that
PLANNERS = ("auto", "local", "global")
LIBRARY_ITEMS = 4096  # of a problem, at most, unless told


@dataclass(frozen=True)
class PlanRatios:
    """Ratios of one problem's default plan to the optimum, or to the solver's proven bound if it did not finish in
    time, and to the better of local and global."""

    name: str
    over_optimum: float
    over_paper: float
    solved: bool

    def text(self) -> str:
        """Describes a plan's distance from the optimum."""
        return (
            f"{self.name} {self.over_optimum:+.2%}"
            if math.isfinite(self.over_optimum)
            else f"{self.name} (nothing)"
        )


def _compare(name: str, dump: Dump) -> PlanRatios:
    """Returns a problem's planned time over the exact optimum and over the paper's planners."""
    problem = _core.Problem.from_dump(dump)
    planned = _core.decide(problem, "auto").prediction.total
    paper = min(_core.decide(problem, planner).prediction.total for planner in ("local", "global"))
    try:
        exact = executable_optimum(dump, SOLVER_SECONDS)
    except TerraceError:  # nothing was found in time
        return PlanRatios(name, math.inf, planned / paper - 1, False)
    check_bound(f"{name}, auto, predicted", linear_bound(dump) * (1 - SOLVER_ROUNDING), planned)
    solved = exact.seconds - exact.bound <= CLOSED * exact.seconds
    return PlanRatios(name, planned / (exact.seconds if solved else exact.bound) - 1, planned / paper - 1, solved)


def _random(seed: int) -> PlanRatios:
    return _compare(f"seed {seed}", instance(seed))


def random_problems() -> Measured:
    """Solves random problems of up to 12 chunks and 8 phases."""
    with workers() as pool:
        return _judged(list(pool.map(_random, range(INSTANCES))))


def _judged(compared: list[PlanRatios]) -> Measured:
    """Judges every case. Cases that were not solved in time are compared with the solver's proven bound."""
    solved = [one for one in compared if one.solved]
    missed = [one for one in compared if one.over_optimum > ABOVE]
    slower = [one for one in compared if one.over_paper > 1e-9]
    text = f"{len(solved)} of {len(compared)} problems solved"
    if solved:
        worst = max(solved, key=lambda one: one.over_optimum)
        text += (
            f"; over the optimum by {statistics.fmean(one.over_optimum for one in solved):.3%} in the mean, "
            f"{worst.over_optimum:.2%} at most ({worst.name})"
        )
        if below := [one for one in solved if one.over_optimum < -CLOSED]:
            best = min(below, key=lambda one: one.over_optimum)
            text += (
                f", in {len(below)} under it, by {-best.over_optimum:.2%} at most ({best.name}): the optimum "
                "keeps each item in one place throughout a phase"
            )
    text += f"; {len(slower)} predicted to be slower than the better of local and global"
    unsolved = [one.text() for one in compared if not one.solved]
    if unsolved:
        text += f"\nnot solved in {SOLVER_SECONDS:.0f} s, over what was proven: " + ", ".join(unsolved)
    if missed:
        text += f"\nover {ABOVE:.0%}: " + ", ".join(one.text() for one in missed)
    return Measured(text, bool(compared) and not missed and not slower)


def _problem(store: Path, share: int, max_items: int = LIBRARY_ITEMS) -> _core.Problem:
    kept = _core.Store(str(store))
    run = kept.runs()[0].id
    machine, profile = kept.machine(run), kept.profile(run, False)
    whole = _core.Problem(profile, machine)
    return _core.Problem(profile, machine, machine.fast_budget(whole.footprint // share), max_items=max_items)


def _class_s(name_and_machine: tuple[str, str]) -> PlanRatios:
    name, machine = name_and_machine
    problem = _problem(recorded(name)[machine], SHARES[0], max_items=MAX_CHUNKS)
    return _compare(f"{name} on {machine}", whole_phases(json.loads(problem.to_json())))


def class_s() -> Measured:
    """Solves whole phases, with chunks merged to about 12 items: the size that branch and bound can solve."""
    cases = [(name, machine) for name in workloads() for machine in MACHINES]
    for name in workloads():
        recorded(name)
    with workers() as pool:
        return _judged(list(pool.map(_class_s, cases)))


def simulated() -> Measured:
    """Plans of the default planner and of the paper's two, made from one profile and obeyed in one execution."""
    rows: list[tuple[float, str]] = []
    for name, words in every_workload("small").items():
        found = keep_part(f"simulated-{name}", functools.partial(_simulate, name, words))
        if found is None:
            return Measured(f"{name} did not verify", False)
        rows += [(over, where) for over, where in found]
    over, where = max(rows)
    gained = statistics.fmean(row[0] for row in rows)
    text = f"{len(rows)} cases: auto against the better of local and global {gained:+.1%} on average, "
    return Measured(text + f"at most {over:+.2%} ({where})", over <= SLOWER)


def _simulate(name: str, words: list[str]) -> list[tuple[float, str]] | None:
    """Returns by case the ratio of auto to the better of the others, or None if the program did not verify."""
    stores = recorded(name)
    folder = fresh(f"simulated-{name}")
    configurations, bounds = [], {}
    for machine, share, planner in _cases():
        problem = _problem(stores[machine], share)
        label, fast = f"{machine}-{share}-{planner}", problem.footprint // share
        plan = folder / f"{label}.toml"
        _core.plan(problem, planner).write(str(plan))
        configurations.append(Configuration(label, machine, fast=fast, plan=plan))
        if (machine, share) not in bounds:
            bounds[machine, share] = certificate(stores[machine], fast).loop
    command = [str(workload(name)), *words]
    outcomes, printed = study.simulate(command, configurations, folder, name, CACHE)
    if not workloads()[name].verified(printed):
        return None
    rows = []
    for (machine, share), bound in bounds.items():
        where = f"{name} on {machine}, 1/{share}"
        took = {
            planner: check_bound(f"{where}, {planner}", bound, outcomes[f"{machine}-{share}-{planner}"].loop)
            for planner in PLANNERS
        }
        rows.append((took["auto"] / min(took["local"], took["global"]) - 1, where))
    return rows


def _cases() -> list[tuple[str, int, str]]:
    return [(m, share, p) for m in MACHINES for share in SHARES for p in PLANNERS]


CRITERIA = [
    Criterion(
        "exact optimum, random problems",
        f"{INSTANCES} of up to {MAX_CHUNKS} chunks x {MAX_PHASES} phases: auto within {ABOVE:.0%} of the exact "
        "optimum, never predicted to be slower than local and global",
        random_problems,
    ),
    Criterion(
        "exact optimum, class S",
        f"auto within {ABOVE:.0%} of the exact optimum of every workload",
        class_s,
    ),
    Criterion(
        "auto, simulated",
        f"at most {SLOWER:.0%} slower than the better of local and global, every workload in class S",
        simulated,
    ),
]
