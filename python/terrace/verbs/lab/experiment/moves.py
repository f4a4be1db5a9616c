# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment moves`: reproduce Unimem's study in class C, at three costs of moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import core_errors
from terrace.lab.experiment import moves
from terrace.lab.experiment.command import CORES, Jobs, Only, Output, Shard, Source, StopAfter, run_experiment
from terrace.lab.experiment.setting import Setting, read_setting
from terrace.lab.workloads import STUDIED

_EPILOG = """\b
Examples:
  terrace lab experiment moves --output out/moves
  terrace lab experiment moves --cache 5MiB --output out/moves-5
  terrace lab experiment moves --only cg,mg --stop-after 30
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    app.command("moves", epilog=_EPILOG)(run_moves)


def run_moves(
    output: Output = None,
    cache: Annotated[
        str, typer.Option(help="Size of the last-level cache: a socket's 20 MiB, or a rank's share of it.")
    ] = "20MiB",
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """Reproduce Unimem's study in class C, at three costs of moves, from recordings of some iterations."""
    with core_errors():
        _core.parse_size(cache)
    few = read_setting("moves", source, only, STUDIED, False)
    setting = Setting(few.programs, STUDIED, False)
    run_experiment("moves", setting, moves.cells, moves.report, output, source, jobs, shard, stop_after, cache)
