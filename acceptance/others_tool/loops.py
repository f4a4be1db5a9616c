"""Compares the loop that Terrace found with the one that the recipe states. The criteria on public programs and
`scripts/others` use it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from others_tool.recipe import Loop, Recipe

TOLERATED = 0.02  # of the iterations, or one: an iteration at either end may count as set-up or as the end
HALF = 0.5  # of the misses after set-up, the least share of a reported loop


@dataclass(frozen=True)
class MainLoop:
    """Main loop as a profile reports it."""

    name: str  # "" where no loop was found
    why: str
    turns: int  # iterations, with those before it was recognised

    def text(self) -> str:
        return f"{self.name}, {self.turns} turns" if self.name else "none"


def is_right(recipe: Recipe, size: str, loop: MainLoop) -> bool:
    """Returns whether it is the loop that the recipe states: in its function, with its iterations."""
    if not recipe.loops:
        return not loop.name
    return any(_is(each, size, loop) for each in recipe.loops)


def are_alike(some: MainLoop, others: MainLoop) -> bool:
    """Returns whether two runs found the same loop, with as many iterations."""
    return some.name == others.name and _near(some.turns, others.turns)


def _near(turns: int, true: int) -> bool:
    return abs(turns - true) <= max(1, TOLERATED * true)


def _is(true: Loop, size: str, loop: MainLoop) -> bool:
    return _near(loop.turns, true.turns[size]) and any(_same_function(name, loop.name) for name in true.functions)


def _same_function(stated: str, named: str) -> bool:
    """Compares function names; `named` may have a line (`solve:120`), a scope, template arguments, parameters, a
    symbol's underscore."""
    plain = named.partition("@")[0]
    while plain != (less := re.sub(r"<[^<>]*>|\([^()]*\)", "", plain)):
        plain = less
    name = re.sub(r":[0-9]+$", "", plain).rpartition("::")[2]
    return stated in (name, name.rstrip("_"), name.partition(".")[0])
