"""`{{ dots STEP | PICTURE | NAME | LABELS | COLUMNS | TITLE }}`: a dot plot of the rows of a table or criterion.

NAME is the table or the criterion's item; of bench/pim it is SECTION, MEASURE, whose columns are the contenders.
LABELS are the columns that name a row, and COLUMN=VALUE for rows that are wanted. COLUMNS are the plotted ones;
A/B divides one by another, and "COLUMN as TEXT" says what the legend calls it. The picture is an SVG file beside
the page. The axis is logarithmic if the values span more than a factor of 20.
"""

from __future__ import annotations

import re

from results.dot_plot import Plot
from results.markdown import Pages, Row, rows_of


def view(pages: Pages, *words: str) -> str:
    """Renders the link to the picture, and hands the picture over to be written with the page."""
    step, name, item, labels, columns, title = (part.strip() for part in " ".join(words).split(" | "))
    rows = rows_of(pages.document(step), item)
    wanted = dict(part.split("=", 1) for part in labels.split(",") if "=" in part)
    rows = [row for row in rows if all(str(row.get(key)) == value for key, value in wanted.items())]
    if not rows:
        return pages.not_run(step)
    named = [part for part in labels.split(",") if "=" not in part]
    series = [column.partition(" as ") for column in columns.split(",")]
    plotted = {
        " ".join(str(row[key]) for key in named if str(row[key])): [_value(row, column) for column, _, _ in series]
        for row in rows
    }
    plotted = {label: values for label, values in plotted.items() if any(value is not None for value in values)}
    is_share = all(column.endswith("_gap") for column, _, _ in series)
    pages.pictures[name] = Plot(title, [text or column for column, _, text in series], plotted, is_share).svg()
    lines = [line for line in pages.kept.documents[step].get("lines", []) if line["item"] == item]
    return f"![{title}](pictures/{name}.svg)\n\n{pages.made(step, lines)}"


def _value(row: Row, column: str) -> float | None:
    """Returns a number, also one in front of a unit; None if the row has none there."""
    if column not in row and "/" in column:
        above, below = (_value(row, part) for part in column.split("/"))
        return above / below if above is not None and below else None
    found = re.match(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", str(row.get(column, "")).strip())
    return float(found[0]) if found else None
