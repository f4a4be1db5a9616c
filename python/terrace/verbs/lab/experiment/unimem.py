"""`terrace lab experiment unimem`: Unimem's evaluation: slowdowns, techniques, baselines, moves."""

from __future__ import annotations

from pathlib import Path

import typer

from terrace.lab.experiment import unimem, unimem_page
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
    app.command("unimem", epilog=EPILOG.format(name="unimem"))(unimem_verb)


def unimem_verb(
    output: Output = None,
    problem_class: Class = "W",
    small: Small = False,
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """Unimem's evaluation: slowdowns, placement against the bound and the baselines, techniques, moves."""
    setting = read_setting("unimem", source, only, problem_class, small)
    run_experiment("unimem", setting, unimem.cells, unimem_page.report, output, source, jobs, shard, stop_after)
