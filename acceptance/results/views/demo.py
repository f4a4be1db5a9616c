"""`{{ demo all }}`: the demo's table of placements. For the README, each with a sentence what it means:
`{{ demo paging }}`, its table by the clock, and `{{ demo placement }}`, the main columns of `all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from results.kept import Document, Refused
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
    "first touch": _ms("first_touch_s"),
    "interleave": _ms("interleave_s"),
    "live": _ms("live_s"),
    "planned": _ms("managed_s"),
    "fast-only": _ms("fast_only_s"),
    "bound": _ms("lower_bound_s"),
    "planned gap": _gap("gap"),
    "steady gap": _gap("steady_gap"),
    "overlap": _overlap,
    "moves": lambda row: str(row["moves"]),
}
_PLACEMENT = (
    *("", "fast memory", "slow-only", "first touch", "interleave", "live", "planned", "fast-only"),
    "bound",
)
_STUDY = tuple(column for column in _COLUMNS if column not in ("first touch", "interleave"))


_COLUMNS_MEAN = (
    "Live: Terrace profiles the first iteration, then plans and moves data during the run. Planned: the run "
    "follows an earlier run's plan.\nBound: no placement or migration by software makes an iteration faster; "
    "initial placement is not charged."
)


def view(pages: Pages, which: str) -> str:
    """Renders a table of the demo. Raises Refused if the machine that ran it could not measure the paging."""
    document = pages.document("demo")
    if document is None:
        return pages.not_run("demo")
    if which == "paging":
        return _paging(pages, document)
    found = document["tables"]["demo"]
    if which == "placement":
        return f"{_sentence(document, found['rows'])}\n\n{_table(_PLACEMENT, found['rows'])}\n\n{_COLUMNS_MEAN}"
    return f"{found['title']}: {pages.made('demo')}\n\n{_table(_STUDY, found['rows'])}"


def _table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return table(columns, [[_COLUMNS[column](row) for column in columns] for row in rows])


def _paging(pages: Pages, document: Document) -> str:
    """Renders the sentence and the table of paging by the clock, for the README."""
    gain = document["paging"]
    if gain is None:
        raise Refused(f"{pages.kept.folder}/demo.json: memory could not be limited; remove it, and run as root")
    ways = {"nothing: no limit": "in_memory_s", "Terrace": "terrace_s", "the kernel, a mapped file": "kernel_s"}
    times = {way: f"{gain[key]:.1f} s" for way, key in ways.items()}
    data, limit = (f"{gain[key] / 1e6:.0f} MB" for key in ("data_bytes", "limit_bytes"))
    speedup = f"{'at least ' * gain['kernel_stopped']}{gain['speedup']:.1f} times as fast"
    return (
        f"By the clock: `{gain['program']}` has {data} of data and is limited to {limit} of memory. It is "
        f"{speedup} under Terrace as\nunder kernel paging (medians of three interleaved runs). MG sweeps its "
        "grids regularly; [elsewhere](docs/results/memory.md) it is less.\n\n"
        + table(["paged by", *times], [["time", *times.values()]])
    )


def _sentence(document: Document, rows: Sequence[Row]) -> str:
    """Renders what the placed program gains, and how far it is from the bound."""
    row = next(row for row in rows if row["ratio"] == "half")
    closed = (row["slow_only_s"] - row["managed_s"]) / (row["slow_only_s"] - row["fast_only_s"])
    program = f"{row['workload'].upper()} in class {document['class']}"
    return (
        "In virtual time, on a machine whose slow memory has four times the latency, where moves cost what they "
        f"cost the kernel: with fast memory\nfor half of its data, {program} gains {closed:.0%} of what fast "
        f"memory for all would, and takes {_less(row, 'first_touch_s')} less time than by first touch and "
        f"{_less(row, 'interleave_s')} less\nthan interleaved. No placement by software can be more than "
        f"{row['managed_s'] / row['lower_bound_s'] - 1:.1%} faster. The live run makes {row['live_moves']} moves, "
        f"the planned one {row['moves'] or 'none'}."
    )


def _less(row: Row, name: str) -> str:
    return f"{1 - row['managed_s'] / row[name]:.0%}"
