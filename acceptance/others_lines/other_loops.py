"""Finds loops that can be mistaken for a program's main loop, by trying them one by one in recordings.
wrong_loops.py measures the cost of such a mistake.

What may be taken is known from a run whose main loop was found: loops that were believed on the way, the phases of
the main loop, and the functions that make objects. `--loop` takes each by its name, or by that of its function.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import TERRACE, run
from others_tool.profiles import Profile, TakenLoop

_MAX_TRIED = 12  # names of a program
_REFUSED = 2  # exit status of a wrong call


@dataclass(frozen=True)
class Recording:
    """How a program is recorded: what comes before and after the name of the file."""

    options: list[str]
    command: list[str | Path]

    def profile(self, file: Path) -> Profile:
        """Records one run, with the loop that Terrace finds."""
        run(self._call(file))
        return Profile(file)

    def taken(self, file: Path, loop: str) -> list[TakenLoop]:
        """Returns the loops taken in a run with `--loop`, none if Terrace refuses it: a function without a
        loop."""
        refused = run(self._call(file, "--loop", loop), check=False).returncode == _REFUSED
        return [] if refused else Profile(file).taken()

    def _call(self, file: Path, *told: str) -> list[str | Path]:
        file.unlink(missing_ok=True)
        return [TERRACE, "record", "-q", *self.options, *told, "-o", file, "--", *self.command]


def others(recording: Recording, found: Profile, file: Path) -> dict[str, str]:
    """Returns for "inner" and "set-up" the name of the longest loop of that kind, without kinds that the program
    does not have. The profiles of the trials go to the file."""
    main, longest = found.loop().name, dict[str, TakenLoop]()
    if not main:
        return {}
    for name in [name for name in found.names_of_loops() if name != main][:_MAX_TRIED]:
        for taken in recording.taken(file, name):
            kind = _kind(taken, found)
            if taken.name != main and kind and (kind not in longest or taken.seconds > longest[kind].seconds):
                longest[kind] = taken
    return {kind: taken.name for kind, taken in longest.items()}


def _kind(taken: TakenLoop, found: Profile) -> str:
    """Returns the kind of a loop. Set-up ends when the main loop begins; loops entered during that are inside
    it."""
    begun, ended = found.first_turn(), found.last_turn()
    if taken.ended <= begun:
        return "set-up"
    return "inner" if begun <= taken.last_begun < ended else ""
