# SPDX-License-Identifier: Apache-2.0
"""`terrace bounds`: compute what any placement could gain at best, in total and by phase.

From a program: up to five configurations in one simulated run (all in slow memory, fast memory as a hardware
cache, a plan of the user's, the planner's placement, all in fast memory), and the bound from exact counters.
From a file: the same without cache and user's plan, predicted by the model from the profile.
"""

import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core, options, units
from terrace.describe import former_options
from terrace.errors import TerraceError, WrongCallError, core_errors, launcher_error
from terrace.lab import study
from terrace.output import console, print_json, progress
from terrace.report import bounds_tables, mpi_advice, observation
from terrace.solve.bounds import Bounds, Size
from terrace.solve.figures import check_bound
from terrace.solve.lower_bounds import bound_of_loop, bound_of_profile, lower_bounds
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.selection import of_job
from terrace.store.summary import groups, iteration_times, mean, summarise_phases
from terrace.store.values import Run

_EPILOG = """\b
Examples:
  terrace bounds --machine unimem-lat4 --fast 64MiB -- ./cg --class W
  terrace bounds --machine knl-7210-flat --fast 64MiB --plan mine.toml -- ./hydro
  terrace bounds cg.4711.terrace --fast 64MiB
  terrace bounds halo.4711.terrace --mpi-objects --fast 64MiB
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("bounds", epilog=_EPILOG, context_settings=former_options({"guided": "plan"}))(bounds)


def bounds(
    words: Annotated[
        list[str], typer.Argument(metavar="FILE.terrace | -- PROGRAM...", help="Profile, or program to run.")
    ],
    machine: Annotated[
        str | None, typer.Option("--machine", "-m", help="Machine file or name of a shipped machine.")
    ] = None,
    budget: Annotated[str | None, typer.Option("--budget", "-b", help="Budget by memory kind: hbm=16GiB.")] = None,
    fast: Annotated[str | None, typer.Option("--fast", "-f", help="Budget of the fastest kind: 64MiB.")] = None,
    planner: Annotated[str, typer.Option("--planner", "-p", help="Planner or placement policy.")] = "auto",
    guided: Annotated[
        Path | None, typer.Option("--plan", help="PROGRAM: evaluate this plan, too, in a column of its own.")
    ] = None,
    cache: Annotated[list[str] | None, typer.Option(help="Change the size of a cache: l3=640KiB.")] = None,
    core_time: Annotated[
        list[str] | None,
        typer.Option(help="Core time per instruction: 0.05ns; by phase: 'psinv.*=0.08ns'. Repeatable."),
    ] = None,
    phases: Annotated[
        str | None,
        typer.Option(help="PROGRAM: phases of the main loop, as in terrace simulate."),
    ] = None,
    loop: Annotated[str | None, typer.Option(help="PROGRAM: main loop, as in terrace simulate.")] = None,
    process: options.Process = None,
    rank: options.Rank = None,
    mpi_objects: Annotated[
        bool,
        typer.Option(
            "--mpi-objects",
            help="FILE: which of the MPI library's own objects to place in fast memory, and what each costs.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute what any placement could gain at best."""
    if budget and fast:
        raise WrongCallError(f"--budget {budget} and --fast {fast}: both state the budget; give one of them")
    limit = budget or fast
    if mpi_objects:
        others = {
            "--planner": planner != "auto",
            "--plan": guided,
            "--cache": cache,
            "--core-time": core_time,
            "--phases": phases,
            "--loop": loop,
            "--process": process is not None,
            "--rank": rank is not None,
        }
        for option, value in others.items():
            if value:
                raise WrongCallError(f"{option} does not apply to --mpi-objects, which considers whole jobs")
        _advise_on_mpi(words, machine, limit, json)
        return
    if len(words) > 1 and words[0].endswith(".terrace") and Path(words[0]).is_file():
        raise WrongCallError(f"give a profile ({words[0]}) or a program after --, not both")
    if len(words) == 1 and (words[0].endswith(".terrace") or "--" not in sys.argv):
        if cache:
            raise WrongCallError(
                "--cache requires a program: a profile has the caches of its run; give `-- PROGRAM`"
            )
        if core_time:
            raise WrongCallError(
                "--core-time requires a program: a profile has the core time of its run; give `-- PROGRAM`"
            )
        if guided:
            raise WrongCallError("--plan requires a program: give `-- PROGRAM` instead of a profile")
        if phases or loop:
            raise WrongCallError(
                "--phases and --loop require a program: a profile has those of its run; give `-- PROGRAM`"
            )
        result = from_profile(Path(words[0]), machine, limit, planner, process, rank)
    else:
        if process is not None or rank is not None:
            raise WrongCallError("--process and --rank require a profile: omit them, or give FILE.terrace")
        where = [*(["--phases", phases] if phases else []), *(["--loop", loop] if loop else [])]
        result = from_program(words, machine, limit, planner, cache or [], core_time or [], guided, where)
    if json:
        print_json(bounds_tables.document(result))
    else:
        bounds_tables.print_bounds(console(), result)


