"""`terrace lab experiment ablation`: what each part of the planner brings."""

from __future__ import annotations

from pathlib import Path

import typer

from terrace.lab.experiment import ablation
from terrace.lab.experiment.command import (
    CORES,
    EPILOG,
    Class,
    Jobs,
    Only,
    Output,
    Shard,
    Small,
    Source,
    StopAfter,
    run_experiment,
)
from terrace.lab.experiment.setting import read_setting


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab experiment`."""
    app.command("ablation", epilog=EPILOG.format(name="ablation"))(ablation_verb)


def ablation_verb(
    output: Output = None,
    problem_class: Class = "W",
    small: Small = False,
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """What each part of the planner brings: plans without it, obeyed in virtual time."""
    setting = read_setting("unimem", source, only, problem_class, small)
    run_experiment("ablation", setting, ablation.cells, ablation.report, output, source, jobs, shard, stop_after)
