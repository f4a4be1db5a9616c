"""Time against the size of the fast memory."""

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts

_WIDTH, _HEIGHT = 980.0, 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 150.0, 18.0, 52.0


def draw(facts: Facts) -> str:
    """Predicted time of an iteration by size, between slow-only and fast-only, above the lower bound."""
    pricing = facts.pricing
    points = pricing.curve
    sizes = [float(point.size) for point in points]
    times = [point.predicted for point in points] + [pricing.slow_only, pricing.fast_only]
    bounds = [(float(point.size), point.lower_bound) for point in points if point.lower_bound is not None]
    low, high = min([*times, *(bound for _, bound in bounds)]), max(times)
    pad = 0.08 * (high - low or high)
    bottom = max(0.0, low - pad)
    x = svg.logarithmic(sizes[0], sizes[-1], _LEFT, _WIDTH - _RIGHT)
    y = svg.linear(bottom, high + pad, _HEIGHT - _BOTTOM, _TOP)
    parts = _axes(sizes, bottom, high + pad, x, y)
    levels = [
        (y(pricing.slow_only), f"slow-only {units.seconds(pricing.slow_only)}", "slow"),
        (y(pricing.fast_only), f"fast-only {units.seconds(pricing.fast_only)}", "fast"),
    ]
    for at, _, style in levels:
        parts.append(svg.line(_LEFT, at, _WIDTH - _RIGHT, at, f"s-{style}"))
    if bounds:
        parts.append(svg.path([(x(size), y(bound)) for size, bound in bounds], "s-bound"))
        levels.append((y(bounds[-1][1]), f"lower bound {units.seconds(bounds[-1][1])}", "bound"))
    parts += _labels(levels)
    parts.append(svg.path([(x(point.size), y(point.predicted)) for point in points], "s-plan"))
    for point in points:
        about = f"{units.size(point.size)}: {units.seconds(point.predicted)} an iteration"
        if point.lower_bound is not None:
            about += f", lower bound {units.seconds(point.lower_bound)}"
        parts.append(svg.circle(x(point.size), y(point.predicted), 3.5, "f-fast", svg.tip(about)))
    parts += _enough(facts, x, y)
    return svg.picture(
        "curve",
        _WIDTH,
        _HEIGHT,
        "Time of an iteration against fast-memory size",
        f"It falls from {units.seconds(pricing.slow_only)} with nothing in fast memory to "
        f"{units.seconds(points[-1].predicted)} with {units.size(points[-1].size)}; all in fast memory takes "
        f"{units.seconds(pricing.fast_only)}.",
        *parts,
    )


def _axes(sizes: list[float], low: float, high: float, x: svg.Scale, y: svg.Scale) -> list[str]:
    parts = []
    for tick in svg.round_ticks(low, high):
        parts.append(svg.line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "grid"))
        parts.append(svg.text(_LEFT - 8, y(tick) + 4, units.seconds(tick), "soft small", "end"))
    for tick in svg.binary_ticks(sizes[0], sizes[-1]):
        parts.append(svg.line(x(tick), _HEIGHT - _BOTTOM, x(tick), _HEIGHT - _BOTTOM + 5, "axis"))
        parts.append(svg.text(x(tick), _HEIGHT - _BOTTOM + 20, units.size(tick), "soft small", "middle"))
    parts.append(svg.line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, "axis"))
    parts.append(svg.text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "fast memory", "soft", "middle"))
    return parts


def _labels(levels: list[tuple[float, str, str]]) -> list[str]:
    """Names beside the lines' ends, pushed apart where they would cover one another."""
    parts = []
    free = 0.0
    for at, name, style in sorted(levels):
        y = max(at + 4, free)
        free = y + 16
        parts.append(svg.text(_WIDTH - _RIGHT + 10, y, name, f"t-{style} small strong"))
    return parts


def _enough(facts: Facts, x: svg.Scale, y: svg.Scale) -> list[str]:
    """Marks the size that is enough."""
    point = facts.enough
    if point is None:
        return []
    at, level = x(point.size), y(point.predicted)
    return [
        svg.line(at, level, at, _HEIGHT - _BOTTOM, "s-mark"),
        svg.circle(at, level, 6, "f-good", svg.tip(f"{units.size(point.size)} is enough")),
        svg.text(at + 9, level - 9, f"{units.size(point.size)} is enough", "t-good strong halo"),
    ]
