# SPDX-License-Identifier: Apache-2.0
"""Draws tables, and computes speedups, for all sections of the ccnuma report (page placement over a coherent
link)."""

from __future__ import annotations

from terrace.lab.experiment.ccnuma import STATIC, Rule, Study
from terrace.lab.experiment.page import Picture
from terrace.lab.experiment.pictures import CYCLE, Level, Series, bars, lines
from terrace.lab.experiment.tables import Row, Table, Value, geometric_mean, words

BY_BANDWIDTH = "interleave by bandwidth"

REMOTE, LOCAL, ORACLE = Rule("remote"), Rule("local"), Rule("oracle")


def run_time(study: Study, program: str, rule: Rule) -> float:
    """Returns the seconds of virtual time."""
    return float(study.get(program, rule)["seconds"])


def speedup(study: Study, program: str, rule: Rule) -> float:
    """Returns the speedup over access by the link only."""
    return run_time(study, program, REMOTE) / run_time(study, program, rule)


def best_placement(study: Study, program: str) -> Rule:
    """Returns the fastest static placement of those that were run."""
    return min((rule for rule in STATIC if rule != REMOTE), key=lambda rule: run_time(study, program, rule))


def with_mean(rows: list[Row], label: str = "geometric mean") -> list[Row]:
    """Appends a row of the columns' geometric means."""
    means: Row = {"program": label}
    for column in rows[0]:
        values = [row[column] for row in rows]
        if column != "program" and all(isinstance(value, float) for value in values):
            means[column] = geometric_mean([float(value) for value in values if value is not None])
    return [*rows, means]


def number(value: Value) -> float | None:
    """Returns a cell that can be drawn, or None."""
    return value if isinstance(value, float) else None


def grouped(table: Table, axis: str, levels: tuple[Level, ...] = ()) -> Picture:
    """Draws a table as bars, grouped by program."""
    columns = [column for column in table.columns if column != "program"]
    series = [
        Series(words(column), [number(row.get(column)) for row in table.rows], CYCLE[i % len(CYCLE)])
        for i, column in enumerate(columns)
    ]
    programs = [str(row["program"]) for row in table.rows]
    return Picture(table.name, table.title, bars(programs, series, axis, levels))


def lined(table: Table, columns: dict[str, float], axis: str, across: str, factor: float = 1) -> Picture:
    """Draws a table as a line for each program. `columns` maps the columns to their positions on the x axis, which
    `across` names; `factor` scales the values of the axis `axis`."""
    series = [
        Series(
            str(row["program"]), [factor * float(row[column] or 0) for column in columns], CYCLE[i % len(CYCLE)]
        )
        for i, row in enumerate(table.rows)
    ]
    return Picture(table.name, table.title, lines(list(columns.values()), series, axis, across))
