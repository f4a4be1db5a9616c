"""Figures that several tables print, each with its one formula, and what no figure may do: beat the bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from terrace import _core
from terrace.errors import TerraceError
from terrace.store.values import Moved, Run

T = TypeVar("T")
_ROUNDING = 1e-9  # of a time: sums of the same numbers in other orders


def later_half(iterations: Sequence[T]) -> Sequence[T]:
    """The iterations that *steady* is about: those of the second half, of an odd number the middle one, too."""
    return iterations[len(iterations) // 2 :]


def steady(iterations: Sequence[float]) -> float:
    """Seconds of the later half, from the seconds of all. To be compared with the same iterations of another run
    (or of the bound): one iteration may have more to do than another."""
    return math.fsum(later_half(iterations))


def copying(machine: _core.Machine, run: Run, moves: Iterable[Moved]) -> float:
    """Seconds that the moves take of the mover, at the price of the machine's copier."""
    return math.fsum(
        moved.chunks
        * machine.move_time(run.initiator, run.cores, moved.source, moved.target, moved.size // moved.chunks)
        for moved in moves
        if moved.size
    )


def overlap(loop: float, free_loop: float, copies: float) -> float | None:
    """The share of the copies' own time that the program did not lose; None where nothing was copied.

    `free_loop` is the loop of the same run with moves that take neither time nor bandwidth (`--free-moves`), and
    `copies` what `copying` says of its moves. Below 0 where moves held the program up for longer than their own
    copies took.
    """
    return 1 - (loop - free_loop) / copies if copies > 0 else None


def hold_bound(cell: str, bound: float, seconds: float) -> float:
    """The seconds, which no table may show below the bound that was proven for them. Raises TerraceError."""
    if not seconds >= bound * (1 - _ROUNDING):
        raise TerraceError(f"{cell}: {seconds!r} s beats the proven bound of {bound!r} s; one of the two is wrong")
    return seconds
