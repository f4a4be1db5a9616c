# SPDX-License-Identifier: Apache-2.0
"""Draws occupancy and fragmentation of a PIM device over the operations of a replay, for the page of `terrace lab
pim`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import charts
from terrace.report.pim_facts import Facts

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HEIGHT = 330
_KINDS = (("rectangles", charts.INK), ("horizontal runs", charts.FAST), ("vertical runs", charts.SLOW))


def occupancy(facts: Facts) -> str:
    """Draws the occupancy by direction, stacked, and marks failed requests."""
    samples = facts.whole.samples
    figure = charts.figure(_HEIGHT)
    for number, (name, colour) in enumerate((("horizontal", charts.FAST), ("vertical", charts.SLOW))):
        figure.add_scatter(
            x=[done for done, *_ in samples], y=[facts.share(used[number]) for _, used, *_ in samples],
            name=f"{name} blocks", stackgroup="used", mode="lines", line={"width": 0}, fillcolor=colour,
            hovertemplate="%{y:.1%}",
        )  # fmt: skip
    most = facts.share(facts.whole.peak)
    about = f"{units.percent(most)} in use"
    early = facts.fullest.operations < facts.whole.operations / 2
    figure.add_annotation(
        x=facts.fullest.operations, y=most, text=about, ax=60 if early else -60, ay=-25,
        font={"color": charts.GOOD}, arrowcolor=charts.GOOD,
    )  # fmt: skip
    _finish(figure, facts)
    words = f"Occupancy over the operations: at most {about}; {units.percent(facts.share(sum(facts.whole.used)))} "
    return charts.embed("occupancy", words + "at the end.", figure)


def fragmentation(facts: Facts) -> str:
    """Draws the fragmentation of rectangles, and of horizontal and vertical runs."""
    samples = facts.whole.samples
    figure = charts.figure(_HEIGHT)
    for number, (name, colour) in enumerate(_KINDS):
        figure.add_scatter(
            x=[done for done, *_ in samples], y=[shares[number] for *_, shares in samples], name=name,
            mode="lines", line={"color": colour, "width": 1.75}, hovertemplate="%{y:.1%}",
        )  # fmt: skip
    _finish(figure, facts)
    last = ", ".join(
        f"{units.percent(share)} of {name}" for (name, _), share in zip(_KINDS, samples[-1][3], strict=True)
    )
    return charts.embed("fragmentation", f"Fragmentation over the operations. At the end {last}.", figure)


def _finish(figure: go.Figure, facts: Facts) -> None:
    """Adds axes, and a mark along the top for each interval with failed requests."""
    failed = [
        (end, after - before)
        for (_, _, before, _), (end, _, after, _) in pairwise(facts.whole.samples)
        if after > before
    ]
    if failed:
        figure.add_scatter(
            x=[end for end, _ in failed], y=[1.03] * len(failed), mode="markers", name="failed requests",
            marker={"symbol": "line-ns", "size": 9, "line": {"color": charts.WAIT, "width": 1.5}},
            hovertext=[f"{many:,} requests failed by operation {end:,}" for end, many in failed], hoverinfo="text",
        )  # fmt: skip
    figure.update_xaxes(title="operations", rangemode="tozero", tickformat=",d", showline=True)
    figure.update_yaxes(range=[0, 1.06], tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_layout(hovermode="x unified")
