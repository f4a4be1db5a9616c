# SPDX-License-Identifier: Apache-2.0
"""Draws the execution of the plan for the page of `terrace report`: phases, moves and waits on one time axis."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import charts
from terrace.report.facts import Facts
from terrace.store.values import Move, PhaseInstance

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ITERATIONS = 4
_ROWS = 12
_PHASES = 0  # row of the phases; moves are below it
_THINNEST = 0.0025  # share of the shown time; shorter events are invisible


@dataclass
class _Bar:
    """Moves of one object that were requested together."""

    object: int
    into: bool
    asked: float
    begun: float
    done: float
    waited: float
    size: int
    refused: bool


def draw(facts: Facts) -> str:
    """Draws the first iterations: how the plan starts, and what later iterations repeat."""
    shown = [i for i in facts.instances if i.iteration < _ITERATIONS]
    if not shown:
        return "<p>No phase of a main loop was observed.</p>"
    start, end = min(i.begun for i in shown), max(i.ended for i in shown)
    bars = _bars(facts, start, end)
    rows = _rows(bars)
    figure = charts.figure(150 + 26 * len(rows), barmode="overlay", bargap=0.2)
    _add_iterations(figure, shown, start)
    _add_phases(figure, shown, start, end - start)
    _add_moves(figure, facts, bars, rows, start, end - start)
    names = [charts.shortened(facts.object_name(o), 28) if o >= 0 else "other objects" for o in rows]
    figure.update_yaxes(
        tickvals=list(range(len(rows) + 1)), ticktext=["phases", *names], range=[len(rows) + 0.5, -0.5],
        automargin=True, showgrid=False, ticks="",
    )  # fmt: skip
    figure.update_xaxes(range=[0, end - start], showline=True, **charts.TIME)
    figure.update_layout(legend={"yref": "container", "y": 1, "yanchor": "top"}, margin={"t": 55, "b": 40})
    moved = sum(bar.size for bar in bars)
    words = (
        f"Phases, moves and waits: {len(bars)} moves of {units.size(moved)} in the first "
        f"{len({i.iteration for i in shown})} iterations."
    )
    return charts.embed("timeline", words, figure)


def _bars(facts: Facts, start: float, end: float) -> list[_Bar]:
    """Returns a bar for each group of moves that were requested together."""
    groups: dict[tuple[int, int, int, int], list[Move]] = {}
    for move in facts.moves:
        if start <= move.asked <= end:
            groups.setdefault((move.object, move.iteration, move.ask, move.target), []).append(move)
    return [
        _Bar(
            object=key[0],
            into=facts.is_fast(key[3]),
            asked=min(m.asked for m in group),
            begun=min(m.begun for m in group),
            done=max(m.done for m in group),
            waited=sum(m.waited for m in group),
            size=sum(m.size for m in group),
            refused=all(m.refused for m in group),
        )
        for key, group in groups.items()
    ]


def _rows(bars: Sequence[_Bar]) -> list[int]:
    """Returns the objects with most moved bytes, in the order of their first move; -1 for all others."""
    moved: dict[int, int] = {}
    for bar in bars:
        moved[bar.object] = moved.get(bar.object, 0) + bar.size
    most = sorted(moved, key=lambda o: -moved[o])[:_ROWS]
    first = {o: min(bar.asked for bar in bars if bar.object == o) for o in most}
    rows = sorted(most, key=lambda o: first[o])
    return rows if len(moved) <= _ROWS else [*rows, -1]


def _add_iterations(figure: go.Figure, shown: Sequence[PhaseInstance], start: float) -> None:
    """Draws a line at the beginning of each iteration."""
    for number in sorted({i.iteration for i in shown}):
        begun = min(i.begun for i in shown if i.iteration == number)
        ended = max(i.ended for i in shown if i.iteration == number)
        figure.add_vline(x=begun - start, line={"color": charts.RULE, "width": 1})
        figure.add_annotation(
            x=begun - start, yref="paper", y=1, text=f"{number + 1}: {units.seconds(ended - begun)}",
            showarrow=False, xanchor="left", yanchor="bottom", font={"color": charts.SOFT, "size": 12},
        )  # fmt: skip


def _add_phases(figure: go.Figure, shown: Sequence[PhaseInstance], start: float, span: float) -> None:
    """Draws the phases and their waits in one row."""

    def add(
        name: str, begins: list[float], lengths: list[float], colours: object, tips: list[str], **more: object
    ) -> None:
        if begins:
            figure.add_bar(
                orientation="h", y=[_PHASES] * len(begins), base=[begun - start for begun in begins],
                x=[max(length, _THINNEST * span) for length in lengths], marker={"color": colours}, name=name,
                hovertext=tips, hoverinfo="text", textangle=0, **{"width": 0.9, **more},
            )  # fmt: skip

    tips = [
        escape(f"{i.name}: {units.seconds(i.ended - i.begun)}")
        + (f", including {units.seconds(i.waited)} waiting for moves" if i.waited > 0 else "")
        for i in shown
    ]
    colours = [charts.BAND if i.phase % 2 == 0 else charts.BAND2 for i in shown]
    add(
        "phases", [i.begun for i in shown], [i.ended - i.begun for i in shown], colours, tips, showlegend=False,
        text=[charts.shortened(i.name, 24) for i in shown], textposition="inside", insidetextanchor="middle",
        textfont={"color": charts.INK},
    )  # fmt: skip
    waits = [(i, tip) for i, tip in zip(shown, tips, strict=True) if i.waited > 0]
    add(
        "phase waits", [i.begun for i, _ in waits], [i.waited for i, _ in waits], charts.WAIT,
        [tip for _, tip in waits],
    )  # fmt: skip
    gaps = _gaps(shown)
    about = [f"between two iterations: {units.seconds(ended - begun)}" for begun, ended in gaps]
    add(
        "planning", [begun for begun, _ in gaps], [ended - begun for begun, ended in gaps], charts.SOFT,
        about, width=0.3,
    )  # fmt: skip


def _gaps(shown: Sequence[PhaseInstance]) -> list[tuple[float, float]]:
    """Returns intervals between iterations in which no phase ran."""
    numbers = sorted({i.iteration for i in shown})
    ends = {n: max(i.ended for i in shown if i.iteration == n) for n in numbers}
    begins = {n: min(i.begun for i in shown if i.iteration == n) for n in numbers}
    pairs = [(ends[a], begins[b]) for a, b in itertools.pairwise(numbers)]
    whole = max(ends.values()) - min(begins.values())
    return [(ended, begun) for ended, begun in pairs if begun - ended > 0.002 * whole]


def _add_moves(
    figure: go.Figure, facts: Facts, bars: Sequence[_Bar], rows: Sequence[int], start: float, span: float
) -> None:
    """Draws the moves, a row for each object."""
    row = {identity: number for number, identity in enumerate(rows, start=_PHASES + 1)}
    # Incoming moves are above outgoing ones, which may run concurrently.
    kinds = (
        ("into fast memory", charts.FAST, -0.2, [bar for bar in bars if bar.into and not bar.refused]),
        ("out of fast memory", charts.SLOW, 0.2, [bar for bar in bars if not bar.into and not bar.refused]),
        ("refused", charts.SOFT, 0.0, [bar for bar in bars if bar.refused]),
    )
    for name, colour, shift, group in kinds:
        if group:
            figure.add_bar(
                orientation="h", y=[row.get(bar.object, len(rows)) + shift for bar in group],
                base=[bar.begun - start for bar in group], width=0.4, marker={"color": colour}, name=name,
                x=[max(bar.done - bar.begun, _THINNEST * span) for bar in group],
                hovertext=[_tip(facts, bar, name) for bar in group], hoverinfo="text",
            )  # fmt: skip
    queued = [bar for bar in bars if bar.begun > bar.asked]
    if queued:
        figure.add_scatter(
            x=[t for bar in queued for t in (bar.asked - start, bar.begun - start, None)],
            y=[y for bar in queued for y in [row.get(bar.object, len(rows))] * 2 + [None]],
            mode="lines", line={"color": charts.SOFT, "width": 1.25}, name="queued", hoverinfo="skip",
        )  # fmt: skip


def _tip(facts: Facts, bar: _Bar, way: str) -> str:
    about = f"{facts.object_name(bar.object)}: {units.size(bar.size)} {way}, {units.seconds(bar.done - bar.begun)}"
    if bar.waited > 0:
        about += f", waited for {units.seconds(bar.waited)}"
    return escape(about)