def _advise_on_mpi(words: Sequence[str], machine: str | None, limit: str | None, as_json: bool) -> None:
    """Prints the advice for the job of a profile."""
    if len(words) != 1 or not words[0].endswith(".terrace"):
        raise WrongCallError("--mpi-objects requires a profile: give FILE.terrace of an MPI job")
    paths = study.machine_document(machine)["paths"] if machine else None
    found = mpi_advice.gather(Store(Path(words[0])), machine, limit, paths)
    if as_json:
        print_json(mpi_advice.document(found))
    else:
        mpi_advice.print_advice(console(), found)


def from_profile(
    file: Path, machine: str | None, limit: str | None, planner: str, process: int | None, rank: int | None
) -> Bounds:
    """Returns the model's result for a stored profile, priced with exact counters if it has them.

    The planner decides from what a real collector could deliver, whatever prices its decision.
    """
    store = Store(file)
    run = store.run(process, rank)
    exact = store.has_profile(run, exact=True)
    model = Model(store, run, machine, exact)
    problem = model.problem(model.budget(limit))
    with progress("bounding"):
        placed = model.decide(problem, planner).prediction
        if exact and store.has_profile(run, exact=False):
            sampled = Model(store, run, machine)
            decision = sampled.decide(sampled.problem(sampled.budget(limit)), planner)
            placed = problem.predict(decision.places)
        whole = model.problem()
        slow = model.decide(whole, "slow-only").prediction
        everything = model.decide(whole, "fast-only").prediction
        budget = model.budget(limit)
        bound = bound_of_profile(problem, placed.total, store, run, budget, machine)
        sizes = _smaller_sizes(model, store, run, planner) if limit is None and model.has_choice else []
    return Bounds(
        slow_only=_by_name(problem, slow),
        cache_mode=None,
        guided=None,
        fast_only=_by_name(problem, everything),
        managed=_by_name(problem, placed),
        lower_bound=bound.by_phase,
        lower_bound_all=bound.seconds,
        usual_lower_bound=bound.of_usual,
        sentence=bound.sentence,
        confidence=bound.confidence,
        sizes=sizes,
        phases=list(groups(problem.phases)),
        source=f"predicted from {'exact counters' if exact else 'samples'}{of_job(run)}",
        machine=model.machine.name,
        budget=units.budget(limit) if limit else "no limit",
        iterations=model.profile.iterations,
        observed=observation.observed(store.loop(run)),
        solver=bound.means,
        warnings=[
            *([model.nothing_observed] if model.nothing_observed else []),
            *observation.warnings(run, store.coverage(run)),
        ],
        core_time=observation.core_time(run, store.machine(run)),
        uncalibrated=observation.uncalibrated(run, store.machine(run)),
    )


def _smaller_sizes(model: Model, store: Store, run: Run, planner: str) -> list[Size]:
    """Returns the bounds for shares of the footprint that are smaller than the machine's fast memory."""
    sizes, footprint = [], model.problem().footprint
    for share in _SHARES:
        size = int(share * footprint)
        try:
            budget = model.budget(str(size))
        except WrongCallError:
            continue  # larger than the fast memory
        problem = model.problem(budget)
        placed = model.decide(problem, planner).prediction.total
        bound = bound_of_profile(problem, placed, store, run, budget, model.asked_machine, quick=True)
        sizes.append(Size(size, share, placed, bound.seconds, bound.of_usual))
    return sizes


