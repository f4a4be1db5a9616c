# SPDX-License-Identifier: Apache-2.0
"""Draws charts for the reports of experiments: grouped bars, ranked bars, lines, points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from terrace.report import charts

if TYPE_CHECKING:
    import plotly.graph_objects as go

FAST, SLOW, GOOD, BOUND, SOFT = charts.FAST, charts.SLOW, charts.GOOD, charts.BOUND, "#8a96a3"
CYCLE = (
    SLOW,
    SOFT,
    FAST,
    GOOD,
    BOUND,
    charts.WAIT,
    "#d0a215",
    "#3aa6a0",
    "#a2578f",
    "#6c7f91",
    "#b5c334",
    "#e07b91",
)
PALE = {FAST: "#9cc7da", SLOW: "#deb79b"}
_LETTER = 7  # width of a letter in points
_MAX_NUMBERS = 48  # bars with printed values


@dataclass(frozen=True)
class Series:
    """Values in one colour, by group or position; None where missing."""

    name: str
    values: Sequence[float | None]
    colour: str


@dataclass(frozen=True)
class Level:
    """A dashed line across the picture: a published value."""

    value: float
    words: str


def bars(groups: Sequence[str], series: Sequence[Series], axis: str, levels: Sequence[Level] = ()) -> go.Figure:
    """Draws grouped bars from 0, with their values if there is space."""
    figure = _figure(series, axis, levels, barmode="group", bargap=0.18)
    shown = ".1f" if "%" in axis else ".2f"
    for one in series:
        figure.add_bar(x=list(groups), y=list(one.values), name=one.name, marker={"color": one.colour})
    figure.update_traces(hovertemplate=f"%{{x}}: %{{y:{shown}}}")
    values = [value for one in series for value in one.values if value is not None]
    if values and len(series) * len(groups) <= _MAX_NUMBERS:
        low, high = min(0.0, *values), max(0.0, *values, *(level.value for level in levels))
        figure.update_yaxes(range=[low - 0.15 * (low < 0) * (high - low), high + 0.15 * (high - low)])
        figure.update_traces(
            texttemplate=f"%{{y:{shown}}}", textposition="outside", textangle=-90, cliponaxis=False
        )
        figure.update_layout(uniformtext={"minsize": 9, "mode": "show"})
    return figure


def ranked(names: Sequence[str], values: Sequence[float], colours: Sequence[str], axis: str) -> go.Figure:
    """Draws a horizontal bar for each name, the first one on top, with its value."""
    figure = charts.figure(90 + 26 * len(names), showlegend=False, bargap=0.25)
    figure.add_bar(
        x=list(values), y=list(names), orientation="h", marker={"color": list(colours)},
        hovertemplate="%{y}: %{x:.2f}", texttemplate="%{x:.2f}", textposition="outside", cliponaxis=False,
    )  # fmt: skip
    figure.update_xaxes(title=axis, range=[0, 1.08 * max(values, default=1)], showgrid=True, automargin=True)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, automargin=True)
    return figure


def lines(
    positions: Sequence[str] | Sequence[float],
    series: Sequence[Series],
    axis: str,
    across: str = "",
    levels: Sequence[Level] = (),
) -> go.Figure:
    """Draws a line for each series over named or numeric positions, the latter to scale."""
    figure = _figure(series, axis, levels)
    if across:
        figure.update_xaxes(title=across)
    if not any(isinstance(position, str) for position in positions):
        figure.update_xaxes(type="linear", tickformat="~s")
    for number, one in enumerate(series):
        figure.add_scatter(
            x=list(positions), y=list(one.values), name=one.name, mode="lines+markers",
            hovertemplate="%{x}: %{y:.2f}",
            line={"color": one.colour, "dash": ("solid", "dash", "dot")[number // len(CYCLE) % 3]},
        )  # fmt: skip
    return figure


def points(series: Sequence[tuple[str, Sequence[float], Sequence[float]]], across: str, axis: str) -> go.Figure:
    """Draws points in a colour for each series: name, positions, values."""
    figure = _figure([Series(name, high, "") for name, _, high in series], axis)
    for number, (name, where, high) in enumerate(series):
        figure.add_scatter(
            x=list(where), y=list(high), name=name, mode="markers",
            marker={"color": CYCLE[number % len(CYCLE)], "size": 4},
            hovertemplate="%{x:.1f}: %{y:.2f}",
        )  # fmt: skip
    figure.update_xaxes(type="linear", title=across)
    return figure


def _figure(series: Sequence[Series], axis: str, levels: Sequence[Level] = (), **layout: object) -> go.Figure:
    """Makes a figure with the axis title and a dashed line for each level."""
    figure = charts.figure(420, showlegend=len(series) > 1, **layout)
    for level in levels:
        figure.add_hline(
            y=level.value, line={"color": charts.WAIT, "width": 1, "dash": "dash"},
            annotation={
                "text": escape(level.words).replace("\n", "<br>"), "x": 1, "xanchor": "left", "yanchor": "middle",
                "align": "left", "font": {"color": charts.WAIT, "size": 11},
            },
        )  # fmt: skip
    longest = max((len(line) for level in levels for line in level.words.splitlines()), default=0)
    figure.update_layout(margin={"r": 20 + _LETTER * longest})
    figure.update_xaxes(type="category", automargin=True)
    figure.update_yaxes(automargin=True, title=axis, rangemode="tozero", zeroline=True, zerolinecolor=charts.SOFT)
    return figure
