# SPDX-License-Identifier: Apache-2.0
"""Draws tables, and compares with published values, for all sections of the out-of-core report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from terrace.lab.experiment.out_of_core import PUBLISHED_SIZE, Question, Study
from terrace.lab.experiment.page import Picture
from terrace.lab.experiment.pictures import CYCLE, Level, Series, lines
from terrace.lab.experiment.tables import Row, Table, Value

DATA = "data, GB"
RATE = "average bandwidth, GB/s"
# Maps a size in GB to the question of a column, or None.
Asked = Mapping[str, Callable[[int], Question | None]]


def questions(asked: Asked, sizes: Sequence[int]) -> list[Question]:
    """Returns the questions of all columns at all sizes."""
    return [one for ask in asked.values() for size in sizes if (one := ask(size)) is not None]


def by_size(
    study: Study,
    asked: Asked,
    value: Callable[[Question], float | None],
    published: Mapping[str, float] | None = None,
) -> list[Row]:
    """Returns a row for each size, with a column for each question and for published values at their sizes."""
    rows: list[Row] = []
    for size in study.sizes:
        answers = {label: ask(size) for label, ask in asked.items()}
        true = [study.get(one)["dataset_bytes"] for one in answers.values() if one and not study.refused(one)]
        row: Row = {DATA: true[0] / 1e9}
        row.update({label: None if one is None else value(one) for label, one in answers.items()})
        row.update(
            {label: number if size == PUBLISHED_SIZE else None for label, number in (published or {}).items()}
        )
        rows.append(row)
    return rows


def drawn(table: Table, axis: str, levels: Sequence[Level] = (), factor: float = 1, first: int = 0) -> Picture:
    """Draws a line for each column over the sizes; published values are diamonds. `first`: colour index."""
    positions = [f"{float(row[DATA] or 0):.1f}" for row in table.rows]
    columns = [column for column in table.columns if column != DATA]
    series = [
        Series(column, [_times(factor, row[column]) for row in table.rows], CYCLE[i % len(CYCLE)])
        for i, column in enumerate(columns, first)
    ]
    figure = lines(positions, series, axis, DATA, levels)
    for column in columns:
        if column.startswith("published"):
            of = CYCLE[columns.index(column.removeprefix("published ")) % len(CYCLE)]
            marker = {"symbol": "diamond-open", "size": 13, "color": of, "line": {"width": 2}}
            figure.update_traces(mode="markers", marker=marker, selector={"name": column})
    return Picture(table.name, table.title, figure)


def _times(factor: float, value: Value) -> float | None:
    return factor * value if isinstance(value, float | int) else None


def comparison_row(
    figure: str, program: str, what: str, ours: float | None, published: float | None, unit: str
) -> Row:
    """Returns a row of the table of values in the text; those without published value are modes of Terrace."""
    return {
        "figure": figure,
        "program": program,
        "what": what,
        "unit": unit,
        "ours": ours,
        "published": None if published is None else float(published),
    }


def ratio(one: float | None, other: float | None) -> float | None:
    """Returns the ratio, if both are known."""
    return None if one is None or other is None else one / other


def loss(share: float | None) -> float | None:
    """Returns 1 - share, rounded, because equal rates differ in their last digits, and never -0."""
    return None if share is None else round(1 - share, 9) + 0.0
