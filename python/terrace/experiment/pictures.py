"""Pictures as PNG files: bars in groups, and lines. Colours are those of reports on white."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

FAST, SLOW, GOOD, BOUND, WAIT, SOFT = "#0b6e99", "#a9561e", "#1f7a4d", "#6b4fa3", "#c22a3c", "#8a96a3"
CYCLE = (SLOW, SOFT, FAST, GOOD, BOUND, WAIT, "#d0a215", "#3aa6a0", "#7a3b69", "#4c5a67", "#b5c334", "#e07b91")
_INK, _RULE = "#1b2026", "#d9dee4"


@dataclass(frozen=True)
class Series:
    """Values of one colour, a group or a position each; None where there is none."""

    name: str
    values: Sequence[float | None]
    colour: str


@dataclass(frozen=True)
class Level:
    """A dashed line across the picture: a published number."""

    value: float
    words: str


def bars(
    title: str, groups: Sequence[str], series: Sequence[Series], axis: str, levels: Sequence[Level] = ()
) -> bytes:
    """Groups of bars from 0, with their values above them where there is room."""
    figure, axes = _axes(title, axis, max(7.0, 1.6 + 0.28 * len(groups) * (len(series) + 1)))
    width = min(0.82 / max(len(series), 1), 0.3)
    for number, one in enumerate(series):
        for group, value in enumerate(one.values):
            if value is None:
                continue
            at = group + (number - (len(series) - 1) / 2) * width
            axes.bar(at, value, width * 0.92, color=one.colour, label=one.name)
            if len(series) * len(groups) <= 48:
                words = f"{value:.{1 if '%' in axis else 2}f}" if abs(value) < 99.95 else f"{value:.0f}"
                axes.text(
                    at, max(value, 0), words, ha="center", va="bottom", fontsize=6.5, rotation=90, color=_INK
                )
    for level in levels:
        axes.axhline(level.value, color=WAIT, linestyle=(0, (4, 3)), linewidth=1)
        right = axes.get_yaxis_transform()
        axes.text(1.005, level.value, level.words, transform=right, va="center", fontsize=7.5, color=WAIT)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.margins(y=0.14)
    _legend(axes, series)
    return _png(figure)


def lines(
    title: str, positions: Sequence[str], series: Sequence[Series], axis: str, levels: Sequence[Level] = ()
) -> bytes:
    """A line for each series over named positions."""
    figure, axes = _axes(title, axis, 8.0)
    for number, one in enumerate(series):
        values = [math.nan if value is None else value for value in one.values]
        style = ("-", "--", ":")[number // len(CYCLE) % 3]
        axes.plot(range(len(positions)), values, style, marker="o", markersize=4, color=one.colour, label=one.name)
    for level in levels:
        axes.axhline(level.value, color=WAIT, linestyle=(0, (4, 3)), linewidth=1)
        axes.text(0, level.value, level.words, va="bottom", fontsize=7.5, color=WAIT)
    axes.set_xticks(range(len(positions)), positions)
    _legend(axes, series)
    return _png(figure)


def _axes(title: str, axis: str, width: float):  # type: ignore[no-untyped-def]  # noqa: ANN202
    from matplotlib.figure import Figure  # takes a second to load: here, not for every verb

    figure = Figure(figsize=(width, 3.9), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10.5, loc="left", color=_INK)
    axes.set_ylabel(axis, fontsize=9, color=_INK)
    axes.tick_params(labelsize=8.5, colors=_INK)
    axes.grid(axis="y", color=_RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _legend(axes, series: Sequence[Series]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    if len(series) < 2:
        return
    handles, names = axes.get_legend_handles_labels()
    first = dict(zip(reversed(names), reversed(handles), strict=True))
    shown = [one.name for one in series if one.name in first]
    axes.figure.legend(
        [first[name] for name in shown], shown, fontsize=8, frameon=False, ncols=min(len(shown), 6),
        loc="outside lower center",
    )  # fmt: skip


def _png(figure) -> bytes:  # type: ignore[no-untyped-def]  # noqa: ANN001
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
