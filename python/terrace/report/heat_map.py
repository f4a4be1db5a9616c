"""Objects x phases: who causes the misses of each phase."""

from collections.abc import Sequence

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts

_LEFT = 260.0
_ROW = 27.0
_TOP = 64.0
_RIGHT = 150.0
_WIDTH = 980.0
_MANY = 24
_FULL = 0.5  # a share that is drawn in the full colour
_LETTER_WIDTH = 6.6


def draw(facts: Facts) -> str:
    """The picture; rows are objects by traffic, cells their share of the phase's misses."""
    order = facts.by_traffic[:_MANY]
    phases = facts.profile.phases
    width = (_WIDTH - _LEFT - _RIGHT) / max(len(phases), 1)
    rows = [_row(facts, o, _TOP + r * _ROW, width) for r, o in enumerate(order)]
    rest = facts.by_traffic[_MANY:]
    bottom = _TOP + len(order) * _ROW
    if rest:
        share = facts.misses[rest].sum() / max(facts.misses.sum(), 1e-300)
        rows.append(
            svg.text(0, bottom + 19, f"{len(rest)} more objects with {units.percent(share)} of the misses", "soft")
        )
        bottom += _ROW
    return svg.picture(
        "heat",
        _WIDTH,
        bottom + 6,
        "Objects by phases",
        "For each object and phase the share of the phase's misses that the object causes; the table below has "
        "the same numbers.",
        *_headings([phase.name for phase in phases], [phase.time for phase in phases], width),
        *rows,
    )


def _headings(names: Sequence[str], times: Sequence[float], width: float) -> list[str]:
    parts = [svg.text(0, _TOP - 12, "object", "soft small")]
    for p, (name, time) in enumerate(zip(names, times, strict=True)):
        x = _LEFT + (p + 0.5) * width
        if width >= 46:
            parts.append(svg.text(x, _TOP - 28, svg.fit(name, width - 4, _LETTER_WIDTH), "", "middle"))
            parts.append(svg.text(x, _TOP - 12, units.seconds(time), "soft small", "middle"))
        else:
            parts.append(svg.text(x, _TOP - 12, str(p), "soft small", "middle"))
    parts.append(svg.text(_WIDTH - _RIGHT + 76, _TOP - 12, "traffic", "soft small", "end"))
    parts.append(svg.text(_WIDTH, _TOP - 12, "size", "soft small", "end"))
    return parts


def _row(facts: Facts, o: int, y: float, width: float) -> str:
    item = facts.profile.objects[o]
    parts = [svg.element("text", svg.tip(item.name), _escaped(item.name), x=0, y=y + 18)]
    by_phase = facts.misses.sum(axis=0)
    for p, phase in enumerate(facts.profile.phases):
        misses = facts.misses[o, p]
        share = misses / by_phase[p] if by_phase[p] > 0 else 0.0
        parts.append(_cell(_LEFT + p * width, y, width, share, _tip(facts, o, p, share, phase.name)))
    parts.append(svg.text(_WIDTH - _RIGHT + 76, y + 18, units.size(facts.traffic[o].sum()), "", "end"))
    parts.append(svg.text(_WIDTH, y + 18, units.size(item.size), "", "end"))
    return "".join(parts)


def _escaped(name: str) -> str:
    from html import escape

    return escape(svg.fit(name, _LEFT - 14, _LETTER_WIDTH))


def _tip(facts: Facts, o: int, p: int, share: float, phase: str) -> str:
    sensitive = facts.sensitivity[o][p]
    traffic = units.size(facts.traffic[o, p])
    exposed = units.count(facts.profile.exposure[o, p])
    about = f", sensitive to {'bandwidth or latency' if sensitive == 'either' else sensitive}" if sensitive else ""
    return (
        f"{facts.profile.objects[o].name} in {phase}: {units.percent(share)} of the misses, {traffic}, "
        f"{exposed} latencies exposed{about}"
    )


def _cell(x: float, y: float, width: float, share: float, tip: str) -> str:
    strength = min(share / _FULL, 1.0)
    parts = [svg.rect(x + 1, y + 1, width - 2, _ROW - 2, "cold", svg.tip(tip), rx=3)]
    if share > 0:
        parts.append(
            svg.rect(
                x + 1, y + 1, width - 2, _ROW - 2, "heat", svg.tip(tip), rx=3, fill_opacity=0.08 + 0.92 * strength
            )
        )
    if share >= 0.005 and width >= 34:
        style = "small on-heat strong" if strength > 0.62 else "small"
        parts.append(
            svg.text(x + width / 2, y + 18, f"{100 * share:.0f} %", style, "middle", pointer_events="none")
        )
    return "".join(parts)
