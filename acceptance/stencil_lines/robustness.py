"""Disks that fill up, files that are torn, processes that die."""

from __future__ import annotations

from harness import Line, Measured

from stencil_lines.common import tests


def damaged() -> Measured:
    """Of checkpoints: every byte that is changed, every length that is cut off."""
    holds, said = tests("stencil_io_test", "*amage*:*orn*:*runcat*:*ullDisk*")
    return Measured(said, holds)


def killed() -> Measured:
    """A program that writes checkpoints, killed at 50 moments; each restart ends with the same numbers."""
    holds, said = tests("stencil_io_test", "*ill*:*rash*")
    return Measured(said, holds)


LINES = [
    Line(
        "damage",
        "a full disk, a short read, a torn file: a clear error, the last checkpoint intact",
        damaged,
    ),
    Line("kill", "SIGKILL at 50 random moments, restart gives the same field summary", killed),
]
