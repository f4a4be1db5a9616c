# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment memory-size`: predict the slowdown with less memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrace.lab import workloads
from terrace.lab.experiment import memory_size
from terrace.lab.experiment.command import (
    CORES,
    Jobs,
    Only,
    Output,
    Shard,
    Source,
    StopAfter,
    run_experiment,
)
from terrace.lab.experiment.setting import Setting

_EPILOG = """\b
Examples:
  terrace lab experiment memory-size --output out/memory-size
  terrace lab experiment memory-size --only mg,hydro
  terrace lab experiment memory-size --small
"""
_SMALL = ("stream", "sort")


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    app.command("memory-size", epilog=_EPILOG)(run_memory_size)


def run_memory_size(
    output: Output = None,
    small: Annotated[bool, typer.Option("--small", help="Use two programs, two memory sizes, one core.")] = False,
    only: Only = None,
    jobs: Jobs = CORES,
    shard: Shard = None,
    stop_after: StopAfter = None,
    source: Source = Path(),
) -> None:
    """Predict the slowdown by memory size, with the rest of the data on an NVMe disk or on NFS."""
    there = workloads.read_all(source / "workloads").values()
    programs = tuple(one for one in there if workloads.SPILLED in one.sizes)
    few = tuple(one for one in programs if one.name in _SMALL) if small and only is None else programs
    setting = Setting(workloads.chosen(only, few), workloads.SPILLED, small)
    run_experiment(
        "memory-size", setting, memory_size.cells, memory_size.report, output, source, jobs, shard, stop_after
    )
