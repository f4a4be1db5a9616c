# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment two-level`: reproduce the two-level-memory study: STREAM, hydrodynamics, metrics."""

from __future__ import annotations

import typer

from terrace.lab.experiment import two_level, two_level_page
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    register_study(
        app,
        "two-level",
        "Reproduce the two-level-memory study: STREAM, a hydrodynamics code, and metrics that select data.",
        two_level.cells,
        two_level_page.report,
    )
