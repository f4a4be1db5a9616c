# SPDX-License-Identifier: Apache-2.0
"""Draws benefit against size for the page of `terrace report`: which objects deserve fast memory."""

import math
from collections.abc import Sequence

from terrace import units
from terrace.report import charts
from terrace.report.facts import Facts

_LABELLED = 12
_COLOURS = {"fast": charts.FAST, "part": charts.BOUND, "moved": charts.GOOD, "slow": charts.SLOW}
_WORDS = {
    "fast": "in fast memory all the time",
    "part": "partly in fast memory",
    "moved": "moved in and out",
    "slow": "left in slow memory",
}


def draw(facts: Facts) -> str:
    """Draws a dot per object: size against the time that an iteration gains with it alone in fast memory."""
    objects, gains = facts.profile.objects, facts.pricing.benefits
    most = max(gains, default=0.0)
    worth = [o for o in range(len(objects)) if gains[o] > 0 and gains[o] >= most * 1e-5]
    if not worth:
        return "<p>No object gains from fast memory.</p>"
    sizes = [max(item.size, 1) for item in objects]
    ranked = sorted(worth, key=lambda o: -gains[o])[:_LABELLED]
    names = {o: charts.shortened(objects[o].name, 30) for o in ranked}
    places = _places([(sizes[o], gains[o], names[o]) for o in ranked])
    labelled = dict(zip(ranked, places, strict=True))
    figure = charts.figure(420, showlegend=True)
    for fate, colour in _COLOURS.items():
        group = [o for o in worth if facts.fate[o] == fate]
        if not group:
            continue
        figure.add_scatter(
            x=[sizes[o] for o in group], y=[gains[o] for o in group], mode="markers+text", name=_WORDS[fate],
            marker={"size": 11, "color": colour},
            text=[names[o] if labelled.get(o) else "" for o in group],
            textposition=[labelled.get(o) or "middle right" for o in group],
            textfont={"size": 12},
            hovertext=[
                f"{charts.shortened(objects[o].name, 80)}: {units.size(sizes[o])}, "
                f"gains {units.seconds(gains[o])} per iteration"
                for o in group
            ],
            hoverinfo="text",
        )  # fmt: skip
    low, high = min(sizes[o] for o in worth) / 2, max(sizes[o] for o in worth) * 2
    ticks = charts.binary_ticks(low, high)
    figure.update_xaxes(
        type="log", title="size of the object", tickvals=ticks, ticktext=[units.size(t) for t in ticks],
        range=[math.log10(low), math.log10(high)],
    )  # fmt: skip
    least = min(gains[o] for o in worth) / 2
    seconds = charts.decade_ticks(least, most * 2)
    figure.update_yaxes(
        type="log", title="gain per iteration", tickvals=seconds, ticktext=[units.seconds(t) for t in seconds],
        range=[math.log10(least), math.log10(most * 2)],
    )  # fmt: skip
    return charts.embed("benefit", "Benefit against size, one dot for each object.", figure)


def _places(dots: Sequence[tuple[float, float, str]]) -> list[str | None]:
    """Returns label positions without overlap: right, left, above or below of the dot, or None."""
    wide, high = 860.0, 320.0  # approximate size of the chart in points
    x = [math.log(size) for size, _, _ in dots]
    y = [math.log(gain) for _, gain, _ in dots]
    across = wide / (max(x) - min(x) + 2 * math.log(2))
    down = high / (max(y) - min(y) + 2 * math.log(2))
    margin = math.log(2) * across  # the axis extends beyond the outermost dots
    taken: list[tuple[float, float, float]] = []  # left, right, height
    places: list[str | None] = []
    for at_x, at_y, (_, _, name) in zip(x, y, dots, strict=True):
        left, level, width = (at_x - min(x)) * across, (at_y - min(y)) * down, 7.0 * len(name)
        for place, begin, above in (
            ("middle right", left + 8, 0.0),
            ("middle left", left - 8 - width, 0.0),
            ("top center", left - width / 2, 14.0),
            ("bottom center", left - width / 2, -14.0),
        ):
            box = (begin, begin + width, level + above)
            inside = box[0] > -margin and box[1] < (max(x) - min(x)) * across + margin
            if inside and all(box[1] < b or e < box[0] or abs(h - box[2]) > 13 for b, e, h in taken):
                taken.append(box)
                places.append(place)
                break
        else:
            places.append(None)
    return places
