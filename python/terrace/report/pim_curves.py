"""Occupancy and fragmentation of a device that computes, over the operations of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import svg

if TYPE_CHECKING:
    from terrace.pim import Facts

_WIDTH, _HEIGHT = 980.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 18.0, 36.0, 50.0
STYLE = """
svg .a-horizontal { fill: var(--fast); fill-opacity: .85; }
svg .a-vertical { fill: var(--slow); fill-opacity: .85; }
svg .s-horizontal { stroke: var(--fast); stroke-width: 1.75; fill: none; stroke-linejoin: round; }
svg .s-vertical { stroke: var(--slow); stroke-width: 1.75; fill: none; stroke-linejoin: round; }
svg .s-rectangle { stroke: var(--ink); stroke-width: 1.75; fill: none; stroke-linejoin: round; }
svg .f-rectangle { fill: var(--ink); } svg .s-failed { stroke: var(--wait); stroke-width: 1.5; }
"""


def occupancy(facts: Facts) -> str:
    """What is in use, by direction, one on the other; where requests found no room."""
    samples = facts.whole.samples
    x = svg.linear(0, facts.whole.operations, _LEFT, _WIDTH - _RIGHT)
    y = svg.linear(0, 1, _HEIGHT - _BOTTOM, _TOP)
    done = [x(operations) for operations, *_ in samples]
    zero = [y(0)] * len(samples)
    horizontal = [y(facts.share(used[0])) for _, used, *_ in samples]
    both = [y(facts.share(sum(used))) for _, used, *_ in samples]
    parts = _axes(facts.whole.operations, x, y)
    parts.append(_area(done, zero, horizontal, "a-horizontal"))
    parts.append(_area(done, horizontal, both, "a-vertical"))
    parts += _failures(facts, x)
    at, most = x(facts.fullest.operations), facts.share(facts.whole.peak)
    about = f"{units.percent(most)} in use"
    anchor = "end" if at > _WIDTH / 2 else "start"
    parts.append(svg.line(at, y(most), at, y(0), "s-mark"))
    parts.append(svg.circle(at, y(most), 4.5, "f-good", svg.tip(f"The fullest moment: {about}")))
    parts.append(
        svg.text(
            at + (-9 if anchor == "end" else 9), max(y(most) - 8, _TOP - 4), about, "t-good strong halo", anchor
        )
    )
    entries = [("a-horizontal", "horizontal blocks"), ("a-vertical", "vertical blocks")]
    entries += [("f-wait", "requests found no room")] if facts.whole.failures else []
    return svg.legend(entries) + svg.picture(
        "occupancy", _WIDTH, _HEIGHT, "Occupancy over the operations",
        f"At most {about}; {units.percent(facts.share(sum(facts.whole.used)))} at the end.", *parts,
    )  # fmt: skip


def fragmentation(facts: Facts) -> str:
    """Of rectangles, of horizontal and of vertical runs."""
    samples = facts.whole.samples
    x = svg.linear(0, facts.whole.operations, _LEFT, _WIDTH - _RIGHT)
    y = svg.linear(0, 1, _HEIGHT - _BOTTOM, _TOP)
    parts = _axes(facts.whole.operations, x, y)
    kinds = ("rectangle", "horizontal", "vertical")
    for number, kind in enumerate(kinds):
        parts.append(svg.path([(x(done), y(shares[number])) for done, _, _, shares in samples], f"s-{kind}"))
    parts += _failures(facts, x)
    entries = [("f-rectangle", "rectangles"), ("f-fast", "horizontal runs"), ("f-slow", "vertical runs")]
    entries += [("f-wait", "requests found no room")] if facts.whole.failures else []
    last = ", ".join(
        f"{units.percent(share)} of {kind}" for kind, share in zip(kinds, samples[-1][3], strict=True)
    )
    return svg.legend(entries) + svg.picture(
        "fragmentation", _WIDTH, _HEIGHT, "Fragmentation over the operations", f"At the end {last}.", *parts
    )


def _axes(operations: int, x: svg.Scale, y: svg.Scale) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(svg.line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "axis" if tick == 0 else "grid"))
        parts.append(svg.text(_LEFT - 8, y(tick) + 4, units.percent(tick, 0), "soft small", "end"))
    for tick in svg.round_ticks(0, operations, 8):
        if tick != int(tick):
            continue
        parts.append(svg.line(x(tick), y(0), x(tick), y(0) + 5, "axis"))
        at_the_end = x(tick) > _WIDTH - _RIGHT - 20  # where the number would be cut off
        anchor = "end" if at_the_end else "middle"
        parts.append(svg.text(x(tick), y(0) + 20, f"{tick:,.0f}", "soft small", anchor))
    parts.append(svg.text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "operations", "soft", "middle"))
    return parts


def _area(x: Sequence[float], below: Sequence[float], above: Sequence[float], style: str) -> str:
    edge = [*zip(x, above, strict=True), *reversed(list(zip(x, below, strict=True)))]
    steps = " ".join(f"{'M' if i == 0 else 'L'}{at:.2f} {height:.2f}" for i, (at, height) in enumerate(edge))
    return svg.element("path", d=steps + " Z", cls=style)


def _failures(facts: Facts, x: svg.Scale) -> list[str]:
    """A stroke along the top for each stretch in which requests found no room."""
    parts = []
    samples = facts.whole.samples
    for (begin, _, before, _), (end, _, after, _) in pairwise(samples):
        if after > before:
            about = svg.tip(f"{after - before:,} found no room by operation {end:,}")
            middle = (x(begin) + x(end)) / 2
            parts.append(svg.line(middle, 5, middle, 13, "s-failed", about))
    return parts
