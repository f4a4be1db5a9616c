"""The plan as it ran: phases, moves and waits on one axis of time."""

import itertools
from dataclasses import dataclass

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts
from terrace.values import Move, PhaseInstance

_WIDTH = 980.0
_LEFT = 190.0
_RIGHT = 16.0
_TOP = 26.0
_BAND = 34.0
_ROW = 24.0
_ITERATIONS = 4
_ROWS = 12
_LETTER = 6.5


@dataclass
class _Bar:
    """Moves of one object that were asked for together."""

    object: int
    into: bool
    asked: float
    begun: float
    done: float
    waited: float
    size: int
    refused: bool


def draw(facts: Facts) -> str:
    """The first iterations: how the plan settles, and what every later iteration repeats."""
    shown = [i for i in facts.instances if i.iteration < _ITERATIONS]
    if not shown:
        return "<p>No phase of a main loop was seen.</p>"
    start, end = min(i.begun for i in shown), max(i.ended for i in shown)
    bars = _bars(facts, start, end)
    rows = _rows(bars)
    x = svg.linear(start, end, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _BAND + 14 + len(rows) * _ROW + (8 if rows else 0)
    parts = [*_iterations(shown, x, bottom), *_phases(shown, x)]
    for row, identity in enumerate(rows):
        y = _TOP + _BAND + 14 + row * _ROW
        name = svg.fit(facts.object_name(identity), _LEFT - 12, _LETTER) if identity >= 0 else "other objects"
        parts.append(svg.text(0, y + 16, name, "", "start"))
        parts += [
            _draw_bar(facts, bar, x, y)
            for bar in bars
            if bar.object == identity or (identity < 0 and bar.object not in rows)
        ]
    parts += _axis(start, end, x, bottom)
    moved = sum(bar.size for bar in bars)
    entries = [
        ("f-fast", "into fast memory", any(bar.into for bar in bars)),
        ("f-slow", "out of fast memory", any(not bar.into for bar in bars)),
        ("f-wait", "a phase waits", any(i.waited > 0 for i in shown)),
        ("f-gap", "the runtime plans", bool(_gaps(shown))),
    ]
    legend = svg.legend([(style, words) for style, words, present in entries if present])
    return legend + svg.picture(
        "timeline",
        _WIDTH,
        bottom + 34,
        "Phases, moves and waits",
        f"{len(bars)} moves of {units.size(moved)} in the first {len({i.iteration for i in shown})} iterations; "
        "the table below lists them.",
        *parts,
    )


def _bars(facts: Facts, start: float, end: float) -> list[_Bar]:
    groups: dict[tuple[int, int, int, int], list[Move]] = {}
    for move in facts.moves:
        if start <= move.asked <= end:
            groups.setdefault((move.object, move.iteration, move.ask, move.target), []).append(move)
    return [
        _Bar(
            object=key[0],
            into=facts.is_fast(key[3]),
            asked=min(m.asked for m in group),
            begun=min(m.begun for m in group),
            done=max(m.done for m in group),
            waited=sum(m.waited for m in group),
            size=sum(m.size for m in group),
            refused=all(m.refused for m in group),
        )
        for key, group in groups.items()
    ]


def _rows(bars: list[_Bar]) -> list[int]:
    """The objects that moved most, in the order of their first move; -1 for all others."""
    moved: dict[int, int] = {}
    for bar in bars:
        moved[bar.object] = moved.get(bar.object, 0) + bar.size
    most = sorted(moved, key=lambda o: -moved[o])[:_ROWS]
    first = {o: min(bar.asked for bar in bars if bar.object == o) for o in most}
    rows = sorted(most, key=lambda o: first[o])
    return rows if len(moved) <= _ROWS else [*rows, -1]


def _iterations(shown: list[PhaseInstance], x: svg.Scale, bottom: float) -> list[str]:
    parts = []
    for number in sorted({i.iteration for i in shown}):
        begun = min(i.begun for i in shown if i.iteration == number)
        ended = max(i.ended for i in shown if i.iteration == number)
        parts.append(svg.line(x(begun), _TOP - 18, x(begun), bottom, "grid"))
        took = units.seconds(ended - begun)
        room = x(ended) - x(begun) - 6
        for label in (f"iteration {number + 1}: {took}", f"{number + 1}: {took}", f"{number + 1}"):
            if len(label) * _LETTER <= room:
                parts.append(svg.text(x(begun) + 5, _TOP - 8, label, "soft small"))
                break
    return parts


def _phases(shown: list[PhaseInstance], x: svg.Scale) -> list[str]:
    parts = [svg.text(0, _TOP + 22, "phases", "")]
    for begun, ended in _gaps(shown):
        about = f"between two iterations: {units.seconds(ended - begun)}"
        parts.append(svg.rect(x(begun), _TOP + _BAND / 3, x(ended) - x(begun), _BAND / 3, "f-gap", svg.tip(about)))
    for i in shown:
        width = x(i.ended) - x(i.begun)
        about = f"{i.name}: {units.seconds(i.ended - i.begun)}"
        if i.waited > 0:
            about += f", of it {units.seconds(i.waited)} waiting for moves"
        style = "band" if i.phase % 2 == 0 else "band2"
        parts.append(svg.rect(x(i.begun), _TOP, width, _BAND, style, svg.tip(about)))
        if i.waited > 0:
            wait = max(x(i.begun + i.waited) - x(i.begun), 1.5)
            parts.append(svg.rect(x(i.begun), _TOP, wait, _BAND, "f-wait", svg.tip(about)))
        if width >= 7 * len(i.name) + 6:
            parts.append(
                svg.text(x(i.begun) + width / 2, _TOP + 21, i.name, "small", "middle", pointer_events="none")
            )
    return parts


def _gaps(shown: list[PhaseInstance]) -> list[tuple[float, float]]:
    """Stretches between iterations in which no phase ran."""
    numbers = sorted({i.iteration for i in shown})
    ends = {n: max(i.ended for i in shown if i.iteration == n) for n in numbers}
    begins = {n: min(i.begun for i in shown if i.iteration == n) for n in numbers}
    pairs = [(ends[a], begins[b]) for a, b in itertools.pairwise(numbers)]
    whole = max(ends.values()) - min(begins.values())
    return [(ended, begun) for ended, begun in pairs if begun - ended > 0.002 * whole]


def _draw_bar(facts: Facts, bar: _Bar, x: svg.Scale, y: float) -> str:
    way = "into fast memory" if bar.into else "out of fast memory"
    about = f"{facts.object_name(bar.object)}: {units.size(bar.size)} {way}, {units.seconds(bar.done - bar.begun)}"
    if bar.refused:
        about += ", refused"
    if bar.waited > 0:
        about += f", waited for {units.seconds(bar.waited)}"
    middle = y + _ROW / 2
    style = "f-soft" if bar.refused else "f-fast" if bar.into else "f-slow"
    parts = [svg.line(x(bar.asked), middle, x(bar.begun), middle, "s-queue")] if bar.begun > bar.asked else []
    width = max(x(bar.done) - x(bar.begun), 2.5)
    parts.append(svg.rect(x(bar.begun), y + 5, width, _ROW - 10, style, svg.tip(about), rx=2))
    return "".join(parts)


def _axis(start: float, end: float, x: svg.Scale, bottom: float) -> list[str]:
    parts = [svg.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "axis")]
    for tick in svg.round_ticks(0.0, end - start, 6):
        at = x(start + tick)
        parts.append(svg.line(at, bottom, at, bottom + 5, "axis"))
        parts.append(svg.text(at, bottom + 20, units.seconds(tick), "soft small", "middle"))
    return parts
