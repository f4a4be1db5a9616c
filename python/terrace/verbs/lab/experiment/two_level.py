"""`terrace lab experiment two-level`: the two-level-memory study: STREAM, hydrodynamics, metrics."""

from __future__ import annotations

from pathlib import Path

import typer

from terrace.lab.experiment import two_level, two_level_page
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
    app.command("two-level", epilog=EPILOG.format(name="two-level"))(two_level_verb)


def two_level_verb(
    output: Output = None,
    problem_class: Class = "W",
    small: Small = False,
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """The two-level-memory study: STREAM, a hydrodynamics code, and which metric picks the right data."""
    setting = read_setting("two-level", source, only, problem_class, small)
    run_experiment(
        "two-level", setting, two_level.cells, two_level_page.report, output, source, jobs, shard, stop_after
    )
