"""`{{ contenders BENCHMARK MEASURE SECTION }}`: one measure of bench/pim in one of its sections, a
column for each contender: medians, and quartiles in brackets."""

from __future__ import annotations

from typing import Any

from results.markdown import Pages, table

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns"))  # of nanoseconds


def view(pages: Pages, name: str, measure: str, *section: str) -> str:
    """Renders a row for each series and number of threads."""
    document = pages.document(name)
    if document is None:
        return pages.not_run(name)
    wanted, kind = " ".join(section), measure.replace("-", " ")
    found = [row for row in document["benchmarks"] if (row["section"], row["measure"]) == (wanted, kind)]
    contenders = list(dict.fromkeys(row["contender"] for row in found))
    cells = {(row["series"], row["threads"], row["contender"]): row for row in found}
    rows = []
    for series, threads in dict.fromkeys((row["series"], row["threads"]) for row in found):
        row = [series, str(threads)]
        for contender in contenders:
            figure = cells.get((series, threads, contender))
            row.append("" if figure is None else _spread(figure))
        rows.append(row)
    return f"{wanted}, {kind}: {pages.made(name)}\n\n{table(['', 'threads', *contenders], rows)}"


def _spread(figure: dict[str, Any]) -> str:
    median, low, high = (_shown(figure[key], figure["unit"]) for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def _shown(value: float, unit: str) -> str:
    if unit != "ns":
        return f"{value:.3g}{'' if unit == 'x' else ' '}{unit}"
    scale, name = next(((s, n) for s, n in _TIMES if abs(value) >= s), (1, "ns"))
    return f"{value / scale:.3g} {name}"
