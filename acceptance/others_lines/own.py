"""Checks that the main loops of this project's own workloads are found when all markers are compiled out. Criteria
of acceptance/others; acceptance/strangers uses the builds."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import TERRACE, Criterion, Measured, build_workloads, every_workload, keep_part, run, work
from terrace.store.reader import Store

MACHINE = "unimem-lat4"


@dataclass(frozen=True)
class Loop:
    """A program's main loop: its name, and its iterations, with those before it was recognised."""

    name: str
    turns: int


def main_loop(store: Store) -> Loop | None:
    """Returns the main loop that a store names, with all of its iterations, or None."""
    loop = store.loop(store.run())
    return Loop(loop.name, (loop.iterations or 0) + loop.turns_before) if loop else None


@functools.cache
def programs(*, marked: bool) -> Path:
    """Builds all workloads with or without their markers; returns the folder."""
    flags = "-O2 -g" if marked else "-O2 -g -DWORKLOADS_WITHOUT_MARKERS"
    return build_workloads(every_workload("small"), flags=flags)


def simulated(program: Path, words: Iterable[str], *more: str) -> Store:
    """Runs a program once under `terrace simulate` with `more` options, and opens the profile that it wrote."""
    file = work("others") / f"{program.parent.name}-{program.name}.terrace"
    file.unlink(missing_ok=True)
    run([TERRACE, "simulate", "-q", "-m", MACHINE, *more, "-o", file, "--", program, *words])
    return Store(file)


def _turns(name: str, words: list[str]) -> dict[str, int | str]:
    """Returns a workload's iterations by its markers ("true") and as detected without them ("found")."""
    true = main_loop(simulated(programs(marked=True) / name, words))
    found = main_loop(simulated(programs(marked=False) / name, words))
    return {
        "true": true.turns if true else 0,
        "found": found.turns if found else 0,
        "name": found.name if found else "none",
    }


def loops_are_found() -> Measured:
    """Judges whether each workload's detected main loop has the iterations that its markers state."""
    wrong = []
    cases = every_workload("small")
    for name, words in cases.items():
        turns = keep_part(f"turns-{name}", functools.partial(_turns, name, words))
        if turns["true"] != turns["found"]:
            wrong.append(f"{name} {turns['found']} of {turns['name']} for {turns['true']}")
    text = f"{len(cases) - len(wrong)} of {len(cases)}"
    return Measured(text + (f"; else: {', '.join(wrong)}" if wrong else ""), not wrong)


def nothing_is_said_of_markers() -> Measured:
    """Checks that a program without markers has none to call, so that its loop is found by detection alone."""
    name, words = next(iter(every_workload("small").items()))
    store = simulated(programs(marked=False) / name, words)
    shown = json.loads(run([TERRACE, "show", "--json", store.path]).stdout)
    why = shown["loop_found_by"]
    return Measured(f"{shown['loop']}: {why}", bool(why))


CRITERIA = [
    Criterion(
        "loops of this project's own workloads",
        "without markers the main loop of each is found, with as many turns as the program says",
        loops_are_found,
    ),
    Criterion("what show says", "which loop was taken, and why", nothing_is_said_of_markers),
]
