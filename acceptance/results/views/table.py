"""`{{ table STEP NAME [COLUMN,COLUMN,...] [COLUMN=VALUE ...] }}`: a table of an experiment: these columns, else
all; the rows that have the values, else all. COLUMN% is shown in percent."""

from __future__ import annotations

from terrace.lab.experiment.tables import Value, heading, shown

from results.markdown import Pages, table


def view(pages: Pages, step: str, name: str, *words: str) -> str:
    """Renders a table with its title and caption."""
    document = pages.document(step)
    if document is None:
        return pages.not_run(step)
    found = document["tables"][name]
    wanted = dict(word.split("=", 1) for word in words if "=" in word)
    rows = [row for row in found["rows"] if all(str(row[key]) == value for key, value in wanted.items())]
    named = [column for word in words if "=" not in word for column in word.split(",")]
    columns = named or [column for column in rows[0] if column not in wanted]
    made = table(
        [heading(column.removesuffix("%")) for column in columns],
        [[_shown(column, row[column.removesuffix("%")]) for column in columns] for row in rows],
    )
    which = f" ({', '.join(wanted.values())})" if wanted else ""
    return f"{found['title']}{which}: {pages.made(step)}\n\n{made}"


def _shown(column: str, value: Value) -> str:
    if column.endswith("%") and isinstance(value, float):
        return f"{value:+.1%}"
    return shown(column, value)
