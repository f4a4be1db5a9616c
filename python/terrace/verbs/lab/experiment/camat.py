# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment camat`: measure the memory performance of GPU programs by C-AMAT."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrace.lab.experiment import camat, camat_page
from terrace.lab.experiment.command import CORES, Jobs, Only, Output, StopAfter
from terrace.lab.experiment.questions import answer_and_report
from terrace.lab.experiment.warp_study import FEW, chosen_programs

_EPILOG = """\b
Traces of warps stay in the folder, up to 200 MB each; the same command resumes an interrupted run.
\b
Examples:
  terrace lab experiment camat --output out/camat
  terrace lab experiment camat --small
  terrace lab experiment camat --only btree,particlefilter
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    app.command("camat", epilog=_EPILOG)(run_camat)


def run_camat(
    output: Output = None,
    small: Annotated[bool, typer.Option("--small", help="Use the programs' smallest sizes.")] = False,
    only: Only = None,
    jobs: Jobs = CORES,
    stop_after: StopAfter = None,
) -> None:
    """Measure C-AMAT of GPU programs: L1 of every SM, L2 and DRAM, by kernel and over time."""
    programs = chosen_programs(only)
    folder = output or Path("out/camat")
    size = FEW if small else "paper"
    study = camat.Study(folder / size, programs, size)
    answer_and_report([study], folder, jobs, stop_after, lambda: camat_page.report(study))
