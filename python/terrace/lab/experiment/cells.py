"""What an experiment consists of: cells, each a question with one answer, and the file that keeps the answer.

A cell is one recording under one method on one machine with one size of fast memory. Its answer is a file of its
own, written whole or not at all, so an interrupted run goes on where it stopped, and several runs can share the
work (`--shard`): which of them a cell belongs to follows from its name alone.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from terrace import output
from terrace.errors import TerraceError, WrongCallError

SCHEMA = 3  # of the files of cells, of tables, and of settings.json


@dataclass(frozen=True)
class Cell:
    """A question. `size` is the fast memory: "256MB" is the study's, beside class C; "1/4" is of the footprint;
    "" is none, where the method needs none."""

    workload: str
    machine: str
    method: str  # measure.py says which there are
    size: str = ""

    @property
    def name(self) -> str:
        """Unique, and fit for a path."""
        size = self.size.replace("/", "-of-") or "any"
        return f"{self.workload}/{self.machine}/{size}/{self.method.replace(' ', '-')}"

    def belongs_to(self, shard: tuple[int, int]) -> bool:
        """Whether shard i of n, counted from 1, has to answer it."""
        return zlib.crc32(self.name.encode()) % shard[1] == shard[0] - 1


@dataclass(frozen=True)
class Answer:
    """What a cell came to. Times are virtual seconds of the main loop; `bound` has `loop_s`, `steady_s` alone."""

    loop_s: float
    iterations: int
    fast_bytes: int
    footprint_bytes: int
    simulated: int = 0  # of the iterations; the others are like the last of these
    steady_s: float = 0.0  # of the later half of the iterations
    waited_s: float = 0.0
    stalled_s: float = 0.0  # lost to moves beside the program
    charged_s: float = 0.0  # the runtime's own work
    moves: int = 0
    moved_bytes: int = 0
    copying_s: float = 0.0  # what the moves take of the mover, at its price
    # Where memory is over a file: of the loop, and what any schedule must move in it.
    read_bytes: int = 0
    written_bytes: int = 0
    least_read_bytes: int = 0
    least_written_bytes: int = 0
    least_s: float = 0.0  # of the device, for that
    phases: dict[str, float] = field(default_factory=dict)  # seconds by name, over the loop


class Answers:
    """The answers in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "cells"

    def path(self, cell: Cell) -> Path:
        """Of the cell's file."""
        return self._folder / f"{cell.name}.json"

    def has(self, cell: Cell) -> bool:
        """Whether it is answered."""
        return self.path(cell).is_file()

    def keep(self, cell: Cell, answer: Answer) -> None:
        """Writes the answer."""
        write_whole(self.path(cell), document({**asdict(cell), **asdict(answer)}))

    def get(self, cell: Cell) -> Answer:
        """Reads it. Raises TerraceError when it is not there, or not of this version."""
        content = read_document(self.path(cell))
        content.pop("schema")
        for key in asdict(cell):
            content.pop(key, None)
        return Answer(**content)

    def find(self, cell: Cell) -> Answer | None:
        """The answer, if there is one: not every experiment asks every question."""
        return self.get(cell) if self.has(cell) else None


def parse_shard(text: str) -> tuple[int, int]:
    """Reads "2/8": the second of eight."""
    number, slash, count = text.partition("/")
    if slash and number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise WrongCallError(f"--shard {text}: write for example 2/8, for the second of eight")


def document(content: dict[str, Any]) -> str:
    """JSON that says which schema it has."""
    return json.dumps({"schema": SCHEMA, **content}, indent=1) + "\n"


def read_document(path: Path) -> dict[str, Any]:
    """Reads what document() made. Raises TerraceError where it is not there, or not of this version."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TerraceError(f"{path} cannot be read ({error}): remove it and run again") from error
    if content.get("schema") != SCHEMA:
        raise TerraceError(f"{path} is of another version: name another folder with --output")
    return content


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file that is there whole or not at all, in a folder that is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    output.write_whole(path, content)


def unique(cells: Sequence[Cell]) -> list[Cell]:
    """Each once, in their order: figures share questions."""
    return list(dict.fromkeys(cells))
