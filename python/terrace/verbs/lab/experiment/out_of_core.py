# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment out-of-core`: evaluate stencil programs on more data than fast memory holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrace.lab.experiment import out_of_core, out_of_core_page
from terrace.lab.experiment.command import CORES, Jobs, Only, Output, StopAfter
from terrace.lab.experiment.questions import answer_and_report, chosen

_EPILOG = """\b
No kernel runs and no data is allocated; the same command resumes an interrupted run.
\b
Examples:
  terrace lab experiment out-of-core --output out/out-of-core
  terrace lab experiment out-of-core --small
  terrace lab experiment out-of-core --only cloverleaf2d,taylor_green
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    app.command("out-of-core", epilog=_EPILOG)(run_out_of_core)


def run_out_of_core(
    output: Output = None,
    small: Annotated[bool, typer.Option("--small", help="Use two sizes: 6 and 48 GB.")] = False,
    only: Only = None,
    jobs: Jobs = CORES,
    stop_after: StopAfter = None,
) -> None:
    """Evaluate stencil programs on more data than fast memory holds: cache, slots, streams, unified memory."""
    programs = chosen(only, list(out_of_core.PROGRAMS))
    study = out_of_core_page.open_study(output or Path("out/out-of-core"), programs, small)
    answer_and_report([study], study.folder, jobs, stop_after, lambda: out_of_core_page.report(study))
