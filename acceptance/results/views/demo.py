"""`{{ demo all }}` and `{{ demo short }}`: the demo's table, of which the README shows some columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from results.markdown import Pages, table

Row = dict[str, Any]


def _ms(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name] * 1e3:.1f} ms"


def _gap(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:+.1%}"


def _fast(row: Row) -> str:
    return f"{row['fast_bytes'] / 1e6:.1f} MB ({row['fast_bytes'] / row['footprint_bytes']:.0%})"


def _overlap(row: Row) -> str:
    return "" if row["overlap"] is None else f"{row['overlap']:.0%}"


_COLUMNS: dict[str, Callable[[Row], str]] = {
    "": lambda row: row["workload"].upper(),
    "machine": lambda row: row["machine"],
    "fast memory": _fast,
    "slow-only": _ms("slow_only_s"),
    "live": _ms("live_s"),
    "planned": _ms("managed_s"),
    "fast-only": _ms("fast_only_s"),
    "bound": _ms("lower_bound_s"),
    "planned gap": _gap("gap"),
    "steady gap": _gap("steady_gap"),
    "overlap": _overlap,
    "moves": lambda row: str(row["moves"]),
}
_SHORT = ("", "machine", "fast memory", "slow-only", "planned", "fast-only", "planned gap", "bound")


def view(pages: Pages, which: str) -> str:
    """Renders the demo's table with its caption."""
    document = pages.document("demo")
    if document is None:
        return pages.not_run("demo")
    columns = _SHORT if which == "short" else tuple(_COLUMNS)
    found = document["tables"]["demo"]
    made = table(columns, [[_COLUMNS[column](row) for column in columns] for row in found["rows"]])
    return f"{found['title']}: {pages.made('demo')}\n\n{made}"
