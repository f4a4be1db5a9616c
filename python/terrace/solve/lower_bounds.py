"""What no placement beats: bounds of phases and loops, by the linear program where it is small, else by prices.

SciPy takes a second to load: what takes it is imported where it is used.
"""

import json
import math
from typing import Any

from terrace import _core
from terrace.errors import TerraceError
from terrace.output import warn
from terrace.store.reader import Store
from terrace.store.summary import groups
from terrace.store.values import Run

_SOLVER_SECONDS = 30.0
_SOLVER_SIZE = 30_000  # items x phases; beyond, the linear program takes minutes, and its prices stand alone
_SOLVER_CELLS = 40_000  # of phases by themselves, one after the other


def bound_of_loop(store: Store, run: Run, budget: list[int]) -> float:
    """Seconds of an iteration in the mean, from each iteration's own counters."""
    from terrace.solve.certificate import certificate_of  # takes SciPy

    proven = certificate_of(_core.Store(str(store.path)), run.id, budget)
    return proven.loop / proven.iterations


def lower_bounds(problem: _core.Problem, target: float) -> tuple[list[float | None], float, str]:
    """By name of phase and in all, and by which means: the linear program itself where it is small, or its prices.

    A phase's own bound lets data be anywhere when it begins and anywhere when it ends.
    """
    from terrace.solve import (  # take SciPy, which takes a second to load: here, not for every verb
        certificate,
        linear,
    )

    dump = json.loads(problem.to_json())
    together = groups(problem.phases)
    overall = max(
        problem.lower_bound(target), *(p.proven(problem) for p in certificate.proofs_of(problem, target))
    )
    means = "prices of the linear program"
    try:
        if problem.items * len(problem.phases) <= _SOLVER_SIZE:
            overall, means = max(overall, linear.linear_bound(dump, _SOLVER_SECONDS)), "linear program"
        if sum(len(phase["cells"]) for phase in dump["phases"]) > _SOLVER_CELLS:
            return [None] * len(together), overall, means
        alone = [linear.linear_bound(_alone(dump, phase), _SOLVER_SECONDS) for phase in dump["phases"]]
    except TerraceError as error:
        warn(f"{error}; the bound is what its prices prove")
        return [None] * len(together), overall, means
    return [math.fsum(alone[p] for p in positions) for positions in together.values()], overall, means


def _alone(dump: dict[str, Any], phase: dict[str, Any]) -> dict[str, Any]:
    """The problem of one phase: what it does not touch may be anywhere, and is left out."""
    touched = {int(cell[0]): n for n, cell in enumerate(phase["cells"])}
    cells = [[n, *cell[1:]] for n, cell in enumerate(phase["cells"])]
    items = [dump["items"][item] for item in touched]
    return {**dump, "items": items, "phases": [{**phase, "cells": cells}], "cyclic": False}
