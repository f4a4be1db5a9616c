"""`terrace lab experiment ablation`: what each part of the planner brings."""

from __future__ import annotations

import typer

from terrace.lab.experiment import ablation
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab experiment`."""
    register_study(
        app,
        "ablation",
        "What each part of the planner brings: plans without it, obeyed in virtual time.",
        ablation.cells,
        ablation.report,
        study="unimem",
    )
