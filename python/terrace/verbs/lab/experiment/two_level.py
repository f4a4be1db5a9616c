"""`terrace lab experiment two-level`: the two-level-memory study: STREAM, hydrodynamics, metrics."""

from __future__ import annotations

import typer

from terrace.lab.experiment import two_level, two_level_page
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab experiment`."""
    register_study(
        app,
        "two-level",
        "The two-level-memory study: STREAM, a hydrodynamics code, and which metric picks the right data.",
        two_level.cells,
        two_level_page.report,
    )
