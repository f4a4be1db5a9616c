"""Draws a dot plot as an SVG file: a line for each row, a dot for each series. The view `dots` of the result pages
calls it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_COLOURS = ("#009485", "#d9480f", "#5f3dc4", "#868e96", "#1971c2")
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 210, 24, 62, 22
_MAX_LINEAR = 20  # ratio of the largest to the smallest value on a linear axis
_STYLE = """<style>
text { font: 12px sans-serif; fill: #333; } .grid { stroke: #ccc; } .title { font-weight: bold; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } .grid { stroke: #555; } }
</style>"""


@dataclass(frozen=True)
class Plot:
    """Series, and their values by the label of a row."""

    title: str
    series: Sequence[str]
    rows: Mapping[str, Sequence[float | None]]
    is_share: bool = False  # ticks are in percent

    def svg(self) -> str:
        """Returns the plot as SVG."""
        bottom = _TOP + _ROW * len(self.rows)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 28}" width="{_WIDTH}">',
            _STYLE,
            f'<text class="title" x="8" y="18">{escape(self.title)}</text>',
        ]
        x = float(_LEFT)
        for name, colour in zip(self.series, _COLOURS, strict=False):
            parts.append(f'<circle cx="{x:.0f}" cy="38" r="5" fill="{colour}"/>')
            parts.append(f'<text x="{x + 10:.0f}" y="42">{escape(name)}</text>')
            x += 28 + 7 * len(name)
        for tick in self._ticks():
            at = self._x(tick)
            parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 8}" y2="{bottom}"/>')
            parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{self._label(tick)}</text>')
        for index, (label, values) in enumerate(self.rows.items()):
            y = _TOP + _ROW * index + _ROW // 2 - 4
            parts.append(f'<text x="{_LEFT - 14}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
            for value, colour in zip(values, _COLOURS, strict=False):
                if value is not None:
                    parts.append(f'<circle cx="{self._x(value):.1f}" cy="{y}" r="5" fill="{colour}"/>')
        return "\n".join([*parts, "</svg>\n"])

    @property
    def _values(self) -> list[float]:
        return [value for values in self.rows.values() for value in values if value is not None]

    def _label(self, tick: float) -> str:
        return f"{tick:.0%}" if self.is_share else f"{tick:,.12g}"

    @property
    def _is_logarithmic(self) -> bool:
        low, high = min(self._values), max(self._values)
        return low > 0 and high / low > _MAX_LINEAR

    def _ticks(self) -> list[float]:
        """Returns round numbers, of which the first and the last enclose all values."""
        low, high = min(self._values), max(self._values)
        if self._is_logarithmic:
            ends = math.floor(math.log10(low)), math.ceil(math.log10(high))
            return [10.0**power for power in range(ends[0], ends[1] + 1)]
        low = min(low, 0.0) if low < 0 or high > 2 * low else low
        rough = (high - low or abs(high) or 1.0) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return [round(step * count, 10) for count in range(first, last + 1)]

    def _x(self, value: float) -> float:
        ticks = self._ticks()
        low, high = ticks[0], ticks[-1]
        if self._is_logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)
