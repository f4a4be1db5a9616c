# SPDX-License-Identifier: Apache-2.0
"""Holds result tables of an experiment, writes them as CSV and JSON, and formats them for its page."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from terrace.lab.experiment.cells import SCHEMA, document, write_whole

# Suffix of the title of a table with moves.
PRICE = "; moves at the cost of the machine's first copier"

Value = str | float | int | None
Row = dict[str, Value]


@dataclass(frozen=True)
class Table:
    """Rows with equal columns; None where a value is missing."""

    name: str  # of the files
    title: str
    rows: list[Row]

    @property
    def columns(self) -> list[str]:
        """Returns the columns, in the first row's order."""
        return list(self.rows[0]) if self.rows else []

    def write(self, folder: Path) -> None:
        """Writes NAME.csv and NAME.json; each row of the CSV file contains the schema version."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["schema", *self.columns])
        for row in self.rows:
            writer.writerow([SCHEMA, *("" if value is None else value for value in row.values())])
        write_whole(folder / f"{self.name}.csv", text.getvalue())
        content = {"table": self.name, "title": self.title, "rows": self.rows}
        write_whole(folder / f"{self.name}.json", document(content))


def mean(values: list[float]) -> float | None:
    """Returns the mean; None without values."""
    return sum(values) / len(values) if values else None


def geometric_mean(values: list[float]) -> float | None:
    """Returns the geometric mean; None without values."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values)) if values else None


def heading(column: str) -> str:
    """Converts a column name such as "slow_only_s" into a heading."""
    name, _, unit = column.rpartition("_")
    return {"s": f"{name}, ms", "bytes": f"{name}, MB"}.get(unit, column).replace("_", " ")


def words(column: str) -> str:
    """Returns a column's name for a legend: "demand" for "demand_share"."""
    name, _, unit = column.rpartition("_")
    return name if unit in ("s", "bytes", "share") else column


def shown(column: str, value: Value) -> str:
    """Formats seconds as ms, bytes as MB, shares as per cent."""
    if value is None:
        return ""
    if column.endswith("_s"):
        return f"{float(value) * 1e3:.2f}"
    if column.endswith("_bytes"):
        return f"{float(value) / 1e6:.2f}"
    if column.endswith(("gap", "over_bound")):
        return f"{float(value):+.1%}"
    if column.endswith(("share", "overlap")):
        return f"{float(value):.1%}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
