"""Hand-written plans for CG that move on purpose: whole objects and parts, waited for at once, later or never."""

from __future__ import annotations

from accounts import Object, Run

PHASES = ["init"] + ["matvec", "update"] * 25 + ["residual", "normalise"]


def _object(name: str, place: str, chunks: int = 1, pin: bool = False) -> str:
    return (
        f'[[object]]\nname = "{name}"\nchunks = {chunks}\nplace = "{place}"\n'
        + ("pin = true\n" if pin else "")
        + "\n"
    )


def _split(name: str, chunks: int, parts: dict[str, str]) -> str:
    places = ", ".join(f'{place} = "{span}"' for span, place in parts.items())
    return f'[[object]]\nname = "{name}"\nchunks = {chunks}\nparts = {{ {places} }}\n\n'


def _labels() -> list[str]:
    """Returns the phases' labels by position: "matvec 2" is the second one of that name."""
    return [
        f"{name} {PHASES[: k + 1].count(name)}" if PHASES.count(name) > 1 else name
        for k, name in enumerate(PHASES)
    ]


class _Move:
    """A move: its object, its target, the phase that requests it and the one that needs it."""

    def __init__(self, name: str, to: str, ask: int, need: int | None = None, chunks: str | None = None) -> None:
        self.ask = ask
        self.text = f'{{ object = "{name}", to = "{to}"'
        self.text += f', chunks = "{chunks}"' if chunks is not None else ""
        self.text += f', before = "{_labels()[need]}" }}' if need is not None else " }"


def _moves(*moves: _Move) -> str:
    text = ""
    for ask in sorted({move.ask for move in moves}):
        of_phase = ",\n  ".join(move.text for move in moves if move.ask == ask)
        text += f'[[segment]]\nname = "{_labels()[ask]}"\nmoves = [\n  {of_phase},\n]\n\n'
    return text


def _head(budget: str) -> str:
    phases = ", ".join(f'"{name}"' for name in PHASES)
    return f'schema = 2\nbudget = ["ddr={budget}"]\nphases = [{phases}]\n\n'


def _in_loop(run: Run) -> list[Object]:
    """Returns the heap objects of the main loop, largest first: a, colidx, then the vectors."""
    living = [one for one in run.living(max(run.phases.values())) if one.kind == "heap"]
    return sorted(living, key=lambda one: (-one.size, one.id))


def class_s(run: Run) -> str:
    """Writes a plan in which the matrix's values and its column numbers alternate in near memory, twice an
    iteration."""
    values, columns = (one.name for one in _in_loop(run)[:2])
    return (
        _head("700KiB")
        + _object(values, "ddr")
        + _object(columns, "cxl")
        + _moves(
            _Move(values, "cxl", 7),
            _Move(columns, "ddr", 7, 9),
            _Move(columns, "cxl", 20),
            _Move(values, "ddr", 20, 20),
            _Move(values, "cxl", 33),
            _Move(columns, "ddr", 33, 35),
            _Move(columns, "cxl", 50),
            _Move(values, "ddr", 50, 52),
        )
    )


def class_w(run: Run) -> str:
    """Halves of one object cross, others come and go, one is pinned, one returns across the iteration's end."""
    values, columns, *vectors = (one.name for one in _in_loop(run) if one.size > 40000)
    x, z, p, q, r = (name for name in vectors if name.startswith("run "))
    return (
        _head("5MiB")
        + _split(values, 4, {"0-1": "ddr", "2-3": "cxl"})
        + _object(columns, "cxl")
        + _object(x, "ddr", pin=True)
        + _object(p, "cxl")
        + _object(q, "cxl")
        + _object(r, "ddr")
        + _object(z, "cxl", chunks=4)
        # Returns in the next iteration: the phase that needs it comes before the one that asked.
        + _moves(
            _Move(r, "cxl", 40, 42),
            _Move(r, "ddr", 52, 1),
            _Move(q, "ddr", 1, 2),
            _Move(q, "cxl", 5),
            _Move(p, "ddr", 3, 3),
            _Move(p, "cxl", 4, 6),
            _Move(z, "ddr", 8, 10, "1-2"),
            _Move(z, "cxl", 26, 27, "1-2"),
            # The halves of the values change places, then change back.
            _Move(values, "cxl", 12, None, "0-1"),
            _Move(values, "ddr", 12, 13, "2-3"),
            _Move(columns, "ddr", 16, 18),
            _Move(columns, "cxl", 30),
            _Move(values, "cxl", 34, None, "2-3"),
            _Move(values, "ddr", 34, 38, "0-1"),
        )
    )
