"""`terrace lab experiment baselines`: published planners and policies beside ours."""

from __future__ import annotations

import typer

from terrace.lab.experiment import baselines
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab experiment`."""
    register_study(
        app,
        "baselines",
        "Every published planner and policy on CG and MG, with fast memory for a quarter and a half of the data.",
        baselines.cells,
        baselines.report,
    )
