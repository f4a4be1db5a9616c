"""Small pictures by hand: elements, scales, ticks. Colours are classes of report/style.css, so that a picture
follows the reader's light or dark page and prints well."""

import math
from collections.abc import Callable, Sequence
from html import escape

Scale = Callable[[float], float]


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def element(name: str, *inner: str, **attributes: str | float) -> str:
    """One element. Attribute names are as in SVG with `_` for `-`; `cls` is `class`."""
    words = [name]
    for key, value in attributes.items():
        attribute = "class" if key == "cls" else key.replace("_", "-")
        shown = value if isinstance(value, str) else _number(value)
        words.append(f'{attribute}="{escape(shown)}"')
    return f"<{' '.join(words)}>{''.join(inner)}</{name}>" if inner else f"<{' '.join(words)}/>"


def text(x: float, y: float, content: str, cls: str = "", anchor: str = "start", **more: str | float) -> str:
    """A line of text with its baseline at y."""
    return element("text", escape(content), x=x, y=y, cls=cls, text_anchor=anchor, **more)


def rect(x: float, y: float, width: float, height: float, cls: str, *inner: str, **more: str | float) -> str:
    """A rectangle; `inner` may be a tip."""
    return element("rect", *inner, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), cls=cls, **more)


def line(x1: float, y1: float, x2: float, y2: float, cls: str, *inner: str) -> str:
    """A straight line."""
    return element("line", *inner, x1=x1, y1=y1, x2=x2, y2=y2, cls=cls)


def path(points: Sequence[tuple[float, float]], cls: str) -> str:
    """Straight lines through points."""
    steps = " ".join(f"{'M' if i == 0 else 'L'}{_number(x)} {_number(y)}" for i, (x, y) in enumerate(points))
    return element("path", d=steps, cls=cls)


def circle(x: float, y: float, radius: float, cls: str, *inner: str) -> str:
    """A dot."""
    return element("circle", *inner, cx=x, cy=y, r=radius, cls=cls)


def tip(content: str) -> str:
    """What is shown when the pointer rests on an element, and read out by screen readers."""
    return element("title", escape(content))


def picture(name: str, width: float, height: float, title: str, description: str, *inner: str) -> str:
    """A whole picture; title and description are for those who do not see it."""
    return element(
        "svg",
        element("title", escape(title), id=f"{name}-title"),
        element("desc", escape(description), id=f"{name}-desc"),
        *inner,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Maps [low, high] to [start, end]."""
    span = high - low or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """The same by logarithms; low and high above 0."""
    inner = linear(math.log(low), math.log(high), start, end)
    return lambda value: inner(math.log(max(value, low)))


def round_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten) within [low, high]."""
    span = (high - low) or abs(high) or 1.0
    raw = span / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if raw <= power * m)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def decade_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """Round numbers for a logarithmic axis: 1, 2, 5 times powers of ten, or powers alone where there are many."""
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [power * factor for power in powers for factor in factors if low <= power * factor <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def binary_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Powers of two within [low, high], fewer where there are too many."""
    powers = [2.0**k for k in range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)]
    return powers[:: max(1, math.ceil(len(powers) / most))]


def fit(content: str, width: float, per_character: float = 6.4) -> str:
    """The text, cut in its middle where it is wider than that many units."""
    most = max(int(width / per_character), 3)
    if len(content) <= most:
        return content
    head = (most - 1) // 2
    return f"{content[:head]}…{content[len(content) - (most - 1 - head) :]}"


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """What colours mean, as a list above a picture: (class of the colour, words)."""
    swatch = element("svg", element("rect", width=14.0, height=14.0, rx=3.0, cls="{}"), width=14.0, height=14.0)
    items = "".join(f"<li>{swatch.format(style)}{escape(words)}</li>" for style, words in entries)
    return f'<ul class="legend">{items}</ul>\n'
