# SPDX-License-Identifier: Apache-2.0
"""Draws objects x phases for the page of `terrace report`: which objects cause the misses of each phase."""

from html import escape

from terrace import units
from terrace.report import charts
from terrace.report.facts import Facts

_MANY = 24
_MANY_PHASES = 16
_UPRIGHT = 8  # labels of more phases are slanted
_FULL = 0.5  # share with the full colour


def draw(facts: Facts) -> str:
    """Draws the heat map: rows are objects by traffic, cells their share of the phase's misses."""
    order = facts.by_traffic[:_MANY]
    if not order:
        return "<p>No miss was observed: all data fit into the caches, or the program is not instrumented.</p>"
    phases, objects = facts.profile.phases, facts.profile.objects
    longest = sorted(range(len(phases)), key=lambda p: -phases[p].time)[:_MANY_PHASES]
    columns = sorted(longest)  # in execution order
    by_phase = facts.misses.sum(axis=0)
    shares = [
        [float(facts.misses[o, p] / by_phase[p]) if by_phase[p] > 0 else 0.0 for p in columns] for o in order
    ]
    slanted = len(columns) > _UPRIGHT
    figure = charts.figure(100 + (70 if slanted else 20) + 27 * len(order))
    figure.add_heatmap(
        z=shares, zmin=0, zmax=_FULL, colorscale=[[0, charts.BAND], [1, charts.FAST]], showscale=False,
        xgap=2, ygap=2, text=[[f"{share:.0%}" if share >= 0.005 else "" for share in row] for row in shares],
        texttemplate="%{text}",
        hovertext=[
            [_tip(facts, o, p, share) for p, share in zip(columns, row, strict=True)]
            for o, row in zip(order, shares, strict=True)
        ],
        hoverinfo="text",
    )  # fmt: skip
    names = [charts.shortened(phases[p].name, 24) for p in columns]
    glue = ", " if slanted else "<br>"
    figure.update_xaxes(
        tickvals=list(range(len(columns))), side="top", tickangle=-45 if slanted else 0, ticks="", showline=False,
        ticktext=[f"{name}{glue}{units.seconds(phases[p].time)}" for name, p in zip(names, columns, strict=True)],
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(order))), ticktext=[charts.shortened(objects[o].name, 36) for o in order],
        autorange="reversed", showgrid=False, ticks="", showline=False, automargin=True,
    )  # fmt: skip
    for shift, heading, values in (
        (75, "traffic", [units.size(facts.traffic[o].sum()) for o in order]),
        (140, "size", [units.size(objects[o].size) for o in order]),
    ):
        right = {"xref": "paper", "x": 1, "xshift": shift, "xanchor": "right", "showarrow": False}
        for row, value in enumerate(values):
            figure.add_annotation(text=value, y=row, **right)
        figure.add_annotation(text=heading, yref="paper", y=1, yanchor="bottom", font_color=charts.SOFT, **right)
    figure.update_layout(margin={"t": 110 if slanted else 55, "r": 145, "b": 10})
    words = "For each object and phase the share of the phase's misses that the object causes."
    return charts.embed("heat", words, figure) + _left_out(facts, len(phases) - len(columns))


def _left_out(facts: Facts, phases: int) -> str:
    """Returns the caption on objects and phases that the chart does not show."""
    rest = facts.by_traffic[_MANY:]
    words = []
    if rest:
        share = facts.misses[rest].sum() / max(facts.misses.sum(), 1e-300)
        words.append(f"{len(rest)} more objects with {units.percent(share)} of the misses are in the table only.")
    if phases:
        words.append(f"{phases} shorter phases are in the table only.")
    return f"<figcaption>{' '.join(words)}</figcaption>" if words else ""


def _tip(facts: Facts, o: int, p: int, share: float) -> str:
    """Returns the tooltip of one cell."""
    sensitive = facts.sensitivity[o][p]
    about = f", sensitive to {'bandwidth or latency' if sensitive == 'either' else sensitive}" if sensitive else ""
    return escape(
        f"{facts.profile.objects[o].name} in {facts.profile.phases[p].name}: {units.percent(share)} of the "
        f"misses, {units.size(facts.traffic[o, p])}, {units.count(facts.profile.exposure[o, p])} latencies "
        f"exposed{about}"
    )
