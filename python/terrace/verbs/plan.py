# SPDX-License-Identifier: Apache-2.0
"""`terrace plan`: choose placements for a machine and a budget; predict the gain."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from terrace import _core, options, units
from terrace.errors import WrongCallError
from terrace.output import console, print_json, progress, table
from terrace.output_files import check_output, is_plan
from terrace.report import observation
from terrace.report.plan_ranks import plan_all_ranks
from terrace.report.plan_sweep import print_sweep
from terrace.solve.confidence import DRAWS, Certainty, PlanTime, plan_time, regret_of
from terrace.solve.lower_bounds import Bound, bound_of_profile
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.run_options import machine_options
from terrace.store.values import Coverage, Loop, Machine, Run

_HERE = "this-machine"  # name of the detected machine, which is the default of a run
# Maximum number of printed moves; more are aggregated.
_MANY = 20

_EPILOG = """\b
Examples:
  terrace plan cg.4711.terrace --fast 64MiB
  terrace plan cg.4711.terrace --machine knl-7210-flat --budget hbm=16GiB -o plan.toml
  terrace plan cg.4711.terrace --sweep fast=64MiB:4GiB
  terrace plan app.4711.terrace --all-ranks --fast 4GiB -o plans
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("plan", epilog=_EPILOG)(plan)


