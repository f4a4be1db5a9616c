"""Common base of the views: the documents, and Markdown of tables and of captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.kept import Document, Kept
from results.steps import Step
from results.version import Machine


@dataclass(frozen=True)
class Pages:
    """Input of the result pages."""

    root: Path
    kept: Kept
    steps: Mapping[str, Step]
    templates: Mapping[str, str]

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
