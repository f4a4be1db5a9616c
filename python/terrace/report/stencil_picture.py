# SPDX-License-Identifier: Apache-2.0
"""Draws the tiles of a stencil chain as bands in space and loops, and the data movement of its steps, for the page
of stencil plans."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import charts
from terrace.report import stencil_facts as facts
from terrace.store.stencil_plans import Chain, Plan, Plans, Stream

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MAX_BANDS = 120
_NEAR = 3  # tiles of the close-up
_LABEL = 14  # height of a loop's name in points
_MIN, _MAX = 260, 760  # height of the loops in points
_SHADES = ((charts.FAST, charts.FAST2), (charts.SLOW, charts.SLOW2))  # alternating by step, then by tile


def draw(plans: Plans, number: int, plan: Plan) -> str:
    """Draws space horizontally, loops vertically, and a band per tile; a close-up of middle tiles on the right."""
    chain = plans.chains[number - 1]
    d = facts.outer(chain, plan)
    room = min(max(_LABEL * len(chain.loops), _MIN), _MAX)
    figure = charts.figure(room + 110)
    is_near = plan.tiles[d] > _NEAR + 1
    figure.set_subplots(
        1, 1 + is_near, shared_yaxes=True, horizontal_spacing=0.03, column_widths=[0.62, 0.38][: 1 + is_near]
    )
    cuts = [plan.cuts(loop, n, d) for n, loop in enumerate(chain.loops)]
    together = math.ceil(plan.tiles[d] / _MAX_BANDS)
    _add_bands(figure, chain, plan, cuts, range(0, plan.tiles[d], together), together, 1)
    if is_near:
        middle = (plan.tiles[d] - _NEAR) // 2
        _add_bands(figure, chain, plan, cuts, range(middle, middle + _NEAR), 1, 2)
        figure.add_annotation(
            text=f"tiles {middle + 1} to {middle + _NEAR}", xref="x2 domain", yref="paper", x=0, y=1, yshift=4,
            xanchor="left", yanchor="bottom", showarrow=False, font={"color": charts.SOFT},
        )  # fmt: skip
    _add_tips(figure, plans, chain, plan, d)
    labels = _labels(chain, room)
    figure.update_yaxes(
        tickvals=labels, ticktext=[charts.shortened(chain.loops[n].name, 26) for n in labels], showgrid=False,
        range=[len(chain.loops) - 0.5, -0.5], tickfont={"size": 11},
    )  # fmt: skip
    figure.update_yaxes(automargin=True, col=1)
    figure.update_xaxes(
        title=facts.AXES[d], tickformat=",d", showline=True, showgrid=False, zeroline=False, linecolor=charts.SOFT,
        ticks="outside", tickcolor=charts.SOFT,
    )  # fmt: skip
    figure.update_yaxes(zeroline=False)
    many = plan.tiles[d]
    figure.add_annotation(
        text=_caption(plan, d, together), xref="x domain", yref="paper", x=0, y=1, yshift=4, xanchor="left",
        yanchor="bottom", showarrow=False, font={"color": charts.SOFT},
    )  # fmt: skip
    skew = facts.points(plan.skew[d])
    words = f"{many} tiles in {facts.AXES[d]} through {len(chain.loops)} loops, skewed by {skew}."
    return charts.embed(f"tiles-{number}", words, figure)


def _caption(plan: Plan, d: int, together: int) -> str:
    bands = f"a band is {together} of {plan.tiles[d]} tiles" if together > 1 else f"{plan.tiles[d]} tiles"
    steps = f", {len(plan.stream.steps)} steps" if plan.stream else ""
    return f"{bands}{steps}{', backwards' if plan.reversed[d] else ''}"


def _labels(chain: Chain, room: int) -> list[int]:
    """Returns the loops to label: those with the most points first, as long as labels do not overlap."""
    apart = math.ceil(_LABEL * len(chain.loops) / room)
    found: list[int] = []
    for n in sorted(range(len(chain.loops)), key=lambda n: (-chain.loops[n].range.points, n)):
        if all(abs(n - other) >= apart for other in found):
            found.append(n)
    return sorted(found)


def _add_bands(
    figure: go.Figure, chain: Chain, plan: Plan, cuts: list[list[int]], tiles: range, together: int, column: int
) -> None:
    """Adds bands of `together` tiles each, one trace per colour."""
    paths: dict[str, tuple[list[float | None], list[float | None]]] = {}
    for band, tile in enumerate(tiles):
        step = 0
        if plan.stream:
            step = next(s for s, one in enumerate(plan.stream.steps) if tile < one.last_tile)
        x, y = paths.setdefault(_SHADES[step % 2][band % 2], ([], []))
        after = min(tile + together, plan.tiles[facts.outer(chain, plan)])
        parts = [sorted((of_loop[tile], of_loop[after])) for of_loop in cuts]
        for rows in _stretches(chain, parts):
            left, right = _side(parts, rows, 0), _side(parts, rows, 1)[::-1]
            x += [point[0] for point in left + right] + [None]
            y += [point[1] for point in left + right] + [None]
    for colour, (x, y) in paths.items():
        figure.add_scatter(
            x=x, y=y, mode="lines", line={"width": 0.5, "color": charts.PAGE}, fill="toself", fillcolor=colour,
            hoverinfo="skip", showlegend=False, row=1, col=column,
        )  # fmt: skip


def _stretches(chain: Chain, parts: list[list[int]]) -> list[range]:
    """Returns runs of consecutive loops that the tile computes."""
    found: list[range] = []
    for n, (begin, end) in enumerate(parts):
        if begin == end or chain.loops[n].range.points == 0:
            continue
        if found and found[-1].stop == n and max(begin, parts[n - 1][0]) <= min(end, parts[n - 1][1]):
            found[-1] = range(found[-1].start, n + 1)
        else:
            found.append(range(n, n + 1))
    return found


def _side(parts: list[list[int]], rows: range, which: int) -> list[tuple[float, float]]:
    """Returns a side of a band from top to bottom, in steps, without interior points of straight lines."""
    points = []
    for n in rows:
        at = parts[n][which]
        if n == rows.start or at != parts[n - 1][which]:
            if n > rows.start:
                points.append((float(parts[n - 1][which]), n - 0.5))
            points.append((float(at), n - 0.5))
    points.append((float(parts[rows.stop - 1][which]), rows.stop - 0.5))
    return points


def _add_tips(figure: go.Figure, plans: Plans, chain: Chain, plan: Plan, d: int) -> None:
    """Adds the tooltip of each loop."""
    figure.add_scatter(
        x=[(loop.range.begin[d] + loop.range.end[d]) / 2 for loop in chain.loops], y=list(range(len(chain.loops))),
        mode="markers", marker={"opacity": 0, "size": 8}, showlegend=False, hoverinfo="text", row=1, col=1,
        hovertext=[
            f"{n + 1}: {charts.shortened(loop.name, 60)}<br>{facts.tile_lead(plan, n, d)} ahead, reads "
            f"{'{}..{}'.format(*facts.read_offsets(loop, d))}, {units.size(facts.loop_bytes(plans, loop))}"
            for n, loop in enumerate(chain.loops)
        ],
    )  # fmt: skip


def draw_steps(number: int, chain: Chain, plan: Plan, stream: Stream) -> str:
    """Draws the data movement of each step, planned and measured, and the position of the steps in space."""
    d, size, runs = stream.dimension, stream.chunk, plan.runs
    first = plan.range.end[d] if plan.reversed[d] else plan.range.begin[d]
    sign = -1 if plan.reversed[d] else 1
    edges = [first + sign * plan.size[d] * step.first_tile for step in stream.steps]
    edges.append(plan.range.begin[d] if plan.reversed[d] else plan.range.end[d])
    middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    widths = [abs(b - a) * 0.94 for a, b in itertools.pairwise(edges)]
    figure = charts.figure(360, barmode="relative")
    bars = (
        ("needed from the file", charts.FAST, [step.needed for step in stream.steps]),
        ("initialised", charts.BAND2, [step.new for step in stream.steps]),
        ("written for the last time", charts.SLOW, [-step.written for step in stream.steps]),
        ("dropped", charts.BAND, [-step.dropped for step in stream.steps]),
    )
    for name, colour, counts in bars:
        figure.add_bar(
            x=middles, y=[count * size for count in counts], width=widths, name=name, marker={"color": colour},
            hovertext=[f"step {s + 1}: {units.size(abs(c) * size)} {name}" for s, c in enumerate(counts)],
            hoverinfo="text",
        )  # fmt: skip
    moved = (
        ("fetched while it ran", "triangle-down", [move.fetched / runs for move in stream.moves[:-1]]),
        ("stored while it ran", "triangle-up", [-move.stored / runs for move in stream.moves[:-1]]),
    )
    for name, symbol, means in moved:
        figure.add_scatter(
            x=middles, y=[mean * size for mean in means], mode="markers", name=name,
            marker={"symbol": symbol, "size": 9, "color": charts.INK},
            hovertext=[f"step {s + 1}: {units.size(abs(mean) * size)} {name}" for s, mean in enumerate(means)],
            hoverinfo="text",
        )  # fmt: skip
    most = max(max(s.needed + s.new, s.written + s.dropped) for s in stream.steps) * size
    ticks = _ticks(max(most, *(abs(mean) * size for _, _, means in moved for mean in means), 1))
    figure.update_yaxes(
        tickvals=[-t for t in ticks[:0:-1]] + ticks, ticktext=[units.size(t) for t in ticks[:0:-1] + ticks],
        title="out · in",
    )  # fmt: skip
    figure.update_xaxes(title=facts.AXES[d], tickformat=",d", showline=True)
    words = (
        f"{len(stream.steps)} steps: at most {units.size(stream.most_chunks * size)} of "
        f"{units.size(stream.frames * size)} in use."
    )
    return charts.embed(f"steps-{number}", words, figure)


def _ticks(most: float) -> list[int]:
    """Returns up to four round sizes, and 0."""
    step = 1 << max(math.ceil(math.log2(most / 4)), 0)
    return [step * k for k in range(int(most / step) + 1)]