def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.terrace", help="Profile of `terrace record` or `simulate`.")
    ],
    machine: Annotated[
        str | None,
        typer.Option("--machine", "-m", help="Machine file or name of a shipped machine; default: the profile's."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", "-b", help="Budget by memory kind: hbm=16GiB,cxl=1TiB.")
    ] = None,
    fast: Annotated[str | None, typer.Option("--fast", "-f", help="Budget of the fastest kind: 64MiB.")] = None,
    planner: Annotated[str, typer.Option("--planner", "-p", help="Planner.")] = "auto",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Plan file to write.")] = None,
    hints: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Hints file; its directives on uses override the profile."),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(help="Print time by budget: fast=64MiB:4GiB, or a kind's name instead of fast.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Plan from the simulator's exact counters, as an oracle.")
    ] = False,
    progress_by: Annotated[
        str | None,
        typer.Option("--progress", metavar="TEXT", help="How segments begin; default: as profiled."),
    ] = None,
    confidence: Annotated[
        int,
        typer.Option(
            metavar="DRAWS", min=0, max=10_000, help="Resampled plans to estimate the certainty; 0: none."
        ),
    ] = DRAWS,
    process: options.Process = None,
    rank: options.Rank = None,
    all_ranks: Annotated[
        bool,
        typer.Option(
            "--all-ranks", help="Plan for each rank of an MPI job; --output names a folder for run --plan."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose placements for a machine and a budget; predict the gain."""
    if budget and fast:
        raise WrongCallError(f"--budget {budget} and --fast {fast}: both state the budget; give one of them")
    if all_ranks:
        if (
            sweep
            or exact
            or hints
            or progress_by
            or process is not None
            or rank is not None
            or confidence != DRAWS
        ):
            raise WrongCallError(
                "--all-ranks takes --machine, --budget, --fast, --planner, --output and --json only"
            )
        plan_all_ranks(Store(file), machine, budget or fast, planner, output, json)
        return
    if output:
        check_output(output, "plan", is_plan)
    store = Store(file)
    run = store.run(process, rank)
    coverage, own_machine, loop = store.coverage(run), store.machine(run), store.loop(run)
    model = Model(store, run, machine, exact, hints, progress_by)
    if not model.has_choice:
        raise WrongCallError(
            f"{machine or model.machine.name} has one kind of memory: there is nothing to plan; "
            "give a --machine with more"
        )
    if sweep:
        if budget or fast or output:
            raise WrongCallError(
                "--sweep varies the budget and writes no plan: omit --budget, --fast and --output"
            )
        print_sweep(model, sweep, planner, json)
        if not json:
            _warn(run, coverage, own_machine, loop, model)
        return
    limit = model.budget(budget or fast)
    problem = model.problem(limit)
    with progress(f"planning with {planner}"):
        sure = model.sure_plan(problem, planner, confidence)
        chosen = sure.plan
        fast_only = model.seconds("fast-only")
        bound = _bound_of(store, run, model, problem, chosen, limit)
        sure.limit_regrets(bound.of_regrets)
    certainty = Certainty(sure, problem.objects) if confidence else None
    time = plan_time(sure)
    if output:
        chosen.write(str(output))
    if json:
        rests_on = {
            "coverage": observation.document(run, coverage),
            "core_time": observation.core_time(run, own_machine),
        }
        print_json(
            {**_document(chosen, bound, fast_only, certainty, time), **observation.iterations(loop), **rests_on}
        )
    else:
        _print(
            console(),
            chosen,
            bound,
            fast_only,
            None if model.nothing_observed else certainty,
            time,
            model.nothing_observed,
        )
        _warn(run, coverage, own_machine, loop, model)
        if output and (chosen.moves or any(item["parts"] for item in chosen.objects)):
            print(f"\nwritten to {output}; run with this plan:\n    {_obeying(output, run, machine, own_machine)}")
        elif output:
            print(
                f"\nwritten to {output}; this plan keeps every object in its default place: data that the first "
                "touch puts in fast memory is moved out"
            )


def _obeying(plan: Path, run: Run, machine: str | None, own_machine: Machine) -> str:
    """Returns the command that runs the program under the plan, in virtual time unless the profile is real."""
    name = machine or own_machine.name
    known = machine or name in _core.shipped_machines()
    where = [] if name == _HERE else ["--machine", name if known else f"{name}.toml"]
    if run.virtual and known:
        where += machine_options(run, own_machine, name)
    subcommand = "simulate" if run.virtual else "run"
    words = ["terrace", subcommand, *where, "--plan", str(plan), "--", *(run.arguments or [run.program])]
    return shlex.join(words)


def _warn(run: Run, coverage: Coverage | None, machine: Machine, loop: Loop | None, model: Model) -> None:
    """Prints warnings and notes on the basis of a plan."""
    if sentence := observation.of_rank(run):
        console().print(f"\nnote: {sentence}", markup=False)
    for unused in model.unused_hints():
        console().print(f"\nwarning: {unused}", markup=False)
    if sentence := observation.observed(loop):
        console().print(f"\n{sentence}", markup=False)
    for sentence in observation.warnings(run, coverage):
        console().print(f"\nwarning: {sentence}", markup=False)
    if uncalibrated := observation.uncalibrated(run, machine):
        console().print(f"\nnote: {uncalibrated}", markup=False)


def _bound_of(
    store: Store, run: Run, model: Model, problem: _core.Problem, chosen: _core.Plan, limit: list[int]
) -> Bound:
    """Returns the bound from exact counters if the profile has them, whatever the plan is made from."""
    if not model.profile.exact and store.has_profile(run, exact=True):
        problem = Model(store, run, model.asked_machine, exact=True).problem(limit)
    return bound_of_profile(problem, chosen.predicted, store, run, limit, model.asked_machine, quick=True)


def _document(
    chosen: _core.Plan, bound: Bound, fast_only: float, certainty: Certainty | None, time: PlanTime | None
) -> dict[str, Any]:
    """Returns the plan as JSON."""
    regret = regret_of(chosen)
    return {
        "planner": chosen.planner,
        "machine": chosen.machine,
        "loop": chosen.loop,
        "budget": chosen.budget,
        "phases": chosen.phases,
        "segments": chosen.segments,
        "slow_only_s": chosen.predicted_slow,
        "predicted_s": chosen.predicted,
        "predicted_low_s": time.low if time else None,
        "predicted_high_s": time.high if time else None,
        "fast_only_s": fast_only,
        "lower_bound_s": bound.seconds or None,
        "lower_bound_usual_s": bound.of_usual or None,
        "lower_bound_confidence": bound.confidence,
        "gap": bound.gap(chosen.predicted),
        "search_gap": chosen.gap,
        "confidence": None
        if regret is None or certainty is None
        else {
            "draws": regret.draws,
            "regret_s": regret.seconds,
            "regret_low_s": regret.low,
            "regret_high_s": regret.high,
            **certainty.document(),
        },
        "objects": chosen.objects,
        "moves": chosen.moves,
        "moved_bytes": sum(move["bytes"] for move in chosen.moves),
    }


def _print(
    out: Console,
    chosen: _core.Plan,
    bound: Bound,
    fast_only: float,
    certainty: Certainty | None,
    time: PlanTime | None,
    nothing_observed: str | None,
) -> None:
    budget = ", ".join(chosen.budget) or "no limit"
    out.print(
        f"Plan by {chosen.planner} for {chosen.machine}, {budget}; seconds are of one iteration\n", markup=False
    )
    rows = table("placement", "per iteration", "relative to slow-only")
    for name, seconds in (
        ("slow-only", chosen.predicted_slow),
        ("this plan", chosen.predicted),
        (bound.title, bound.of_usual),
        ("fast-only", fast_only),
    ):
        if seconds > 0:
            rows.add_row(name, units.seconds(seconds), units.percent(seconds / chosen.predicted_slow - 1))
    out.print(rows)
    if nothing_observed:
        out.print(f"\nwarning: {nothing_observed}", markup=False)
    else:
        out.print(f"\n{bound.gain_sentence(chosen.predicted)}", markup=False)
    if time and certainty:
        out.print(time.sentence, markup=False)
    if (regret := regret_of(chosen)) and certainty:
        out.print(f"{regret.sentence} {certainty.sentence}".strip(), markup=False)
    out.print()
    _print_places(out, chosen)
    print_moves(out, chosen)


def _print_places(out: Console, chosen: _core.Plan) -> None:
    """Prints the places of objects."""
    rows = table("object", "size", "share", "place", left=(0, 3))
    home = 0
    for item in chosen.objects:
        if not item["parts"]:
            home += 1
        by_place: dict[str, int] = {}
        for _, count, place in item["parts"]:
            by_place[place] = by_place.get(place, 0) + count
        for place, count in by_place.items():
            note = f"{place}, never moves" if item["pinned"] else place
            rows.add_row(item["name"], units.size(item["size"]), units.percent(count / item["chunks"], 0), note)
    if rows.row_count:
        out.print(rows)
    out.print(f"{home} objects stay in their default place.", markup=False)


def print_moves(out: Console, chosen: _core.Plan) -> None:
    """Prints the moves, one per row; many are aggregated by object and direction."""
    if not chosen.moves:
        out.print("Nothing moves in the loop.", markup=False)
        return
    moved = sum(move["bytes"] for move in chosen.moves)
    head = f"\n{len(chosen.moves)} moves of {units.size(moved)} in every iteration"
    if len(chosen.moves) > _MANY:
        out.print(f"{head}, by object and direction:", markup=False)
        out.print(_moves_by_object(chosen.moves))
        out.print("All moves are in the plan file (-o FILE) and in --json.", markup=False)
        return
    out.print(f"{head}:", markup=False)
    rows = table("object", "size", "to", "requested at", "needed by", "benefit", "cost", left=(0, 2, 3, 4))
    for move in chosen.moves:
        need = _phase(chosen, move["need"]) if move["awaited"] else "not awaited"
        rows.add_row(
            move["object"],
            units.size(move["bytes"]),
            move["to"],
            _phase(chosen, move["ask"]),
            need,
            units.seconds(move["benefit"]),
            units.seconds(move["cost"]),
        )
    out.print(rows)


def _moves_by_object(moves: Sequence[Mapping[str, Any]]) -> Table:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for move in moves:
        groups.setdefault((move["object"], move["to"]), []).append(move)
    ordered = sorted(groups.items(), key=lambda group: -sum(move["bytes"] for move in group[1]))
    shown = len(ordered) if len(ordered) <= _MANY else _MANY - 1
    rows = table("object", "to", "moves", "size", "benefit", "cost", left=(0, 1))

    def add(name: str, to: str, group: Sequence[Mapping[str, Any]]) -> None:
        rows.add_row(
            name,
            to,
            str(len(group)),
            units.size(sum(move["bytes"] for move in group)),
            units.seconds(sum(move["benefit"] for move in group)),
            units.seconds(sum(move["cost"] for move in group)),
        )

    for (name, to), group in ordered[:shown]:
        add(name, to, group)
    rest = ordered[shown:]
    if rest:
        add(f"({len(rest)} more)", "", [move for _, group in rest for move in group])
    return rows


def _phase(chosen: _core.Plan, position: int) -> str:
    later = " (next)" if position >= len(chosen.phases) else ""
    return chosen.segments[position % len(chosen.phases)] + later
