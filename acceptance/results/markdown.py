"""Gives the views access to the documents, and formats Markdown tables and captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from results.kept import Document, Kept
from results.steps import Step
from results.version import Machine

Row = dict[str, Any]


@dataclass(frozen=True)
class Pages:
    """Input of the result pages."""

    root: Path
    kept: Kept
    steps: Mapping[str, Step]
    templates: Mapping[str, str]
    pictures: dict[str, str] = field(default_factory=dict)  # SVG that views have drawn, by name

    def document(self, step: str) -> Document | None:
        """Returns the document of a step, if it was run on this commit."""
        return self.kept.documents.get(step)

    def not_run(self, step: str) -> str:
        """Returns the text in place of figures that were not measured."""
        return f"*Not run on this commit: `{self.steps[step].command}`.*"

    def made(self, step: str, by: Sequence[Document] = ()) -> str:
        """Returns the caption: command, commit, days and machines of a document, or of its criteria."""
        document = self.kept.documents[step]
        of = by or [document]
        days = sorted({each["date"] for each in of})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        where = "; ".join(machine_words(each) for each in machines(of))
        changed = ", **with changes that are in no commit**" if document["dirty"] else ""
        return f"`{document['command']}`, commit `{document['commit'][:12]}`{changed}, {when}; {where}."


def rows_of(document: Document | None, name: str) -> list[Row]:
    """Returns the rows of a table, of a criterion by its item, or of `SECTION, MEASURE` of bench/pim."""
    if document is None:
        return []
    if "tables" in document:
        return list(document["tables"].get(name, {"rows": []})["rows"])
    if "lines" in document:
        return [row for line in document["lines"] if line["item"] == name for row in line.get("rows", [])]
    rows: dict[str, Row] = {}
    for each in document["benchmarks"]:
        if f"{each['section']}, {each['measure']}" == name:
            rows.setdefault(each["series"], {"series": each["series"]})[each["contender"]] = each["median"]
    return list(rows.values())


def machines(documents: Sequence[Document]) -> list[Machine]:
    """Returns the machines on which they were made, each once."""
    found: list[Machine] = []
    for document in documents:
        if document["machine"] not in found:
            found.append(document["machine"])
    return found


def machine_words(machine: Machine) -> str:
    """Describes a machine for a reader."""
    memory = int(machine["memory_bytes"]) / 2**30
    cores = int(machine["cores"])
    return f"{machine['processor']}, {cores} core{'s' * (cores > 1)}, {memory:.0f} GiB, {machine['kernel']}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats a Markdown table."""
    lines = [headings, ["---"] * len(headings), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|").replace("\n", "<br>")


def escaped(text: str) -> str:
    """Names and commands may hold what Markdown reads as its own. What is bold here was made so by us."""
    return text.replace("<", "&lt;") if "`" not in text else text
