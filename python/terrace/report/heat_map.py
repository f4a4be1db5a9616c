"""Objects x phases: who causes the misses of each phase."""

from collections.abc import Sequence
from html import escape

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts

_LEFT = 260.0
_ROW = 27.0
_TOP = 64.0
_RIGHT = 150.0
_WIDTH = 980.0
_MANY = 24
_MANY_PHASES = 16
_UPRIGHT = 64.0  # narrower columns have slanted headings
_SLANT = 44.0
_NUMBER, _PERCENT = 24.0, 44.0  # widths from which a cell has room for its number, and for the sign
_FULL = 0.5  # a share that is drawn in the full colour
_LETTER_WIDTH = 6.6


def draw(facts: Facts) -> str:
    """The picture; rows are objects by traffic, cells their share of the phase's misses."""
    order = facts.by_traffic[:_MANY]
    if not order:
        return "<p>No miss was seen: everything fits into the caches, or the program was not built with hooks.</p>"
    columns = _columns(facts)
    width = (_WIDTH - _LEFT - _RIGHT) / max(len(columns), 1)
    slanted = width < _UPRIGHT
    top = _TOP + (_SLANT if slanted else 0.0)
    rows = [_row(facts, o, columns, top + r * _ROW, width) for r, o in enumerate(order)]
    rest = facts.by_traffic[_MANY:]
    bottom = top + len(order) * _ROW
    if rest:
        share = facts.misses[rest].sum() / max(facts.misses.sum(), 1e-300)
        rows.append(
            svg.text(0, bottom + 19, f"{len(rest)} more objects with {units.percent(share)} of the misses", "soft")
        )
        bottom += _ROW
    more = len(facts.profile.phases) - len(columns)
    note = f"<figcaption>{more} shorter phases are in the table only.</figcaption>" if more else ""
    return note + svg.picture(
        "heat",
        _WIDTH,
        bottom + 6,
        "Objects by phases",
        "For each object and phase the share of the phase's misses that the object causes; the table below has "
        "the same numbers.",
        *_headings(facts, columns, width, top, slanted),
        *rows,
    )


def _columns(facts: Facts) -> list[int]:
    """The longest phases, in the order of the iteration."""
    phases = facts.profile.phases
    longest = sorted(range(len(phases)), key=lambda p: -phases[p].time)
    return sorted(longest[:_MANY_PHASES])


def _headings(facts: Facts, columns: Sequence[int], width: float, top: float, slanted: bool) -> list[str]:
    parts = [svg.text(0, top - 12, "object", "soft small")]
    for c, p in enumerate(columns):
        phase = facts.profile.phases[p]
        x = _LEFT + (c + 0.5) * width
        if slanted:
            label = svg.fit(f"{phase.name}, {units.seconds(phase.time)}", 1.3 * (top - 12), _LETTER_WIDTH)
            turn = f"rotate(-48 {x:.1f} {top - 10:.1f})"
            parts.append(svg.text(x, top - 10, label, "small", "start", transform=turn))
        else:
            parts.append(svg.text(x, top - 28, svg.fit(phase.name, width - 4, _LETTER_WIDTH), "", "middle"))
            parts.append(svg.text(x, top - 12, units.seconds(phase.time), "soft small", "middle"))
    parts.append(svg.text(_WIDTH - _RIGHT + 76, top - 12, "traffic", "soft small", "end"))
    parts.append(svg.text(_WIDTH, top - 12, "size", "soft small", "end"))
    return parts


def _row(facts: Facts, o: int, columns: Sequence[int], y: float, width: float) -> str:
    item = facts.profile.objects[o]
    label = escape(svg.fit(item.name, _LEFT - 14, _LETTER_WIDTH))
    parts = [svg.element("text", svg.tip(item.name), label, x=0, y=y + 18)]
    by_phase = facts.misses.sum(axis=0)
    for c, p in enumerate(columns):
        share = facts.misses[o, p] / by_phase[p] if by_phase[p] > 0 else 0.0
        about = _tip(facts, o, p, share, facts.profile.phases[p].name)
        parts.append(_cell(_LEFT + c * width, y, width, share, about))
    parts.append(svg.text(_WIDTH - _RIGHT + 76, y + 18, units.size(facts.traffic[o].sum()), "", "end"))
    parts.append(svg.text(_WIDTH, y + 18, units.size(item.size), "", "end"))
    return "".join(parts)


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
    if share >= 0.005 and width >= _NUMBER:
        sign = " %" if width >= _PERCENT else ""
        style = "small on-heat strong" if strength > 0.62 else "small"
        parts.append(
            svg.text(x + width / 2, y + 18, f"{100 * share:.0f}{sign}", style, "middle", pointer_events="none")
        )
    return "".join(parts)
