# SPDX-License-Identifier: Apache-2.0
"""Writes the sections of the ccnuma report over time: which memory serves the traffic, and the position of hot
pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from terrace.lab.experiment.ccnuma import COMBINED, OURS, Study
from terrace.lab.experiment.ccnuma_figures import ORACLE, REMOTE
from terrace.lab.experiment.gpu_machine import bandwidths, page_bytes
from terrace.lab.experiment.page import Picture, Section
from terrace.lab.experiment.pictures import CYCLE, Series, lines, points
from terrace.lab.experiment.tables import Row, Table

PROGRAMS = ("bfs", "xsbench", "needle")  # the paper's
NUM_INTERVALS = 20  # intervals of a run
POINTS = 400  # drawn pages of a program
RULES = {
    "threshold 1": COMBINED[0],
    "and range 128": COMBINED[1],
    "and balancing": COMBINED[2],
    "even": OURS[0],
    "even-moves": OURS[1],
    "oracle": ORACLE,
}


def _chosen(study: Study) -> list[str]:
    return [name for name in PROGRAMS if name in study.programs] or study.programs[:1]


def _at(traffic: Sequence[Any], cycle: float) -> tuple[float, float]:
    """Returns bytes of local and remote memory up to a cycle, by linear interpolation."""
    before = (0, (0, 0))
    for at, demand, _ in traffic:
        if at >= cycle:
            part = (cycle - before[0]) / max(at - before[0], 1)
            own, beyond = (a + part * (b - a) for a, b in zip(before[1], demand, strict=True))
            return own, beyond
        before = (at, demand)
    return float(before[1][0]), float(before[1][1])


def shares(run: dict[str, Any]) -> list[float | None]:
    """Returns the local share of demand in each interval of a run; None without demand."""
    ends = [_at(run["traffic"], run["cycles"] * i / NUM_INTERVALS) for i in range(NUM_INTERVALS + 1)]
    served = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(ends)]
    return [own / (own + beyond) if own + beyond > 0 else None for own, beyond in served]


def shares_over_time(study: Study) -> Section:
    """Returns figure 8: the share of traffic that the GPU's own memory serves, over time."""
    tables, pictures = [], []
    times = [100 * (i + 1) // NUM_INTERVALS for i in range(NUM_INTERVALS)]
    for name in _chosen(study):
        found = {label: shares(study.get(name, rule)) for label, rule in RULES.items()}
        rows: list[Row] = [
            {"of the run": f"{time} %", **{label: found[label][i] for label in RULES}}
            for i, time in enumerate(times)
        ]
        table = Table(f"over-time-{name}", f"{name}: local share of the demand", rows)
        tables.append(table)
        series = [Series(label, found[label], CYCLE[i % len(CYCLE)]) for i, label in enumerate(RULES)]
        chart = lines(times, series, "share of the demand", "% of the run's own time")
        pictures.append(Picture(table.name, table.title, chart))
    return Section(
        "Figure 8: local share of the demand",
        f"Over each run's own time. The ratio of bandwidths is {bandwidths(study.machine())}.",
        pictures=pictures,
        tables=tables,
    )


def hot_pages(study: Study) -> Picture:
    """Returns the addresses of figure 6: positions of pages, hottest first."""
    drawn = []
    page = page_bytes(study.machine())
    for name in _chosen(study):
        run = study.get(name, REMOTE)
        ranked = sorted(zip(run["page_bytes"], run["page_numbers"], strict=True), key=lambda page: -page[0])
        lowest = min(run["page_numbers"])
        step = max(1, len(ranked) // POINTS)
        across = [100 * i / len(ranked) for i in range(0, len(ranked), step)]
        high = [(number - lowest) * page / 2**20 for _, number in ranked[::step]]
        drawn.append((name, across, high))
    picture = points(drawn, "% of the pages, hottest first", "MiB from the lowest address")
    return Picture("hot-pages", "Position of hot pages", picture)
