"""`terrace lab experiment baselines`: published planners and policies beside ours."""

from __future__ import annotations

from pathlib import Path

import typer

from terrace.lab.experiment import baselines
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
    app.command("baselines", epilog=EPILOG.format(name="baselines"))(baselines_verb)


def baselines_verb(
    output: Output = None,
    problem_class: Class = "W",
    small: Small = False,
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """Every published planner and policy on CG and MG, with fast memory for a quarter and a half of the data."""
    setting = read_setting("baselines", source, only, problem_class, small)
    run_experiment(
        "baselines", setting, baselines.cells, baselines.report, output, source, jobs, shard, stop_after
    )
