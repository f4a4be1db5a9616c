"""Computes a lower bound of the bytes that any schedule moves between a file and a memory that is too small. The
study of out-of-core memory (study.py) compares measured bytes with it.

Virtual time computes it: the program, built with the wrappers, runs on a machine with a file, and of each page it
is known when it is touched. From one touch to the next a page stays in memory, or is read again; the most that can
stay gives the fewest bytes that are read, and in the same way the fewest that are written. What the caches hold is
no touch, so on the real machine it may be more, and never less. Two threads share the loops of one among them: for
them the same bytes count. What virtual time itself reads and writes in these runs is kept, too: whether it is what
the real program does is a criterion of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, TERRACE, run
from terrace.lab.study import build
from terrace.store.reader import Store

MACHINE = "ddr5-nvme"


@dataclass(frozen=True)
class Least:
    """Bytes of a whole run: what any schedule moves, and what the simulated one did."""

    read: int
    written: int
    simulated_read: int
    simulated_written: int


def least(program: str, words: Sequence[str], memories: Sequence[int]) -> list[Least]:
    """Returns the least bytes for each of these amounts of memory, in bytes. It takes a minute of real time for
    each second of the program's."""
    with tempfile.TemporaryDirectory(prefix="terrace-least-") as name:
        folder = Path(name)
        configurations = [
            word
            for number, memory in enumerate(memories)
            for word in ("--config", f"label=m{number} memory={memory}")
        ]
        command = [str(build(ROOT, program, folder)), *words]
        run(
            [
                TERRACE,
                "simulate",
                "--machine",
                MACHINE,
                *configurations,
                "-o",
                folder / "least.terrace",
                "--",
                *command,
            ],
            timeout=7200,
        )
        return [_read(folder / f"least.m{number}.terrace") for number in range(len(memories))]


def _read(path: Path) -> Least:
    columns, rows = Store(path).table("spill")
    found = [dict(zip(columns, values, strict=True)) for values in rows]
    last = max(found, key=lambda row: int(row["position"]))
    wanted = ("least_read", "least_written", "bytes_read", "bytes_written")
    return Least(*(int(last[column]) for column in wanted))
