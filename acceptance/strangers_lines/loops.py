"""Checks that every subcommand finds the same main loop of a program, with as many iterations, on public programs
and own ones. Criteria of acceptance/strangers."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from harness import TERRACE, Criterion, Measured, every_workload, query, run, work
from others_lines.own import programs
from others_lines.programs import PROGRAMS, Row, failures, keep_each, of_recipes
from others_tool.build import WORK, BuildTree, build
from others_tool.cost import SMALL_CACHES, observed
from others_tool.execute import execute
from others_tool.loops import MainLoop
from others_tool.recipe import Recipe, read_all

SMALL_CACHE = ("--cache", "l3=1MiB")
# Options of each way. Sampling, or the size of a cache, must not change which loop is found.
WAYS: dict[str, tuple[str, ...]] = {
    "record": (),
    "record --every 1": ("--every", "1"),
    "record --every 4": ("--every", "4"),
    "record --every 16": ("--every", "16"),
    "record, small cache": SMALL_CACHE,
    "simulate": (),
    "simulate, small cache": SMALL_CACHE,
}
# The caches of the criteria that price this project's workloads, whose sizes are small.
OWN_WAYS = {
    **WAYS,
    "record, caches of the criteria": SMALL_CACHES,
    "simulate, caches of the criteria": SMALL_CACHES,
}
REAL = "run --profile"
NONE = MainLoop("", "", 0)
_BUILDS = threading.Lock()  # recipes share archives, and each build takes all processors


def _found(recipe: Recipe, built: BuildTree, way: str, size: str) -> MainLoop:
    """Returns the main loop of a public program as one subcommand finds it."""
    if way != REAL:
        _, store = observed(recipe, built, size, WORK, way.split()[0].rstrip(","), *WAYS[way])
        return _main_loop(store)
    store = WORK / "profiles" / f"{recipe.name}-{size}-run.terrace"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.unlink(missing_ok=True)
    before: list[str | Path] = [TERRACE, "run", "-q", "--profile", "-o", store, "--"]
    execute(recipe, built, size, WORK, before)
    return _main_loop(store) if store.exists() else NONE


def _main_loop(store: Path) -> MainLoop:
    """Returns the main loop of the process with most iterations: a real run counts no accesses to choose by."""
    rows = query(
        store,
        "SELECT name, why, sum(turns_before + coalesce(iterations, 0)) FROM main_loop GROUP BY run, name "
        "ORDER BY 3 DESC LIMIT 1",
    )
    return MainLoop(*rows[0]) if rows else NONE


def _loops(recipe: Recipe, size: str, ways: Sequence[str]) -> Row:
    """Returns the loop that each way finds."""
    with _BUILDS:
        built = build(recipe, "hooked", WORK)
    return {way: asdict(_found(recipe, built, way, size)) for way in ways}


def differences(found: Mapping[str, MainLoop]) -> list[str]:
    """Describes where ways differ from the loop that most of them find, which the first text names."""
    loops = {way: (loop.name, loop.turns) for way, loop in found.items()}
    (usual, _), *others = Counter(loops.values()).most_common()
    if not others:
        return []
    return [_text(*usual), *(f"{way}: {_text(*loop)}" for way, loop in loops.items() if loop != usual)]


def _text(name: str, turns: int) -> str:
    return f"{name}, {turns} iterations" if name else "none"


def _judged(rows: Mapping[str, Row], least: int) -> Measured:
    """Judges the programs that could be run, with a row for each; at least `least` are required."""
    loops = {
        name: {way: MainLoop(**loop) for way, loop in row.items()}
        for name, row in rows.items()
        if "failed" not in row
    }
    different = {name: texts for name, found in loops.items() if (texts := differences(found))}
    lines = [f"{name}: {'; '.join(texts)}" for name, texts in different.items()]
    table = [
        {"program": name, **{way: _text(loop.name, loop.turns) for way, loop in found.items()}}
        for name, found in loops.items()
    ]
    text = f"{len(loops) - len(different)} of {len(loops)} programs"
    return Measured("\n".join([text, *lines, *failures(rows)]), not different and len(loops) >= least, table)


def _alike() -> Measured:
    makes = {name: functools.partial(_loops, recipe, "small", (*WAYS,)) for name, recipe in read_all().items()}
    return _judged(keep_each("loops-small", makes), PROGRAMS)


def _alike_at_full_size() -> Measured:
    """Compares with the real run, which is timed: one program at a time."""
    return _judged(of_recipes("loops-full", lambda recipe: _loops(recipe, "full", (*WAYS, REAL))), PROGRAMS)


def _own_loops(name: str, words: list[str]) -> Row:
    """Returns the main loop of a workload without markers, as each subcommand finds it."""
    store = work("others") / f"loops-{name}.terrace"
    row: Row = {}
    for way, more in OWN_WAYS.items():
        store.unlink(missing_ok=True)
        subcommand = way.split()[0].rstrip(",")
        run([TERRACE, subcommand, "-q", *more, "-o", store, "--", programs(marked=False) / name, *words])
        row[way] = asdict(_main_loop(store))
    return row


def _own_alike() -> Measured:
    """Programs built without markers; virtual time alone, where the clock decides nothing."""
    workloads = every_workload("small")
    programs(marked=False)
    makes = {name: functools.partial(_own_loops, name, words) for name, words in workloads.items()}
    return _judged(keep_each("loops-own", makes), len(workloads))


CRITERIA = [
    Criterion(
        "one finder of loops",
        f"{', '.join(WAYS)}: the same main loop with as many iterations, in each of at least {PROGRAMS} public "
        "programs, size small",
        _alike,
    ),
    Criterion(
        "one finder of loops, own workloads",
        f"{', '.join(OWN_WAYS)}: the same main loop with as many iterations, in each of this project's workloads, "
        "built without markers",
        _own_alike,
    ),
    Criterion(
        "one finder of loops, size full",
        f"{', '.join((*WAYS, REAL))}: the same main loop with as many iterations, in each of at least {PROGRAMS} "
        "public programs",
        _alike_at_full_size,
        apart=True,
    ),
]
