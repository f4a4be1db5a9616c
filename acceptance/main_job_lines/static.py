"""Compares the planner with every static placement of whole objects, class S, each of them simulated. A criterion
of acceptance/main-job.

All subsets that fit are tried, not only the maximal ones: with half the bandwidth, data left in slow memory adds
that memory's bandwidth to the fast one's, so a smaller subset may win.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from harness import Criterion, Measured, fresh, keep_part, studied
from terrace.lab import study
from terrace.lab.study import Configuration
from terrace.solve.figures import check_bound
from terrace.store.reader import Store

from main_job_lines.common import Recorded, recorded

OBJECTS = 12  # at most: the 11 biggest, and the others as one
GOAL = 0.02
CONFIGURATIONS = 400  # an execution


@dataclass(frozen=True)
class Group:
    """Objects that are placed together; `size` in bytes, as the budget counts them."""

    names: tuple[str, ...]
    size: int


def groups(store: Path) -> list[Group]:
    """Returns the program's objects that live in its main loop, largest first, the smallest as one."""
    kept = Store(store)
    run = kept.run()
    loop = kept.loop(run)
    assert loop is not None
    living = [o for o in kept.objects(run) if o.born <= loop.begun and (o.died is None or o.died > loop.begun)]
    living.sort(key=lambda one: -one.size)
    alone, others = living[: OBJECTS - 1], living[OBJECTS - 1 :]
    result = [Group((one.name,), one.size) for one in alone]
    if others:
        result.append(Group(tuple(one.name for one in others), sum(one.size for one in others)))
    return result


def subsets(among: list[Group], fast: int) -> list[tuple[Group, ...]]:
    """Returns every subset that fits into the budget, the empty one included."""
    return [
        chosen
        for count in range(len(among) + 1)
        for chosen in combinations(among, count)
        if sum(one.size for one in chosen) <= fast
    ]


def write_plan(path: Path, chosen: tuple[Group, ...]) -> Path:
    """Writes a manual plan: these objects in fast memory, whole, all others at home."""
    objects = [f'[[object]]\nname = {json.dumps(name)}\nplace = "dram"\n' for one in chosen for name in one.names]
    path.write_text("\n".join(["schema = 1\n", *objects]))
    return path


def obeyed(store: Path, chosen: tuple[Group, ...]) -> bool:
    """Returns whether exactly these objects were in fast memory when the loop began, wholly."""
    kept = Store(store)
    fast = {place.id for place in kept.machine(kept.run()).places if place.name == "dram"}
    wanted = {name for one in chosen for name in one.names}
    names = {one.id: one.name for one in kept.objects(kept.run())}
    columns, rows = kept.table("object_place")
    at = [columns.index(name) for name in ("object", "place")]
    inside = {names[row[at[0]]] for row in rows if row[at[1]] in fast}
    outside = {names[row[at[0]]] for row in rows if row[at[1]] not in fast}
    return inside == wanted and not inside & outside and not kept.moves(kept.run())


Tried = dict[str, tuple[Group, ...]]  # the subsets, by configuration


@dataclass(frozen=True)
class Run:
    """Result of a configuration: its loop in seconds, and whether its subset was in fast memory."""

    loop: float
    iterations: int
    obeyed: bool


def simulate_all(
    about: Recorded, configurations: list[Configuration], tried: Tried, folder: Path
) -> dict[str, Run]:
    """Simulates the study's number of iterations in every configuration, several in each execution, which is a
    part of the criterion."""
    runs: dict[str, Run] = {}
    for first in range(0, len(configurations), CONFIGURATIONS):
        some = configurations[first : first + CONFIGURATIONS]
        execution = functools.partial(_execution, about, some, tried, folder)
        part = keep_part(f"subsets-{about.name}-{first}", execution)
        runs |= {label: Run(**found) for label, found in part.items()}
    return runs


def _execution(
    about: Recorded, configurations: list[Configuration], tried: Tried, folder: Path
) -> dict[str, dict[str, Any]]:
    """Simulates many placements in one execution of the program, and returns the times of each."""
    outcomes, _ = study.simulate(about.long, configurations, folder, "part", about.caches)
    return {
        label: asdict(
            Run(
                loop=found.loop,
                iterations=len(found.iterations),
                obeyed=label not in tried or obeyed(found.store, tried[label]),
            )
        )
        for label, found in outcomes.items()
    }


def against_subsets(name: str) -> tuple[list[str], bool]:
    """Compares one workload on both machines at both ratios with all subsets."""
    about = recorded(name)
    folder = fresh(f"static-{name}")
    tried: Tried = {}
    configurations, columns = [], []
    for machine in study.MACHINES:
        among = groups(about.stores[machine])
        for ratio, fast in about.sizes.items():
            label = f"{machine}-{ratio}"
            columns.append((label, machine, ratio, fast, len(among)))
            plan = folder / f"{label}.toml"
            about.plan(machine, fast).write(str(plan))
            configurations.append(Configuration(f"{label}-planned", machine, fast=fast, plan=plan))
            for number, chosen in enumerate(subsets(among, fast)):
                tried[f"{label}-{number}"] = chosen
                hand = write_plan(folder / f"{label}-{number}.toml", chosen)
                configurations.append(Configuration(f"{label}-{number}", machine, fast=fast, plan=hand))
    runs = simulate_all(about, configurations, tried, folder)
    wrong = [label for label in tried if not runs[label].obeyed]
    lines, holds = [], not wrong
    for label, machine, ratio, fast, count in columns:
        bound = about.bound(machine, fast)

        def held(one: str, bound: float = bound) -> float:
            return check_bound(f"{name}, {one}", bound * runs[one].iterations, runs[one].loop)

        mine = {one: held(one) for one in tried if one.startswith(f"{label}-")}
        best = min(mine, key=mine.__getitem__)
        planned = held(f"{label}-planned")
        holds = holds and planned <= mine[best] * (1 + GOAL)
        names = ", ".join(n for one in tried[best] for n in one.names) or "nothing"
        lines.append(
            f"{name} on {machine}, {ratio} ({fast / 1e3:.0f} kB): planned {planned * 1e3:.4g} ms, best of "
            f"{len(mine)} subsets of {count} objects {mine[best] * 1e3:.4g} ms "
            f"({planned / mine[best] - 1:+.2%}): {names}"
        )
    if wrong:
        lines.append(f"{len(wrong)} subsets were not obeyed, as {wrong[0]}")
    return lines, holds


def measure() -> Measured:
    parts = [against_subsets(name) for name in studied("demo")]
    return Measured("\n".join(line for lines, _ in parts for line in lines), all(holds for _, holds in parts))


CRITERIA = [
    Criterion(
        "planned against the best static subset",
        f"class S: within {GOAL:.0%} of the best subset of at most {OBJECTS} objects, all that fit simulated",
        measure,
    )
]
