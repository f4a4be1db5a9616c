"""`{{ benchmark NAME }}`: the times of a Google Benchmark program, with its counters."""

from __future__ import annotations

from typing import Any

from results.markdown import Pages, table

# Fields that Google Benchmark writes about itself, not about the measured code.
_NOT_COUNTERS = {
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time",
}  # fmt: skip


def view(pages: Pages, name: str) -> str:
    """Renders a row for each benchmark."""
    document = pages.document(name)
    if document is None:
        return pages.not_run(name)
    rows = [
        [f"`{row['name']}`", f"{row['cpu_time']:.4g} {row['time_unit']}", _counters(row)]
        for row in document["benchmarks"]
        if "error_occurred" not in row
    ]
    return f"{pages.made(name)}\n\n{table(['benchmark', 'processor time', 'counters'], rows)}"


def _counters(row: dict[str, Any]) -> str:
    numbers = {
        key: value for key, value in row.items() if isinstance(value, int | float) and key not in _NOT_COUNTERS
    }
    return ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())
