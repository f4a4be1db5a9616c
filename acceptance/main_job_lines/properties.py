"""Compares the lower bound with random plans, of which one execution simulates many. A criterion of
acceptance/main-job; acceptance/moves repeats it.

Unit tests compare the knapsack with brute force and check that plans and transfers stay within their budgets.
"""

from __future__ import annotations

import functools
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import SETTINGS, Criterion, Measured, fresh, keep_part, studied
from terrace.lab import study
from terrace.lab.study import Configuration
from terrace.store.reader import Store

from main_job_lines.common import Recorded, recorded
from main_job_lines.random_plans import PlanInput, random_plan

CASES = 10_000
CONFIGURATIONS = 250  # an execution
SEED = 1


@dataclass
class Margin:
    """The closest that a simulated iteration came to its bound."""

    plans: int = 0
    iterations: int = 0
    moves: int = 0
    refused: int = 0
    below: int = 0  # iterations that were faster than the bound
    least: dict[str, tuple[float, str]] = field(
        default_factory=dict
    )  # by machine: iteration over bound, and where

    def add(self, other: Margin) -> None:
        """Adds the margin of other plans."""
        self.plans += other.plans
        self.iterations += other.iterations
        self.moves += other.moves
        self.refused += other.refused
        self.below += other.below
        for machine, (share, where) in other.least.items():
            self.least[machine] = min((share, where), self.least.get(machine, (share, where)))


@dataclass(frozen=True)
class Setting:
    machine: str
    fast: int
    ground: PlanInput
    bound: float


@functools.cache
def settings(name: str) -> list[Setting]:
    """Returns both machines with fast memory of an eighth, a quarter, the study's ratio, and all."""
    about = recorded(name)
    result = []
    for machine, store in about.stores.items():
        ground = PlanInput(store)
        sizes = (about.footprint // 8, *about.sizes.values(), ground.footprint)
        result += [Setting(machine, fast, ground, about.bound(machine, fast)) for fast in sizes]
    return result


def simulate_plans(about: Recorded, count: int, margin: Margin) -> None:
    """Simulates some plans in each execution; each execution is a part of the criterion."""
    for first in range(0, count, CONFIGURATIONS):
        numbers = range(first, min(first + CONFIGURATIONS, count))
        part = keep_part(f"random-plans-{about.name}-{first}", functools.partial(_part, about, numbers))
        margin.add(Margin(**part))


def _part(about: Recorded, numbers: range) -> dict[str, Any]:
    dice = random.Random(f"{SEED} {about.name} {numbers.start}")
    folder = fresh(f"plans-{about.name}")
    among = settings(about.name)
    chosen = {f"p{n}": among[n % len(among)] for n in numbers}
    configurations = []
    for label, setting in chosen.items():
        plan = folder / f"{label}.toml"
        plan.write_text(random_plan(setting.ground, setting.fast, dice))
        configurations.append(Configuration(label, setting.machine, fast=setting.fast, plan=plan))
    outcomes, _ = study.simulate(about.command, configurations, folder, "part", about.caches)
    margin = Margin()
    for label, outcome in outcomes.items():
        compare(about, chosen[label], outcome, margin)
    return asdict(margin)


def refusals(path: Path) -> int:
    """Chunks for which there was no room; what the program's end left undone is none."""
    store = Store(path)
    loop = store.loop(store.run())
    assert loop is not None
    assert loop.ended is not None
    return sum(move.chunks for move in store.moves(store.run()) if move.refused and move.done < loop.ended)


def compare(about: Recorded, setting: Setting, outcome: study.Outcome, margin: Margin) -> None:
    """Adds one run to the margin: how close its iterations come to the lower bound."""
    margin.plans += 1
    margin.iterations += len(outcome.iterations)
    margin.moves += outcome.moved_chunks
    margin.refused += refusals(outcome.store)
    for iteration in outcome.iterations:
        share = iteration / setting.bound
        margin.below += share < 1 - 1e-9
        where = f"{about.name} with {setting.fast / 1e3:.0f} kB on {setting.machine}"
        margin.least[setting.machine] = min((share, where), margin.least.get(setting.machine, (share, where)))


def bound() -> Measured:
    """Simulates all random plans, and counts iterations below the lower bound (there may be none)."""
    margin = Margin()
    names = studied("demo")
    plans = SETTINGS.random_plans
    for number, name in enumerate(names):
        simulate_plans(recorded(name), plans // len(names) + (number < plans % len(names)), margin)
    return Measured(
        f"{margin.plans} random plans simulated, CG and MG in class S, {margin.iterations} iterations with "
        f"{margin.moves} moves of chunks ({margin.refused} refused): {margin.below} iterations below the bound; "
        "the closest are "
        + ", ".join(f"{share - 1:.3%} above it ({where})" for share, where in margin.least.values()),
        margin.below == 0 and margin.refused == 0 and margin.plans >= CASES,
    )


CRITERIA = [
    Criterion(
        "lower bound",
        f"never above the simulated time of any of {CASES} random executable plans",
        bound,
    ),
]
