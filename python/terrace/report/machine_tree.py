"""The machine: its tree of places, with what the program's cores see of each."""

from terrace import units
from terrace.report import svg
from terrace.report.facts import Facts
from terrace.values import Machine, Node

_WIDTH = 980.0
_ROW = 64.0
_TOP = 30.0
_BOX_HEIGHT = 42.0
_BARS = 560.0
_BAR_WIDTH = 190.0


def draw(facts: Facts) -> str:
    """The tree on the left, bandwidths and latencies on the right."""
    machine = facts.machine
    leaves = [node for node in _depth_first(machine) if node.place is not None]
    rows = {node.id: _TOP + (i + 0.5) * _ROW for i, node in enumerate(leaves)}
    depth = _depths(machine)
    levels = max(depth.values(), default=0) + 1
    step = (_BARS - 30.0) / levels
    box = min(step - 34.0, 190.0)
    for node in reversed(list(_depth_first(machine))):
        if node.id not in rows:
            below = [rows[child.id] for child in machine.nodes if child.parent == node.id and child.id in rows]
            rows[node.id] = sum(below) / len(below) if below else _TOP
    parts = []
    for node in _depth_first(machine):
        x = depth[node.id] * step
        if node.parent is not None:
            start = depth[node.parent] * step + box
            middle = (start + x) / 2
            corners = [(start, rows[node.parent]), (middle, rows[node.parent]), (middle, rows[node.id])]
            parts.append(svg.path([*corners, (x, rows[node.id])], "link"))
    parts += [_box(facts, node, depth[node.id] * step, rows[node.id], box) for node in _depth_first(machine)]
    parts += _bars(facts, leaves, rows)
    return svg.picture(
        "machine",
        _WIDTH,
        _TOP + len(leaves) * _ROW + 4,
        f"The machine {machine.name}",
        "A tree of memories with the bandwidth and latency that the program's cores see; the table below has the "
        "same numbers.",
        *parts,
    )


def _depth_first(machine: Machine) -> list[Node]:
    order: list[Node] = []

    def visit(parent: int | None) -> None:
        for node in machine.nodes:
            if node.parent == parent and node not in order:
                order.append(node)
                visit(node.id)

    visit(None)
    return order


def _depths(machine: Machine) -> dict[int, int]:
    depths: dict[int, int] = {}
    for node in _depth_first(machine):
        depths[node.id] = 0 if node.parent is None else depths[node.parent] + 1
    return depths


def _box(facts: Facts, node: Node, x: float, y: float, width: float) -> str:
    parts = [svg.rect(x + 0.5, y - _BOX_HEIGHT / 2, width, _BOX_HEIGHT, "box", rx=6)]
    place = next((p for p in facts.machine.places if p.id == node.place), None)
    label = svg.fit(node.name, width - 16, 7.0)
    if place is None:
        parts.append(svg.text(x + width / 2, y + 5, label, "", "middle"))
    else:
        style = facts.colour(place.id)
        parts.append(svg.rect(x + 0.5, y - _BOX_HEIGHT / 2, 5, _BOX_HEIGHT, style, rx=2))
        parts.append(svg.text(x + 14, y - 3, label, "strong"))
        parts.append(svg.text(x + 14, y + 14, f"{place.kind}, {units.size(place.capacity)}", "soft small"))
    return "".join(parts)


def _bars(facts: Facts, leaves: list[Node], rows: dict[int, float]) -> list[str]:
    """Read and write bandwidth as bars, latency as a number."""
    paths = {path.place: path for path in facts.machine.paths if path.initiator == facts.run.initiator}
    most = max((max(path.read, path.write) for path in paths.values()), default=1.0)
    parts = [
        svg.text(_BARS, _TOP - 12, "bandwidth: read, write", "soft small"),
        svg.text(_WIDTH, _TOP - 12, "latency", "soft small", "end"),
    ]
    for node in leaves:
        path = paths.get(node.place if node.place is not None else -1)
        if path is None:
            parts.append(svg.text(_BARS, rows[node.id] + 4, "not reached from here", "soft small"))
            continue
        style = facts.colour(path.place)
        for value, offset, name in ((path.read, -17.0, "read"), (path.write, 1.0, "write")):
            length = _BAR_WIDTH * value / most
            y = rows[node.id] + offset
            parts.append(svg.rect(_BARS, y, length, 14, style, svg.tip(f"{name} {units.rate(value)}"), rx=2))
            parts.append(svg.text(_BARS + length + 7, y + 11.5, units.rate(value), "small"))
        parts.append(svg.text(_WIDTH, rows[node.id] + 5, units.seconds(path.latency), "", "end"))
    return parts
