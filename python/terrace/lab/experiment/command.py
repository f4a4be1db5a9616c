# SPDX-License-Identifier: Apache-2.0
"""Defines the common options of the `terrace lab experiment` subcommands, and leads each from its questions to the
report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace.errors import WrongCallError
from terrace.lab.experiment.cells import Answers, Cell, document, parse_shard, write_whole
from terrace.lab.experiment.page import Report
from terrace.lab.experiment.recording import Place
from terrace.lab.experiment.runner import run
from terrace.lab.experiment.setting import Setting, read_setting
from terrace.lab.workloads import CLASSES, SPILLED, STUDIED
from terrace.solve.linear import WORK

Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder; default: out/NAME.")]
Class = Annotated[str, typer.Option("--class", help="Problem class of the programs: S, W or A.")]
Small = Annotated[bool, typer.Option("--small", help="Use few programs in class S, and few questions.")]
Only = Annotated[str | None, typer.Option("--only", help="Restrict to these programs, separated by commas.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Parallel processes.")]
Shard = Annotated[
    str | None,
    typer.Option(help="Answer only part I of N: 2/8, or slurm: of a job array; run without --shard at the end."),
]
StopAfter = Annotated[
    float | None,
    typer.Option(min=0, metavar="MINUTES", help="Start no new work after this time; run again to resume."),
]
Source = Annotated[Path, typer.Option(help="Terrace's source tree, which contains the workloads.")]
# Solver limit of the small setting. Bounds agree to five digits with those of the full limit, because subgradients
# improve the solver's prices.
SMALL_WORK = WORK / 40
UNFINISHED = 3  # exit status if the time limit left cells unanswered
CORES = os.cpu_count() or 1
EPILOG = """\b
Examples:
  terrace lab experiment {name} --output out/{name}
  terrace lab experiment {name} --small
  terrace lab experiment {name} --class A -o shared/{name} --shard 2/8
"""


def register_study(
    app: typer.Typer,
    name: str,
    summary: str,
    cells: Callable[[Setting], Sequence[Cell]],
    report: Callable[[Setting, Answers], Report],
    study: str = "",
) -> None:
    """Adds an experiment on the programs of a study, by default the study of its name, in any class."""

    def subcommand(
        output: Output = None,
        problem_class: Class = "W",
        small: Small = False,
        only: Only = None,
        jobs: Jobs = CORES,
        shard: Shard = None,
        stop_after: StopAfter = None,
        source: Source = Path(),
    ) -> None:
        setting = read_setting(study or name, source, only, problem_class, small)
        run_experiment(name, setting, cells, report, output, source, jobs, shard, stop_after)

    app.command(name, help=summary, epilog=EPILOG.format(name=name))(subcommand)


def run_experiment(
    name: str,
    setting: Setting,
    cells: Callable[[Setting], Sequence[Cell]],
    report: Callable[[Setting, Answers], Report],
    output: Path | None,
    source: Path,
    jobs: int,
    shard: str | None,
    stop_after: float | None,
    cache: str = "",
) -> None:
    """Answers the cells of this shard, and writes the report once all cells are answered.

    Exits with UNFINISHED if the time limit was reached before.
    """
    if setting.problem_class not in (*CLASSES, STUDIED, SPILLED):
        raise WrongCallError(f"--class {setting.problem_class}: known classes: {', '.join(CLASSES)}")
    part = parse_shard(shard) if shard else None
    folder = output or Path("out") / name
    place = Place(folder, source, setting.problem_class, cache, SMALL_WORK if setting.small else WORK)
    of_cache = {"cache": cache} if cache else {}
    _check_settings(folder, {"experiment": name, "class": setting.problem_class, **of_cache})
    asked = list(cells(setting))
    done = run(place, asked, jobs, part, None if stop_after is None else 60 * stop_after)
    print(f"{done.answered} cells answered now, {done.before} before; {folder}")
    if done.left:
        print(f"time limit reached: {done.left} cells are left; run the same command to resume")
        raise typer.Exit(UNFINISHED)
    if part is None:
        report(setting, Answers(folder)).write(folder)
        print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")
    elif done.missing:
        print(f"{done.missing} of {len(asked)} cells belong to other shards; run without --shard at the end")


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Ensures that a folder contains a single experiment in a single class, so that answers cannot be confused."""
    path = folder / "settings.json"
    wanted = document(settings)
    if not path.exists():
        write_whole(path, wanted)
        return
    there = path.read_text(encoding="utf-8")
    if there != wanted:
        said = json.loads(there)
        raise WrongCallError(
            f"{folder} has answers with other settings: {said.get('experiment')} in class {said.get('class')}"
            f"{', cache ' + said['cache'] if 'cache' in said else ''} (schema {said.get('schema')}): "
            "name another folder with --output"
        )
