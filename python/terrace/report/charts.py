# SPDX-License-Identifier: Apache-2.0
"""Makes Plotly figures in Terrace's colours, and embeds them in a page. All charts of reports and experiments use
it.

A page contains plotly.js once, compressed (2.0 MB instead of 4.8), so that it opens without a network. charts.js
draws each figure from JSON, in light or dark colours, or for print.
"""

from __future__ import annotations

import base64
import gzip
import math
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Colours of report/style.css.
INK, SOFT, RULE, PAGE, BAND, BAND2 = (
    f"var(--{name})" for name in ("ink", "soft", "rule", "page", "band", "band2")
)
FAST, FAST2, FAST3 = (f"var(--{name})" for name in ("fast", "fast2", "fast3"))
SLOW, SLOW2, SLOW3 = (f"var(--{name})" for name in ("slow", "slow2", "slow3"))
GOOD, BOUND, WAIT = (f"var(--{name})" for name in ("good", "bound", "wait"))
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_WITHOUT = "This picture needs a browser of 2023 or later, with JavaScript."
TIME = {"tickformat": "~s", "ticksuffix": "s"}  # axis of seconds: "20ms"


def figure(height: int, **layout: object) -> go.Figure:
    """Returns an empty figure in the common style."""
    import plotly.graph_objects as go  # late import: takes half a second

    axis = {"gridcolor": RULE, "zeroline": False, "linecolor": SOFT, "ticks": "outside", "tickcolor": SOFT}
    drawn = go.Figure(layout={"template": "none"})
    drawn.update_layout(
        height=height,
        margin={"l": 70, "r": 20, "t": 40, "b": 55},
        font={"family": _FONT, "size": 13, "color": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"font": {"family": _FONT}},
        hovermode="closest",
        uniformtext={"minsize": 10, "mode": "hide"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": SOFT, "activecolor": INK},
        xaxis={**axis, "showgrid": False},
        yaxis=axis,
        **layout,
    )
    return drawn


def embed(name: str, words: str, drawn: go.Figure) -> str:
    """Returns the HTML of a figure: its element and its JSON. `words` is the text for screen readers."""
    content = drawn.to_json().replace("<", "\\u003c")
    return (
        f'<div class="chart" id="{name}" role="img" aria-label="{escape(words)}" '
        f'style="height:{drawn.layout.height}px">{_WITHOUT}</div>\n'
        f'<script type="application/json" data-chart="{name}">{content}</script>\n'
    )


@cache
def library() -> str:
    """Returns the script that draws the figures of a page; it must follow the last one."""
    from plotly.offline import get_plotlyjs

    packed = base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
    draw = resources.files("terrace.report").joinpath("charts.js").read_text(encoding="utf-8")
    return f'<script type="text/plain" id="plotly">{packed}</script>\n<script>\n{draw}</script>\n'


def decade_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """Returns ticks for a logarithmic axis: 1, 2, 5 times powers of ten, or fewer if there are many."""
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [power * factor for power in powers for factor in factors if low <= power * factor <= high]
        if len(ticks) <= most:
            break
    return ticks


def binary_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Returns the powers of two within [low, high], or fewer if there are too many."""
    powers = [2.0**k for k in range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)]
    return powers[:: max(1, math.ceil(len(powers) / most))]


def shortened(content: str, most: int) -> str:
    """Returns a name as HTML of at most `most` letters; of "function file:line" it shortens the function."""
    function, space, place = content.rpartition(" ")
    if len(content) > most and ":" in place and len(place) + 3 < most:
        content = f"{function[: most - len(place) - 2]}…{space}{place}"
    elif len(content) > most:
        head = (most - 1) // 2
        content = f"{content[:head]}…{content[len(content) - (most - 1 - head) :]}"
    return escape(content)
