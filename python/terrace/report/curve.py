# SPDX-License-Identifier: Apache-2.0
"""Draws time against the size of the fast memory, for the page of `terrace report`."""

import math

from terrace import units
from terrace.report import charts
from terrace.report.facts import Facts


def draw(facts: Facts) -> str:
    """Draws the predicted time of an iteration by size, with slow-only, fast-only and the lower bound."""
    pricing = facts.pricing
    points = pricing.curve
    sizes = [point.size for point in points]
    figure = charts.figure(400)
    for name, level, colour in (
        ("slow-only", pricing.slow_only, charts.SLOW),
        ("fast-only", pricing.fast_only, charts.FAST),
    ):
        figure.add_scatter(
            x=[sizes[0], sizes[-1]], y=[level, level], mode="lines", name=f"{name} {units.seconds(level)}",
            line={"color": colour, "width": 1.5, "dash": "dot"}, hoverinfo="skip",
        )  # fmt: skip
    bounds = [(point.size, point.lower_bound) for point in points if point.lower_bound is not None]
    if bounds:
        figure.add_scatter(
            x=[size for size, _ in bounds], y=[bound for _, bound in bounds], mode="lines",
            name="lower bound", line={"color": charts.BOUND, "width": 2, "dash": "dash"},
            hovertext=[f"lower bound with {units.size(size)}: {units.seconds(bound)}" for size, bound in bounds],
            hoverinfo="text",
        )  # fmt: skip
    figure.add_scatter(
        x=sizes, y=[point.predicted for point in points], mode="lines+markers", name="planned",
        line={"color": charts.FAST, "width": 2.5}, marker={"size": 7},
        hovertext=[f"{units.size(p.size)}: {units.seconds(p.predicted)} per iteration" for p in points],
        hoverinfo="text",
    )  # fmt: skip
    if (enough := facts.enough) is not None:
        share = units.percent(facts.share_of_gain(enough), 0)
        left = enough.size**2 <= sizes[0] * sizes[-1]  # in the left half of the axis, label right
        figure.add_annotation(
            x=math.log10(enough.size), y=enough.predicted,
            text=f"{units.size(enough.size)} gets {share} of the gain",
            ax=45 if left else -45, ay=-35, xanchor="left" if left else "right",
            font={"color": charts.GOOD}, arrowcolor=charts.GOOD,
        )  # fmt: skip
    ticks = charts.binary_ticks(sizes[0], sizes[-1])
    figure.update_xaxes(type="log", title="fast memory", tickvals=ticks, ticktext=[units.size(t) for t in ticks])
    figure.update_yaxes(title="time per iteration", **charts.TIME)
    words = (
        f"Time of an iteration against fast-memory size. It falls from {units.seconds(pricing.slow_only)} with "
        f"nothing in fast memory to {units.seconds(points[-1].predicted)} with {units.size(points[-1].size)}; all "
        f"in fast memory takes {units.seconds(pricing.fast_only)}."
    )
    return charts.embed("curve", words, figure)
