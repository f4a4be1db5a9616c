"""Builds, runs and measures third-party public programs (acceptance/others_programs), and makes a table of them.
Criteria of acceptance/others."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from statistics import geometric_mean
from typing import Any

from harness import SETTINGS, Criterion, Measured, keep_part, keep_parts
from others_tool.build import WAYS, WORK, NotBuilt, build
from others_tool.cost import FAST, MACHINE, measure
from others_tool.execute import WrongResult
from others_tool.fetch import NoArchive
from others_tool.loops import HALF, MainLoop, is_right
from others_tool.placed import place
from others_tool.recipe import Recipe, read_all

PROGRAMS = 20  # at least
UNCHANGED, RIGHT = 16 / 20, 14 / 20  # of the programs, at least
SIMULATE, RECORD, HOOKS_OFF = 30.0, 12.0, 6.0  # native being 1, in the geometric mean
MAX = {"simulate": 45.0, "record": 20.0}  # of any program
FEW_MISSES = 10_000  # after set-up: about a millisecond of waiting

Row = dict[str, Any]
FAILURES = (NoArchive, NotBuilt, WrongResult)


def size() -> str:
    """Returns the size of the runs: full, unless --others-size is given."""
    return str(getattr(SETTINGS, "others_size", "full"))


def attempt(make: Callable[[], Row]) -> Row:
    """Returns a measurement of a public program, or why it failed."""
    try:
        return make()
    except FAILURES as error:
        return {"failed": str(error)}


def keep_each(
    prefix: str, makes: Mapping[str, Callable[[], Row]], *, alone: bool = False, timed: bool = False
) -> dict[str, Row]:
    """Keeps the measurement of each program, or why it failed, one by one. Without `alone` they are made
    concurrently: only for figures in virtual time."""
    parts = {f"{prefix}-{name}": functools.partial(attempt, make) for name, make in makes.items()}
    found = (
        {part: keep_part(part, make, timed=timed) for part, make in parts.items()} if alone else keep_parts(parts)
    )
    return {name: found[f"{prefix}-{name}"] for name in makes}


def of_recipes(prefix: str, measure: Callable[[Recipe], Row], *, timed: bool = False) -> dict[str, Row]:
    """Keeps the measurement of each recipe's program, one program at a time."""
    makes = {name: functools.partial(measure, recipe) for name, recipe in read_all().items()}
    return keep_each(prefix, makes, alone=True, timed=timed)


def _built(recipe: Recipe) -> Row:
    """Returns the seconds of each way's build."""
    plain = replace(recipe, name=f"{recipe.name}-unchanged", build=recipe.unchanged)
    seconds: Row = {way: build(recipe, way, WORK).seconds for way in WAYS}
    return {**seconds, "unchanged": build(plain, "hooked", WORK).seconds} if recipe.unchanged else seconds


def _placed(recipe: Recipe) -> Row:
    placed = place(recipe, size(), WORK)
    return {**asdict(placed), "behind": placed.behind()}


def placements() -> dict[str, Row]:
    """Returns the placements of each program."""
    return of_recipes(f"program-placed-{size()}", _placed)


def rows() -> dict[str, tuple[Recipe, Row]]:
    """Returns the costs of each program."""
    costs = of_recipes(f"program-{size()}", lambda recipe: asdict(measure(recipe, size(), WORK)), timed=True)
    return {name: (recipe, costs[name]) for name, recipe in read_all().items()}


def _measured() -> dict[str, tuple[Recipe, Row]]:
    return {name: row for name, row in rows().items() if "failed" not in row[1]}


def failures(of: Mapping[str, Row]) -> list[str]:
    """Lists the programs that could not be measured, with the reason, a line each."""
    return [f"{name}: {row['failed']}" for name, row in of.items() if "failed" in row]


def _found(cost: Row) -> MainLoop:
    return MainLoop(**cost["loop"])


# --- criteria ----------------------------------------------------------------------------------------------------


def builds() -> Measured:
    """Reports builds natively and with the wrappers. A recipe that changes more than the compilers states the
    reason, and counts if the program builds without that change as well."""
    good, lines = 0, []
    recipes = read_all()
    for name, built in of_recipes("program-built", _built).items():
        recipe = recipes[name]
        if "failed" in built or recipe.why:
            also = "builds unchanged, too; measured so: " if "unchanged" in built else ""
            lines.append(f"{name}: {built.get('failed') or also + recipe.why}")
        good += "failed" not in built and (not recipe.why or "unchanged" in built)
    text = f"{good} of {len(recipes)} programs"
    return Measured("\n".join([text, *lines]), good >= UNCHANGED * len(recipes) and len(recipes) >= PROGRAMS)


def runs() -> Measured:
    """Checks that each program prints and writes equal results natively, with idle hooks, simulated and
    recorded."""
    failed = failures({name: cost for name, (_, cost) in rows().items()})
    return Measured("\n".join([f"{len(rows()) - len(failed)} of {len(rows())}", *failed]), not failed, table())


