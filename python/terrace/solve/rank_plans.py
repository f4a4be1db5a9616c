# SPDX-License-Identifier: Apache-2.0
"""Makes a plan for each rank of an MPI job. `terrace plan --all-ranks` calls it.

The ranks on a node share its budget: fast memory is divided among them by the job's time, as a live run divides it
(src/tiering/strategy/ranks).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from terrace import _core
from terrace.errors import WrongCallError, core_errors
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.values import Run


@dataclass(frozen=True)
class RankPlan:
    """A rank's plan, and its share of the fast places in bytes."""

    rank: int
    run: Run
    share: int
    plan: _core.Plan
    warning: str | None = None  # why the profile says little


def _runs_of_ranks(store: Store) -> list[Run]:
    """Returns the process of each rank that has a profile. Raises WrongCallError."""
    ranks = sorted({run.rank for run in store.runs() if run.rank is not None})
    if not ranks:
        raise WrongCallError(f"the profile {store.path} has no ranks: it is of no MPI job; omit --all-ranks")
    found = [run for rank in ranks if store.has_profile(run := store.run(None, rank), exact=False)]
    if not found:
        raise WrongCallError(f"the profile {store.path} has no rank with a profiled main loop")
    return found


def plan_ranks(store: Store, machine: str | None, limit: str | None, planner: str) -> list[RankPlan]:
    """Returns the plans by rank. `limit`: --budget or --fast, of each node."""
    by_node: dict[str, list[Run]] = defaultdict(list)
    for run in _runs_of_ranks(store):
        by_node[run.host].append(run)
    plans = []
    for runs in by_node.values():
        models = [Model(store, run, machine) for run in runs]
        if not models[0].has_choice:
            name = machine or models[0].machine.name
            raise WrongCallError(
                f"{name} has one kind of memory: there is nothing to plan; give another --machine"
            )
        budget = models[0].budget(limit) or list(models[0].machine.capacities)
        problems = [model.problem(budget) for model in models]
        with core_errors():
            shares = _core.divide_among_ranks(problems, budget)
        for run, model, share in zip(runs, models, shares, strict=True):
            fast = sum(share[place] for place in model.fast_places)
            plans.append(
                RankPlan(
                    run.rank or 0, run, fast, model.plan(model.problem(share), planner), model.nothing_observed
                )
            )
    return sorted(plans, key=lambda each: each.rank)
