# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment ccnuma`: evaluate page placement on a GPU over a coherent link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrace.lab.experiment import ccnuma, ccnuma_iterations, ccnuma_links, ccnuma_page
from terrace.lab.experiment.command import CORES, Jobs, Only, Output, StopAfter
from terrace.lab.experiment.questions import answer_and_report
from terrace.lab.experiment.warp_study import FEW, chosen_programs

_EPILOG = """\b
Traces of warps stay in the folder, up to 200 MB each; the same command resumes an interrupted run.
\b
Examples:
  terrace lab experiment ccnuma --output out/ccnuma
  terrace lab experiment ccnuma --small
  terrace lab experiment ccnuma --only bfs,needle
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    app.command("ccnuma", epilog=_EPILOG)(run_ccnuma)


def run_ccnuma(
    output: Output = None,
    small: Annotated[
        bool, typer.Option("--small", help="Use the programs' smallest sizes and few rules.")
    ] = False,
    only: Only = None,
    jobs: Jobs = CORES,
    stop_after: StopAfter = None,
) -> None:
    """Evaluate page placement on a GPU over a coherent link: thresholds, neighbours, bandwidth balancing."""
    programs = chosen_programs(only)
    folder = output or Path("out/ccnuma")
    size = FEW if small else "paper"
    study = ccnuma.Study(folder / size, programs, size, small)
    links = ccnuma_links.Links(study, small)
    longer = ccnuma_iterations.Iterations(study)
    answer_and_report(
        [study, longer, links], folder, jobs, stop_after, lambda: ccnuma_page.report(study, longer, links)
    )