def loops() -> Measured:
    """Compares the loops found with those of the recipes. It names also programs without a loop in which one is
    reported."""
    wrong, reported, right, having, without = [], [], 0, 0, 0
    for name, (recipe, cost) in _measured().items():
        found = _found(cost)
        if not recipe.loops:
            without += 1
            if found.name:
                reported.append(f"{name}: {found.text()}; it has none")
            continue
        having += 1
        if is_right(recipe, size(), found):
            right += 1
        else:
            true = recipe.loops[0]
            wrong.append(f"{name}: {found.text()}; it is {true.at}, {true.turns[size()]} turns")
    text = f"{right} of {having} that have one; one is reported in {len(reported)} of {without} that have none"
    return Measured("\n".join([text, *wrong, *reported]), right >= RIGHT * len(read_all()))


def none_small() -> Measured:
    """Checks that a reported loop has the run's main part; falls short also if few programs were measured."""
    measured, small = _measured(), []
    for name, (_, cost) in measured.items():
        if cost["loop"]["name"] and not _holds_half(cost):
            misses, time = cost["miss_share"] or 0.0, cost["time_share"] or 0.0
            shares = f"{misses:.0%} of the misses and {time:.0%} of the time after set-up"
            small.append(f"{name}: {_found(cost).text()}, {shares}")
    text = f"{len(small)} of {len(measured)} are"
    failed = failures({name: cost for name, (_, cost) in rows().items()})
    return Measured("\n".join([text, *small, *failed]), not small and len(measured) >= PROGRAMS)


def _holds_half(cost: Row) -> bool:
    """Returns whether the loop has half of the misses after set-up, or of the time if the program hardly
    misses."""
    share = cost["miss_share"] if cost["misses"] >= FEW_MISSES else cost["time_share"]
    return (share or 0.0) >= HALF


def _factors(way: str) -> dict[str, float]:
    return {name: cost[way] / cost["native"] for name, (_, cost) in _measured().items() if cost["native"] > 0}


def speed(way: str, mean: float) -> Measured:
    """Compares the processor time of one way with the native one, over all programs."""
    factors = _factors(way)
    most = MAX.get(way, math.inf)
    over = sorted((factor, name) for name, factor in factors.items() if factor > most)
    found = geometric_mean(factors.values()) if factors else math.inf
    text = f"{found:.1f}x in the geometric mean over {len(factors)} programs"
    lines = [f"over {most:.0f}x: " + ", ".join(f"{name} {factor:.0f}x" for factor, name in over)] if over else []
    return Measured("\n".join([text, *lines]), found <= mean and not over and len(factors) >= PROGRAMS)


def table() -> list[Row]:
    """Returns the page's table: a row for each program, a column for each figure."""
    made, placed = [], placements()
    for name, (recipe, cost) in rows().items():
        row: Row = {
            "program": name,
            "languages": "/".join(recipe.languages),
            "unchanged": not recipe.why or bool(recipe.unchanged),
        }
        if "failed" in cost:
            made.append({**row, "failed": cost["failed"]})
            continue
        loop = _found(cost)
        true = f"{recipe.loops[0].at}, {recipe.loops[0].turns[size()]}" if recipe.loops else "none"
        seen = "" if cost["seen_time"] is None else f"{cost['seen_time']:.0%}"
        factors = {way: f"{cost[way] / cost['native']:.1f}" for way in ("hooks_off", "simulate", "record")}
        made.append(
            {
                **row,
                "main loop, as a person reads it": true,
                "found": loop.text(),
                "right": is_right(recipe, size(), loop),
                "time seen": seen,
                "footprint, MiB": round(cost["footprint"] / 2**20),
                "native, s": round(cost["native"], 2),
                **factors,
                **_times(placed[name]),
            }
        )
    return made


def _times(placed: Row) -> dict[str, str]:
    """Returns the times of the main loop relative to fast memory alone, empty without a main loop."""
    return {way: f"{placed[way]:.2f}" if placed.get(way) else "" for way in ("slow", "live", "planned", "bound")}


SPEED_CRITERIA = [
    Criterion(
        f"{way.replace('_', ' ')} of public programs",
        f"at most {mean:.0f}x native processor time in the geometric mean, its files having been read before"
        + (f", none above {MAX[way]:.0f}x" if way in MAX else "")
        + f"; on {MACHINE}, 1/{FAST} of the footprint is fast",
        functools.partial(speed, way, mean),
    )
    for way, mean in (("simulate", SIMULATE), ("record", RECORD), ("hooks_off", HOOKS_OFF))
]

CRITERIA = [
    Criterion(
        "programs build",
        f"at least {UNCHANGED:.0%} of at least {PROGRAMS} public programs build with nothing but the compilers "
        "changed; the others say why not",
        builds,
    ),
    Criterion("programs run", "each computes the same natively, with idle hooks, simulated and recorded", runs),
    Criterion(
        "loops of public programs",
        f"the main loop is found as a person reads it from the source, in at least {RIGHT:.0%} of all programs",
        loops,
    ),
    Criterion(
        "no small loop of public programs",
        f"none is reported in at least {PROGRAMS} that holds less than {HALF:.0%} of the misses after set-up, or "
        f"of the virtual time after it where there are fewer than {FEW_MISSES:,}",
        none_small,
    ),
    *SPEED_CRITERIA,
]
