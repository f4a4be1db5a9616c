# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment baselines`: compare published planners and policies with Terrace's."""

from __future__ import annotations

import typer

from terrace.lab.experiment import baselines
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    register_study(
        app,
        "baselines",
        "Compare all published planners and policies on CG and MG, with 1/4 and 1/2 of the data in fast memory.",
        baselines.cells,
        baselines.report,
    )
