"""`{{ lines PROGRAM }}`: the criteria of an acceptance program: goal, measurement, verdict."""

from __future__ import annotations

from results.kept import FALLS_SHORT, HOLDS, NOT_RUN, Document
from results.markdown import Pages, escaped, machines, table


def view(pages: Pages, program: str) -> str:
    """Renders a row for each criterion; text beyond its first line stands below the table."""
    document = pages.document(program)
    if document is None:
        return pages.not_run(program)
    lines = document["lines"]
    measured = [line for line in lines if line["verdict"] != NOT_RUN]
    if not measured:
        return f"{pages.not_run(program)}\n\n{_table(lines, [])}"
    verdicts = [line["verdict"] for line in lines]
    count = ", ".join(
        words.format(verdicts.count(verdict))
        for verdict, words in ((HOLDS, "{} met"), (FALLS_SHORT, "**{} below target**"), (NOT_RUN, "{} not run"))
        if verdict in verdicts
    )
    more = [_more(line) for line in measured if "\n" in line["measured"]]
    return "\n\n".join(
        [f"{pages.made(program, measured)} {len(lines)} criteria: {count}.", _table(lines, measured), *more]
    )


def _table(lines: list[Document], measured: list[Document]) -> str:
    """Renders the table. If criteria were measured on several machines, a column names them."""
    several = machines(measured)
    columns = ["criterion", "goal", "measured", "verdict"] + ["machine"] * (len(several) > 1)
    rows = []
    for line in lines:
        row = [line["item"], line["goal"], _first(line), _verdict(line)]
        if len(several) > 1:
            row.append(str(several.index(line["machine"]) + 1) if "machine" in line else "")
        rows.append(row)
    return table(columns, rows)


def _first(line: Document) -> str:
    """Returns the first line of the measurement."""
    return "" if line["verdict"] == NOT_RUN else str(line["measured"]).partition("\n")[0]


def _verdict(line: Document) -> str:
    return {HOLDS: "met", FALLS_SHORT: "**below target**", NOT_RUN: "*not run on this commit*"}[line["verdict"]]


def _more(line: Document) -> str:
    sentences = str(line["measured"]).splitlines()
    return "\n".join([f"*{line['item']}*:", "", *(f"- {escaped(text.strip())}" for text in sentences)])