def from_program(
    command: Sequence[str],
    machine: str | None,
    limit: str | None,
    planner: str,
    caches: Sequence[str],
    core_times: Sequence[str] = (),
    guided: Path | None = None,
    where: Sequence[str] = (),
) -> Bounds:
    """Simulates the program once, prices every configuration, and computes the bound from its exact counters.

    `where`: the launcher's options that define the main loop and its phases.
    """
    options = ["--exact", "--quiet", *where]
    options += ["--machine", machine] if machine else []
    options += ["--budget", limit] if limit else []
    for one in caches:
        options += ["--cache", one]
    for one in core_times:
        options += ["--core-time", one]
    with tempfile.TemporaryDirectory(prefix="terrace-bounds-") as folder:
        options += ["--output", str(Path(folder) / "b.terrace")]
        configurations = {**_CONFIGURATIONS, "placed": f"planner={planner}"}
        if _has_one_memory(machine):
            del configurations["cache"]
        if guided:
            configurations["guided"] = f"plan={guided.resolve()}"
        for label, who in configurations.items():
            options += ["--config", f"label={label} {who}"]
        with progress(f"running {Path(command[0]).name} in virtual time"):
            _simulate(options, command)
        if guided:
            study.check_follows_plan(Path(folder) / "b.guided.terrace")
        return _measured({label: Store(Path(folder) / f"b.{label}.terrace") for label in configurations}, limit)


def _has_one_memory(machine: str | None) -> bool:
    """Returns whether the machine, or this machine, has a single place, which cannot be a cache of another."""
    if machine is None:
        return len(study.machine_here()["places"]) == 1
    with core_errors():
        return len(_core.Machine.read(machine).places) == 1


def _simulate(options: Sequence[str], command: Sequence[str]) -> None:
    """Runs the launcher and discards the program's output. Raises TerraceError with one line if it fails."""
    done = subprocess.run(
        [study.terrace_program(), "simulate", *options, "--", *command],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode == 0:
        return
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    if last and last[0].startswith("terrace: "):
        said = last[0].removeprefix("terrace: ")
        raise launcher_error(said, done.returncode)
    how = f"status {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
    raise TerraceError(f"{command[0]} ended with {how}" + (f": {last[0]}" if last else ""))


_SHARES = (0.25, 0.5, 0.75)  # of the footprint: budgets if the user gave none
_CONFIGURATIONS = {"slow": "planner=slow-only", "cache": "planner=cache-mode", "fast": "planner=fast-only"}


def _measured(stores: dict[str, Store], limit: str | None) -> Bounds:
    """Returns the result of simulated runs, one in each configuration."""
    by_world = {}
    for label, store in stores.items():
        phases = summarise_phases(store, store.run())
        if not phases:
            raise TerraceError(store.why_no_loop(store.run()) or "no phase of the main loop was seen")
        by_world[label] = {phase.name: phase.mean for phase in phases}
    slow = stores["slow"]
    run = slow.run()
    model = Model(slow, run, exact=True)
    problem = model.problem(model.budget(limit))
    names = list(groups(problem.phases))
    times = iteration_times(stores["placed"], stores["placed"].run())
    with progress("bounding"):
        by_phase, overall, solver = lower_bounds(problem, mean(times))
        software = [label for label in ("placed", "guided") if label in stores]
        placed = {label: mean(iteration_times(stores[label], stores[label].run())) for label in software}
        # The bound of the mean iteration assumes equal iterations that end with their initial placement; real ones
        # may be faster on average and have their own bound. These are simulated runs with exact counters.
        if min(placed.values()) < overall:
            (overall, _), solver = bound_of_loop(slow, run, model.budget(limit)), "prices of each iteration"
        for label, seconds in placed.items():
            check_bound(f"{label}, mean iteration", overall, seconds)

    def of(label: str) -> list[float]:
        return [by_world[label].get(name, 0.0) for name in names]

    return Bounds(
        slow_only=of("slow"),
        cache_mode=of("cache") if "cache" in by_world else None,
        guided=of("guided") if "guided" in by_world else None,
        fast_only=of("fast"),
        managed=of("placed"),
        lower_bound=by_phase,
        lower_bound_all=overall,
        usual_lower_bound=overall,
        sentence=f"No placement under this budget runs an iteration in less than {units.seconds(overall)} "
        f"({solver}).",
        confidence=None,
        sizes=[],
        phases=names,
        source="virtual time, mean iteration, learning and moving included",
        machine=slow.machine(run).name,
        budget=units.budget(limit) if limit else "no limit",
        iterations=len(times),
        observed=None,
        solver=solver,
        warnings=observation.warnings(run, slow.coverage(run)),
        core_time=observation.core_time(run, slow.machine(run)),
        uncalibrated=observation.uncalibrated(run, slow.machine(run)),
    )


def _by_name(problem: _core.Problem, prediction: _core.Prediction) -> list[float]:
    """Returns the predicted seconds of the phases by name."""
    return [
        math.fsum(prediction.phases[p].total for p in positions) for positions in groups(problem.phases).values()
    ]
