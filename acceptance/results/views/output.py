"""`{{ output LINES COMMAND }}`: a command of the README, and the first lines of what it printed."""

from __future__ import annotations

from results.markdown import Pages

_COLUMNS = 125  # longer lines are cut


def view(pages: Pages, lines: str, *words: str) -> str:
    """Renders the command and its output as a block, without empty lines."""
    command = " ".join(words)
    printed = [line for line in pages.kept.documents["readme"]["outputs"][command].splitlines() if line.strip()]
    shown = printed[: int(lines)] + ["..."] * (len(printed) > int(lines))
    return "\n".join(["```console", f"$ {command}", *map(_cut, shown), "```"])


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 4].rstrip()} ..."
