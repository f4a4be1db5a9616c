# SPDX-License-Identifier: Apache-2.0
"""Renders the report page of every experiment: sections of text, pictures and tables, in one file without external
references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from terrace.lab.experiment.cells import write_whole
from terrace.lab.experiment.tables import Row, Table, heading, shown
from terrace.report import charts, parts

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MANY_ROWS = 12  # larger tables are collapsed
_MORE_STYLE = """
h3 { font-size: 1rem; font-weight: 600; margin: 1.2rem 0 0; }
header > p.made { color: var(--soft); font-size: .85rem; margin-top: .4rem; }
section > p.note { margin-top: .6rem; }
th { white-space: normal; vertical-align: bottom; }
section > p.difference { border-left: .3rem solid var(--rule); padding-left: .8rem; }
"""


@dataclass(frozen=True)
class Picture:
    """A chart: its name in the page, its title, and the Plotly figure."""

    name: str
    words: str
    figure: go.Figure


@dataclass(frozen=True)
class Section:
    """A result: text, differences from the publication with reasons, pictures, tables, notes."""

    title: str
    text: str
    differences: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """Results of an experiment."""

    title: str
    headline: str
    lead: str
    sections: Sequence[Section]
    made: str = ""  # provenance

    def write(self, folder: Path) -> None:
        """Writes the tables, and report.html with the pictures."""
        for section in self.sections:
            for table in section.tables:
                table.write(folder)
        write_whole(folder / "report.html", self._html())

    def _html(self) -> str:
        sections = "".join(_section(section) for section in self.sections)
        made = f'<p class="made">{escape(self.made)}</p>\n' if self.made else ""
        body = (
            f'<header>\n<h1>{escape(self.title)}</h1>\n<p class="headline">{escape(self.headline)}</p>\n'
            f'<p class="lead">{escape(self.lead)}</p>\n{made}</header>\n<main>\n{sections}</main>'
        )
        return parts.document(self.title, body, _MORE_STYLE)


def _section(section: Section) -> str:
    """Renders a section as HTML."""
    differences = "".join(f'<p class="difference">{escape(text)}</p>\n' for text in section.differences)
    pictures = "".join(_picture(picture, section.title) for picture in section.pictures)
    tables = "".join(_table(table) for table in section.tables if table.rows)
    notes = "".join(f'<p class="note">{escape(text)}</p>\n' for text in section.notes)
    return (
        f"<section>\n<h2>{escape(section.title)}</h2>\n<p>{escape(section.text)}</p>\n{differences}{pictures}"
        f"{tables}{notes}</section>\n"
    )


def _picture(picture: Picture, above: str) -> str:
    chart = charts.embed(picture.name, picture.words, picture.figure)
    title = f"<h3>{escape(picture.words)}</h3>\n" if picture.words != above else ""
    return f"{title}<figure>{chart}</figure>\n"


def _table(table: Table) -> str:
    """Renders a table as HTML, collapsed if it is long."""
    words = {name for row in table.rows for name, value in row.items() if isinstance(value, str)}
    head = "".join(
        f'<th class="left">{escape(heading(name))}</th>' if name in words else f"<th>{escape(heading(name))}</th>"
        for name in table.columns
    )
    rows = "".join(f"<tr>{_cells(row)}</tr>\n" for row in table.rows)
    is_open = " open" if len(table.rows) <= _MANY_ROWS else ""
    return (
        f"<details{is_open}><summary>{escape(table.title)} ({escape(table.name)}.csv)</summary>\n"
        f'<div class="scroll"><table>\n<tr>{head}</tr>\n{rows}</table></div></details>\n'
    )


def _cells(row: Row) -> str:
    return "".join(
        f'<td class="left">{escape(value)}</td>' if isinstance(value, str) else f"<td>{shown(name, value)}</td>"
        for name, value in row.items()
    )
