"""Implements the command line of `scripts/others`. Exit status: 0 done, 1 if a program failed, 2 for invalid
arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from others_tool.build import BIN, ROOT, WAYS, WORK, NotBuilt, build
from others_tool.cost import Cost, measure
from others_tool.execute import WrongResult, execute, same
from others_tool.fetch import NoArchive, archive
from others_tool.loops import is_right
from others_tool.placed import PlacedTimes, place
from others_tool.recipe import FOLDER, SIZES, Recipe, WrongRecipe, read_all

FAILURES = (NoArchive, NotBuilt, WrongResult)


@dataclass(frozen=True)
class Call:
    """Options of the command line."""

    size: str
    work: Path


def main(words: Sequence[str] | None = None) -> int:
    """Runs one subcommand on the named programs, or on all."""
    arguments = _parser().parse_intermixed_args(words)
    try:
        chosen = _chosen(arguments.names)
    except WrongRecipe as error:
        print(f"others: {error}", file=sys.stderr)
        return 2
    if not BIN.joinpath("terrace").exists() and arguments.verb in ("build", "run", "cost", "place"):
        print("others: Terrace is not built; type `make build`", file=sys.stderr)
        return 2
    call, failed = Call(arguments.size, arguments.work.resolve()), 0
    for recipe in chosen:
        try:
            print(f"{recipe.name:14} {_VERBS[arguments.verb](recipe, call)}", flush=True)
        except WrongRecipe as error:
            print(f"others: {error}", file=sys.stderr)
            return 2
        except FAILURES as error:
            print(f"others: {error}", file=sys.stderr, flush=True)
            failed += 1
    if failed:
        print(f"others: {failed} of {len(chosen)} programs failed", file=sys.stderr)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/others",
        description="builds and runs third-party public programs: a recipe each in acceptance/others_programs",
        epilog="Archives come from the Debian mirrors that apt uses here, from the Python package index and, by "
        "git, from public repositories (git's url.<mirror>.insteadOf names a mirror); nothing of the programs is "
        "in the repository.",
    )
    verbs = parser.add_argument(
        "verb", choices=sorted(_VERBS), help="; ".join(f"{k}: {_ABOUT[k]}" for k in _VERBS)
    )
    verbs.metavar = "{" + ",".join(_VERBS) + "}"
    parser.add_argument("names", nargs="*", metavar="NAME", help="a recipe's name; default: all")
    parser.add_argument("--size", choices=SIZES, default="full", help="of the runs; default full")
    parser.add_argument("--work", type=Path, default=WORK, help="folder for all that is made; default out/others")
    return parser


def _chosen(names: Iterable[str]) -> list[Recipe]:
    known = read_all()
    for name in names:
        if name not in known:
            raise WrongRecipe(f"no recipe of {name} in {FOLDER.relative_to(ROOT)}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(known.values())


# --- subcommands -------------------------------------------------------------------------------------------------


def _list(recipe: Recipe, call: Call) -> str:
    loop = _true(recipe, call.size) or "no main loop"
    return f"{'/'.join(recipe.languages):12} {recipe.title}: {loop}"


def _fetch(recipe: Recipe, call: Call) -> str:
    return str(archive(recipe.source, call.work / "archives"))


def _build(recipe: Recipe, call: Call) -> str:
    built = {way: build(recipe, way, call.work) for way in WAYS}
    return ", ".join(f"{way} {one.seconds:.0f} s" for way, one in built.items())


def _run(recipe: Recipe, call: Call) -> str:
    """Runs the program both ways; the hooked one without `terrace`."""
    built = {way: build(recipe, way, call.work) for way in WAYS}
    done = {way: execute(recipe, built[way], call.size, call.work) for way in WAYS}
    same(recipe, done["native"], done["hooked"])
    return ", ".join(f"{way} {one.cpu:.2f} s" for way, one in done.items())


def _cost(recipe: Recipe, call: Call) -> str:
    return said(recipe, call.size, measure(recipe, call.size, call.work))


def said(recipe: Recipe, size: str, cost: Cost) -> str:
    """Returns the line that `scripts/others cost` prints of a program."""
    ways = (("hooks off", cost.hooks_off), ("simulate", cost.simulate), ("record", cost.record))
    times = ", ".join(f"{name} {seconds / cost.native:.1f}x" for name, seconds in ways)
    verdict = "right" if is_right(recipe, size, cost.loop) else f"not {_true(recipe, size) or 'none'}"
    held = "" if cost.miss_share is None else f" and {cost.miss_share:.0%} of the misses after it"
    share = "" if cost.time_share is None else f", {cost.time_share:.0%} of the time after set-up{held}"
    seen = "" if cost.seen_time is None else f", {cost.seen_time:.0%} of the time seen"
    return (
        f"native {cost.native:.2f} s, {times}, {cost.footprint / 2**20:.0f} MiB{seen}; "
        f"loop {cost.loop.text()}{share}: {verdict}" + (f"; show: {cost.complaint}" if cost.complaint else "")
    )


def _place(recipe: Recipe, call: Call) -> str:
    return placed_as(place(recipe, call.size, call.work))


def placed_as(placed: PlacedTimes) -> str:
    """Returns a line about the placement."""
    ways = {"slow": placed.slow, "live": placed.live, "planned": placed.planned, "bound": placed.bound}
    loop = ", ".join(f"{way} {factor:.3f}x" for way, factor in ways.items() if factor is not None)
    return f"{loop or 'no main loop'} fast memory alone; the run: live {placed.behind():+.2f} % of first touch"


def _true(recipe: Recipe, size: str) -> str:
    """Returns the main loop by the recipe, or "" if it has none."""
    return f"{recipe.loops[0].at}, {recipe.loops[0].turns[size]:,} turns" if recipe.loops else ""


_VERBS: Mapping[str, Callable[[Recipe, Call], str]] = {
    "list": _list,
    "fetch": _fetch,
    "build": _build,
    "run": _run,
    "cost": _cost,
    "place": _place,
}
_ABOUT = {
    "list": "what there is, with the main loops",
    "fetch": "the archives",
    "build": "natively and with the wrappers",
    "run": "both, and compare the results",
    "cost": "also simulate and record: times, loop, coverage",
    "place": "virtual times with data placed in several ways, and the bound",
}
