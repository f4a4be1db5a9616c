"""`{{ made STEP }}`: the command of a step, its commit, day and machine."""

from __future__ import annotations

from results.markdown import Pages


def view(pages: Pages, step: str) -> str:
    """Renders the caption."""
    return pages.made(step)
