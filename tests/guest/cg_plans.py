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
    text = f'[[object]]\nname = "{name}"\nchunks = {chunks}\n'
    for span, place in parts.items():
        text += f'[[object.part]]\nchunks = "{span}"\nplace = "{place}"\n'
    return text + "\n"


def _move(name: str, to: str, ask: int, need: int | None = None, chunks: str | None = None) -> str:
    text = f'[[move]]\nobject = "{name}"\nto = "{to}"\nask = {ask}\n'
    if need is not None:
        text += f"need = {need}\n"
    if chunks is not None:
        text += f'chunks = "{chunks}"\n'
    return text + "\n"


def _head(budget: str) -> str:
    phases = ", ".join(f'"{name}"' for name in PHASES)
    return f'schema = 1\nbudget = ["ddr={budget}"]\nphases = [{phases}]\n\n'


def _in_loop(run: Run) -> list[Object]:
    """The heap objects of the main loop, the biggest first: a, colidx, then the vectors."""
    living = [one for one in run.living(max(run.phases.values())) if one.kind == "heap"]
    return sorted(living, key=lambda one: (-one.size, one.id))


def class_s(run: Run) -> str:
    """The matrix's values and its column numbers take turns in near memory, twice an iteration."""
    values, columns = (one.name for one in _in_loop(run)[:2])
    return (
        _head("700KiB")
        + _object(values, "ddr")
        + _object(columns, "cxl")
        + _move(values, "cxl", 7)
        + _move(columns, "ddr", 7, 9)
        + _move(columns, "cxl", 20)
        + _move(values, "ddr", 20, 20)
        + _move(values, "cxl", 33)
        + _move(columns, "ddr", 33, 35)
        + _move(columns, "cxl", 50)
        + _move(values, "ddr", 50, 52)
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
        + _move(r, "cxl", 40, 42)
        + _move(r, "ddr", 52, 1)
        + _move(q, "ddr", 1, 2)
        + _move(q, "cxl", 5)
        + _move(p, "ddr", 3, 3)
        + _move(p, "cxl", 4, 6)
        + _move(z, "ddr", 8, 10, "1-2")
        + _move(z, "cxl", 26, 27, "1-2")
        # The halves of the values change places, then change back.
        + _move(values, "cxl", 12, None, "0-1")
        + _move(values, "ddr", 12, 13, "2-3")
        + _move(columns, "ddr", 16, 18)
        + _move(columns, "cxl", 30)
        + _move(values, "cxl", 34, None, "2-3")
        + _move(values, "ddr", 34, 38, "0-1")
    )
