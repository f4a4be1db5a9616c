"""Writes an input file whose text the recipe itself contains."""

from __future__ import annotations

from pathlib import Path


def make(path: Path, *, text: str) -> None:
    """Writes it."""
    path.write_text(text, encoding="utf-8")
