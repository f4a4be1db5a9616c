"""A file that the recipe holds."""

from __future__ import annotations

from pathlib import Path


def make(path: Path, *, text: str) -> None:
    """Writes it."""
    path.write_text(text, encoding="utf-8")
