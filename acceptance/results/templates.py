"""The templates of the result pages: prose without figures, and what is to be filled in.

A line `{{ VIEW WORDS }}` is replaced by what the view of that name makes of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_FILL_IN = re.compile(r"^\{\{ (.+) \}\}$", re.MULTILINE)


def texts(root: Path) -> dict[str, str]:
    """By page."""
    folder = root / "acceptance" / "results" / "templates"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def filled(text: str, fill: Callable[[list[str]], str]) -> str:
    """The text with each line of fill-ins replaced; `fill` gets its words."""
    return _FILL_IN.sub(lambda found: fill(found[1].split()).rstrip("\n"), text)


def title(text: str) -> str:
    """Of a page."""
    return text.partition("\n")[0].removeprefix("# ")
