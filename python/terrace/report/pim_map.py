# SPDX-License-Identifier: Apache-2.0
"""Draws maps of a PIM device for the page of `terrace lab pim`: rows by subarrays, grouped by bank and device,
with blocks coloured by direction."""

from __future__ import annotations

import math

from terrace import units
from terrace.report import charts
from terrace.report.pim_facts import Facts

# Colours by cell of PimReplay.occupancy(): free, three shades of horizontal blocks, three of vertical blocks.
COLOURS = (
    charts.BAND, charts.FAST, charts.FAST2, charts.FAST3, charts.SLOW, charts.SLOW2, charts.SLOW3,
)  # fmt: skip
_MAX_DEVICES, _A_LINE = 8, 4


def words(facts: Facts, moment: str) -> str:
    """Returns the text for the map at the "fullest" moment or at the "end"."""
    at = facts.fullest if moment == "fullest" else facts.whole
    when = "Peak occupancy" if moment == "fullest" else "End"
    free = facts.units - sum(at.used)
    shown = min(at.geometry.devices, _MAX_DEVICES)
    return (
        f"{when}, after {at.operations:,} of {facts.whole.operations:,} operations: "
        f"{units.percent(facts.share(sum(at.used)))} in use by {at.blocks:,} block{'s' * (at.blocks != 1)}. "
        f"Horizontal blocks {units.percent(facts.share(at.used[0]))}, vertical blocks "
        f"{units.percent(facts.share(at.used[1]))}, free {units.percent(facts.share(free))}."
        + (f" The first {shown} of {at.geometry.devices} devices." if shown < at.geometry.devices else "")
    )


def draw(facts: Facts, moment: str) -> str:
    """Draws the map, of at most the first eight devices."""
    at = facts.fullest if moment == "fullest" else facts.whole
    geometry = at.geometry
    cells = at.occupancy()[:_MAX_DEVICES]
    lines = math.ceil(len(cells) / _A_LINE)
    columns = math.ceil(len(cells) / lines)
    figure = charts.figure(90 + 440 * lines if columns < 3 else 90 + 340 * lines)
    figure.set_subplots(
        lines,
        columns,
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.16 / lines,
    )
    scale = [(edge / len(COLOURS), c) for number, c in enumerate(COLOURS) for edge in (number, number + 1)]
    named = max(1, math.ceil(geometry.banks / (16 if columns == 1 else 4)))
    for number, board in enumerate(cells):
        at_panel = {"row": number // columns + 1, "col": number % columns + 1}
        figure.add_heatmap(
            z=board, zmin=-0.5, zmax=len(COLOURS) - 0.5, colorscale=scale, showscale=False,
            hovertemplate="row %{y}, subarray %{x}<extra></extra>", **at_panel,
        )  # fmt: skip
        for bank in range(geometry.banks):
            if bank > 0:
                edge = bank * geometry.subarrays - 0.5
                figure.add_vline(x=edge, line={"color": charts.PAGE, "width": 1.5}, **at_panel)
            if bank % named == 0:
                figure.add_annotation(
                    x=(bank + 0.5) * geometry.subarrays - 0.5, y=-0.5, yanchor="bottom", text=f"bank {bank}",
                    showarrow=False, font={"size": 10, "color": charts.SOFT}, **at_panel,
                )  # fmt: skip
        if geometry.devices > 1:
            figure.add_annotation(
                x=-0.5, y=-0.5, xanchor="left", yanchor="bottom", yshift=14, text=f"<b>device {number}</b>",
                showarrow=False, **at_panel,
            )  # fmt: skip
    figure.update_xaxes(showgrid=False)
    figure.update_xaxes(title="subarray" if columns > 1 else "subarray, through the banks", row=lines)
    figure.update_xaxes(tickvals=[b * geometry.subarrays - 0.5 for b in range(0, geometry.banks + 1, named)])
    figure.update_xaxes(ticktext=[f"{b * geometry.subarrays}" for b in range(0, geometry.banks + 1, named)])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_yaxes(title="row", col=1)
    return charts.embed(moment, words(facts, moment), figure)
