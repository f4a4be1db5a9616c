# SPDX-License-Identifier: Apache-2.0
"""Implements `terrace plan --all-ranks`: plans of the ranks of an MPI job, in a folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from terrace import _core, units
from terrace.errors import TerraceError, WrongCallError
from terrace.output import console, print_json, progress, table
from terrace.output_files import check_output, is_plan
from terrace.solve.rank_plans import RankPlan, plan_ranks
from terrace.store.reader import Store

_HERE = "this-machine"  # name of the detected machine, which is the default of a run


def plan_all_ranks(
    store: Store, machine: str | None, limit: str | None, planner: str, output: Path | None, json: bool
) -> None:
    """Plans for each rank, writes OUTPUT/rank-N.toml, and prints the predicted times."""
    if output and output.exists() and not output.is_dir():
        raise WrongCallError(f"--output {output}: --all-ranks writes a file for each rank; name a folder")
    with progress(f"planning with {planner}"):
        plans = plan_ranks(store, machine, limit, planner)
    removed = _write(output, plans) if output else []
    if json:
        print_json({"planner": planner, "ranks": [_document(each) for each in plans]})
        return
    out = console()
    out.print(f"Plans by {planner} of {len(plans)} ranks; seconds are of one iteration\n", markup=False)
    rows = table("rank", "fast memory", "slow-only", "this plan", "change", "moves", "moved")
    for each in plans:
        moved = sum(move["bytes"] for move in each.plan.moves)
        rows.add_row(
            str(each.rank), units.size(each.share), units.seconds(each.plan.predicted_slow),
            units.seconds(each.plan.predicted), units.percent(each.plan.predicted / each.plan.predicted_slow - 1),
            str(len(each.plan.moves)), units.size(moved),
        )  # fmt: skip
    out.print(rows)
    out.print("\nFast memory is divided among the ranks of a node so that the job's phases become short.")
    if output:
        words = _command(store, plans, machine, limit, output)
        if removed:
            print(f"\nremoved plans of ranks that this job does not have: {', '.join(removed)}")
        print(f"\nwritten to {output}; run with these plans, by the launcher of the job:\n    {shlex.join(words)}")
    for warning in sorted({each.warning for each in plans if each.warning}):
        ranks = ", ".join(str(each.rank) for each in plans if each.warning == warning)
        out.print(f"\nwarning: rank {ranks}: {warning}", markup=False)
    without = (plans[0].run.ranks or 0) - len(plans)
    if without > 0:
        out.print(f"\nwarning: {without} of the job's ranks have no profile, and so no plan")


def _command(
    store: Store, plans: list[RankPlan], machine: str | None, limit: str | None, output: Path
) -> list[str]:
    """Returns the command that runs the job under the plans."""
    run = plans[0].run
    name = machine or store.machine(run).name
    is_known = machine is not None or name in _core.shipped_machines()
    where = [] if name == _HERE else ["--machine", name if is_known else f"{name}.toml"]
    budget = [] if limit is None else ["--budget" if "=" in limit else "--fast", limit]
    job = ["mpirun", "-n", str(run.ranks), *(run.arguments or [run.program])]
    return ["terrace", "simulate" if run.virtual else "run", *where, *budget, "--plan", str(output), "--", *job]


def _write(folder: Path, plans: list[RankPlan]) -> list[str]:
    """Writes the files, and removes those of ranks that an earlier job had. Returns the names of these."""
    try:
        folder.mkdir(exist_ok=True)
        names = [folder / f"rank-{each.rank}.toml" for each in plans]
        others = [path for path in folder.glob("rank-*.toml") if path not in names]
        for path in (*names, *others):
            check_output(path, "plan", is_plan)
        for path, each in zip(names, plans, strict=True):
            each.plan.write(str(path))
        for path in others:
            path.unlink()
        return sorted(path.name for path in others)
    except OSError as error:
        raise TerraceError(f"--output {folder}: {error.strerror}") from error


def _document(each: RankPlan) -> dict[str, Any]:
    plan = each.plan
    return {
        "rank": each.rank,
        "fast_bytes": each.share,
        "slow_only_s": plan.predicted_slow,
        "predicted_s": plan.predicted,
        "objects": plan.objects,
        "moves": plan.moves,
    }
