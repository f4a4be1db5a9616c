# SPDX-License-Identifier: Apache-2.0
"""Computes figures that several tables show, one formula each, and checks that no figure beats its proven
bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from terrace import _core
from terrace.errors import TerraceError
from terrace.store.values import Moved, Run

T = TypeVar("T")
_ROUNDING = 1e-9  # relative: sums of the same numbers in another order


def later_half(iterations: Sequence[T]) -> Sequence[T]:
    """Returns the iterations that *steady* refers to: the second half, including the middle one of an
    odd number.
    """
    return iterations[len(iterations) // 2 :]


def steady(iterations: Sequence[float]) -> float:
    """Returns the time of the later half, from the seconds of all iterations.

    Comparable only with the same iterations of another run or bound, because iterations may differ in work.
    """
    return math.fsum(later_half(iterations))


def copying(machine: _core.Machine, run: Run, moves: Iterable[Moved]) -> float:
    """Returns the seconds of copying for the moves, at the bandwidth of the machine's copier."""
    return math.fsum(
        moved.chunks
        * machine.move_time(run.initiator, run.cores, moved.source, moved.target, moved.size // moved.chunks)
        for moved in moves
        if moved.size
    )


def overlap(loop: float, free_loop: float, copies: float) -> float | None:
    """Returns the share of the copying time that is hidden from the program; None if nothing was copied.

    `free_loop` is the loop of the same run with moves that take neither time nor bandwidth (`--free-moves`);
    `copies` is the result of `copying` for its moves. The share is negative if moves delayed the program for
    longer than their copying time.
    """
    return 1 - (loop - free_loop) / copies if copies > 0 else None


def check_bound(cell: str, bound: float, seconds: float) -> float:
    """Returns the seconds. Raises TerraceError if they are below the proven bound."""
    if not seconds >= bound * (1 - _ROUNDING):
        raise TerraceError(
            f"{cell}: {seconds!r} s beats the proven bound of {bound!r} s; one of the two is wrong: "
            "report this error of Terrace with the output of `terrace machine check`"
        )
    return seconds
