# SPDX-License-Identifier: Apache-2.0
"""Draws the machine for the page of `terrace report`: its tree of memories (places), and their bandwidth and
latency from the program's cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import charts
from terrace.report.facts import Facts
from terrace.store.values import Machine, Node

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TREE = 0.52  # share of the chart's width; the bars are right of it


@dataclass(frozen=True)
class _Box:
    """A box of the tree; `parent` is the key of the box that contains it, empty for a root."""

    key: str
    parent: str
    name: str
    about: str
    colour: str


def draw(facts: Facts) -> str:
    """Draws the machine of a report's data (`facts`): the tree on the left, one row per leaf, and bandwidths and
    latencies on the right."""
    nodes = list(_depth_first(facts.machine, None))
    leaves = [node for node in nodes if not any(other.parent == node.id for other in nodes)]
    figure = charts.figure(110 + 62 * len(leaves), bargap=0.25)
    boxes = [_box(facts, node) for node in nodes]
    if sum(not box.parent for box in boxes) > 1:  # the chart needs one root: a box for the whole machine
        boxes = [_Box("all", "", charts.shortened(facts.machine.name, 24), "", charts.BAND)] + [
            replace(box, parent=box.parent or "all") for box in boxes
        ]
    rows = {str(leaf.id) for leaf in leaves}
    figure.add_icicle(
        ids=[box.key for box in boxes], parents=[box.parent for box in boxes], labels=[box.name for box in boxes],
        text=[box.about for box in boxes], values=[1 if box.key in rows else 0 for box in boxes],
        marker={"colors": [box.colour for box in boxes], "line": {"color": charts.PAGE, "width": 2}},
        sort=False, branchvalues="remainder", domain={"x": [0, _TREE], "y": [0, 1]}, hoverinfo="skip",
        textposition="middle center", pathbar={"visible": False}, leaf={"opacity": 1},
    )  # fmt: skip
    _add_bars(figure, facts, leaves)
    words = "A tree of memories with the bandwidth and latency from the program's cores."
    return charts.embed("machine", words, figure)


def _box(facts: Facts, node: Node) -> _Box:
    """Returns the box of a node: a memory has its kind, capacity and colour."""
    place = next((p for p in facts.machine.places if p.id == node.place), None)
    return _Box(
        key=str(node.id),
        parent="" if node.parent is None else str(node.parent),
        name=charts.shortened(node.name, 24),
        about=f"{place.kind}, {units.size(place.capacity)}" if place else "",
        colour=facts.colour(place.id) if place else charts.BAND,
    )


def _depth_first(machine: Machine, parent: int | None) -> Iterator[Node]:
    for node in machine.nodes:
        if node.parent == parent:
            yield node
            yield from _depth_first(machine, node.id)


def _add_bars(figure: go.Figure, facts: Facts, leaves: Sequence[Node]) -> None:
    """Adds read and write bandwidth as bars, latency as a number."""
    paths = {path.place: path for path in facts.machine.paths if path.initiator == facts.run.initiator}
    seen = {row: paths[leaf.place] for row, leaf in enumerate(leaves) if leaf.place in paths}
    for way, opacity in (("read", 1.0), ("write", 0.6)):
        rates = [getattr(path, way) for path in seen.values()]
        figure.add_bar(
            orientation="h", y=list(seen), x=rates, name=way, showlegend=False,
            marker={"color": [facts.colour(path.place) for path in seen.values()], "opacity": opacity},
            text=[f"{way} {units.rate(rate)}" for rate in rates], textposition="outside", hoverinfo="skip",
            cliponaxis=False,
        )  # fmt: skip
    for row in range(len(leaves)):
        text = units.seconds(seen[row].latency) if row in seen else "not reachable"
        figure.add_annotation(xref="paper", x=1, xanchor="right", y=row, text=text, showarrow=False)
    heading = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "xref": "paper"}
    figure.add_annotation(x=_TREE + 0.02, text="bandwidth", xanchor="left", font_color=charts.SOFT, **heading)
    figure.add_annotation(x=1, text="latency", xanchor="right", font_color=charts.SOFT, **heading)
    most = max((max(path.read, path.write) for path in seen.values()), default=1.0)
    figure.update_xaxes(domain=[_TREE + 0.02, 0.92], range=[0, 1.6 * most], visible=False)
    figure.update_yaxes(range=[len(leaves) - 0.5, -0.5], visible=False)
    figure.update_layout(margin={"l": 0, "r": 0, "t": 50, "b": 10})
