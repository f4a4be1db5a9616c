"""`{{ rows PROGRAM ITEM }}`: the table of a criterion of an acceptance program."""

from __future__ import annotations

from typing import Any

from results.markdown import Pages, table


def view(pages: Pages, program: str, *line: str) -> str:
    """Renders the rows; columns that some rows lack are empty there."""
    document = pages.document(program)
    found = [each for each in (document or {}).get("lines", []) if each["item"] == " ".join(line)]
    rows: list[dict[str, Any]] = found[0].get("rows", []) if found else []
    if not rows:
        return pages.not_run(program)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    return f"{pages.made(program, found)}\n\n{table([column.replace('_', ' ') for column in columns], cells)}"


def _shown(value: object) -> str:
    return {True: "yes", False: "**no**"}[value] if isinstance(value, bool) else str(value)
