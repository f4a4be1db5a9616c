"""Reads the templates of the result pages: prose without figures, and placeholders.

The view of that name replaces a line `{{ VIEW WORDS }}` by what it renders from the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

BLOCK = "block"  # the template of the README's block
_FILL_IN = re.compile(r"^\{\{ (.+) \}\}$", re.MULTILINE)


def texts(root: Path) -> dict[str, str]:
    """Returns the templates, by page."""
    folder = root / "acceptance" / "results" / "templates"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def filled(text: str, fill: Callable[[list[str]], str]) -> str:
    """Returns the text with each placeholder replaced by `fill` of its words."""
    return _FILL_IN.sub(lambda found: fill(found[1].split()).rstrip("\n"), text)


def title(text: str) -> str:
    """Returns the title of a page."""
    return text.partition("\n")[0].removeprefix("# ")
