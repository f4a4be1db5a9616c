"""Benefit against size: which objects are worth their room in fast memory."""

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts

_WIDTH, _HEIGHT = 980.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 24.0, 24.0, 52.0
_LABELLED = 12
_LETTER = 6.4
_STYLES = {"fast": "f-fast", "part": "f-bound", "moved": "f-good", "slow": "f-slow"}
_WORDS = {
    "fast": "in fast memory all the time",
    "part": "partly in fast memory",
    "moved": "moved in and out",
    "slow": "left in slow memory",
}


def draw(facts: Facts) -> str:
    """A dot for each object: size against the time that an iteration gains with it alone in fast memory."""
    sizes = [float(max(item.size, 1)) for item in facts.profile.objects]
    gains = facts.pricing.benefits
    worth = [o for o in range(len(sizes)) if gains[o] > 0]
    if not worth:
        return "<p>No object gains by being in fast memory.</p>"
    most = max(gains[o] for o in worth)
    worth = [o for o in worth if gains[o] >= most * 1e-5]
    low_size, high_size = min(sizes[o] for o in worth) / 2, max(sizes[o] for o in worth) * 2
    low, high = min(gains[o] for o in worth) / 2, most * 2
    x = svg.logarithmic(low_size, high_size, _LEFT, _WIDTH - _RIGHT)
    y = svg.logarithmic(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = _axes(low_size, high_size, low, high, x, y)
    labels = _Labels()
    ranked = sorted(worth, key=lambda o: -gains[o])
    for rank, o in enumerate(ranked):
        item = facts.profile.objects[o]
        fate = facts.fate[o]
        about = (
            f"{item.name}: {units.size(item.size)}, gains {units.seconds(gains[o])} an iteration, {_WORDS[fate]}"
        )
        parts.append(svg.circle(x(sizes[o]), y(gains[o]), 6, _STYLES[fate], svg.tip(about)))
        if rank < _LABELLED:
            parts.append(labels.place(x(sizes[o]), y(gains[o]), svg.fit(item.name, 190, _LETTER)))
    present = {facts.fate[o] for o in worth}
    legend = svg.legend([(_STYLES[fate], _WORDS[fate]) for fate in _STYLES if fate in present])
    return legend + svg.picture(
        "benefit",
        _WIDTH,
        _HEIGHT,
        "Benefit against size",
        "One dot for each object; the table below has the same numbers.",
        *parts,
    )


class _Labels:
    """Puts names beside dots where they do not cover one another."""

    def __init__(self) -> None:
        """Begins with an empty picture."""
        self._taken: list[tuple[float, float, float, float]] = []

    def place(self, x: float, y: float, name: str) -> str:
        """The name right or left of the dot, above or below; nothing where there is no room."""
        width = len(name) * _LETTER
        for dx, dy, anchor in ((10, 4, "start"), (-10, 4, "end"), (6, -10, "start"), (6, 18, "start")):
            left = x + dx - (width if anchor == "end" else 0)
            box = (left, y + dy - 11, left + width, y + dy + 3)
            inside = box[0] > _LEFT and box[2] < _WIDTH - 2
            if inside and not any(_overlap(box, other) for other in self._taken):
                self._taken.append(box)
                return svg.text(x + dx, y + dy, name, "small halo", anchor)
        return ""


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _axes(low_size: float, high_size: float, low: float, high: float, x: svg.Scale, y: svg.Scale) -> list[str]:
    parts = []
    for tick in svg.decade_ticks(low, high):
        parts.append(svg.line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "grid"))
        parts.append(svg.text(_LEFT - 8, y(tick) + 4, units.seconds(tick), "soft small", "end"))
    for tick in svg.binary_ticks(low_size, high_size):
        parts.append(svg.line(x(tick), _HEIGHT - _BOTTOM, x(tick), _HEIGHT - _BOTTOM + 5, "axis"))
        parts.append(svg.text(x(tick), _HEIGHT - _BOTTOM + 20, units.size(tick), "soft small", "middle"))
    parts.append(svg.line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, "axis"))
    parts.append(svg.text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "size of the object", "soft", "middle"))
    parts.append(svg.text(0, _TOP - 8, "gain an iteration", "soft small"))
    return parts
