# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment unimem`: reproduce Unimem's evaluation: slowdowns, techniques, baselines, moves."""

from __future__ import annotations

import typer

from terrace.lab.experiment import unimem, unimem_page
from terrace.lab.experiment.command import register_study


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab experiment`."""
    register_study(
        app,
        "unimem",
        "Reproduce Unimem's evaluation: slowdowns, placement against bound and baselines, techniques, moves.",
        unimem.cells,
        unimem_page.report,
    )
