"""The order of the rooms and the sizes of files, as scripts/rooms.py reads them."""

from __future__ import annotations

from harness import ROOT, Line, Measured, run


def rooms() -> Measured:
    done = run([ROOT / ".venv" / "bin" / "python", ROOT / "scripts" / "rooms.py"], check=False)
    said = (done.stdout + done.stderr).strip()
    return Measured(said or "nothing is wrong", done.returncode == 0)


LINES = [
    Line(
        "rooms",
        "no arrow between rooms points up, no circle, no file over 400 lines, none under 30 with one includer",
        rooms,
    )
]
