"""Tables: what an experiment hands out, as CSV, as JSON, and on its page."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from terrace.lab.experiment.cells import SCHEMA, document, write_whole

# At the end of the title of a table in which data moves.
PRICE = "; moves at the price of the machine's first copier"

Value = str | float | int | None
Row = dict[str, Value]


@dataclass(frozen=True)
class Table:
    """Rows of the same columns; None where there is nothing to say."""

    name: str  # of its files
    title: str
    rows: list[Row]

    @property
    def columns(self) -> list[str]:
        """In the first row's order."""
        return list(self.rows[0]) if self.rows else []

    def write(self, folder: Path) -> None:
        """NAME.csv and NAME.json; each row of the CSV file says which schema it has."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["schema", *self.columns])
        for row in self.rows:
            writer.writerow([SCHEMA, *("" if value is None else value for value in row.values())])
        write_whole(folder / f"{self.name}.csv", text.getvalue())
        content = {"table": self.name, "title": self.title, "rows": self.rows}
        write_whole(folder / f"{self.name}.json", document(content))


def mean(values: list[float]) -> float | None:
    """None of nothing."""
    return sum(values) / len(values) if values else None


def geometric_mean(values: list[float]) -> float | None:
    """None of nothing."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values)) if values else None


def heading(column: str) -> str:
    """ "slow_only_s" as a heading."""
    name, _, unit = column.rpartition("_")
    return {"s": f"{name}, ms", "bytes": f"{name}, MB"}.get(unit, column).replace("_", " ")


def words(column: str) -> str:
    """A column's name in a legend: "demand_share" as "demand"."""
    name, _, unit = column.rpartition("_")
    return name if unit in ("s", "bytes", "share") else column


def shown(column: str, value: Value) -> str:
    """Seconds as ms, bytes as MB, shares in percent."""
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
