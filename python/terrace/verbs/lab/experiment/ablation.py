# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment ablation`: measure what each part of the planner contributes."""

from __future__ import annotations

import typer

from terrace.lab.experiment import ablation
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    register_study(
        app,
        "ablation",
        "Measure what each part of the planner contributes: run plans made without it in virtual time.",
        ablation.cells,
        ablation.report,
        study="unimem",
    )
