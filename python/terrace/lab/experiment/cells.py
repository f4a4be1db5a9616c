# SPDX-License-Identifier: Apache-2.0
"""Defines the cells of an experiment, each a question with one answer, and stores answers in files. The studies of
`terrace lab experiment` list cells, measure.py answers them, and tables show the answers.

A cell is one recorded program under one method (a placement, a policy or a bound, see measure.py) on one machine
with one size of fast memory. Its answer, simulated times and traffic, is a separate file that is written
atomically, so an interrupted run can resume, and several runs can share the work (`--shard`): the shard of a cell
follows from its name alone.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from terrace import output
from terrace.errors import TerraceError, WrongCallError

SCHEMA = 3  # of cell files, tables and settings.json
# Variables of Slurm, after "SLURM_": of a job of an array, and of a task of srun. A batch script has the number of
# tasks of its job, but runs once.
_ARRAY = ("ARRAY_TASK_ID", "ARRAY_TASK_COUNT", "ARRAY_TASK_MIN", "ARRAY_TASK_MAX")
_STEP = ("PROCID", "STEP_NUM_TASKS")


@dataclass(frozen=True)
class Cell:
    """A question: how long does the program take? `size` is the fast memory: "256MB" scales the study's size,
    which is for NPB's problem class C, to the program; "1/4" is relative to the footprint; "" means that the
    method needs none.
    """

    workload: str
    machine: str
    method: str  # see measure.py
    size: str = ""

    @property
    def name(self) -> str:
        """Returns a unique name that is valid in a path."""
        size = self.size.replace("/", "-of-") or "any"
        return f"{self.workload}/{self.machine}/{size}/{self.method.replace(' ', '-')}"

    def belongs_to(self, shard: tuple[int, int]) -> bool:
        """Returns whether shard i of n, counted from 1, answers it."""
        return zlib.crc32(self.name.encode()) % shard[1] == shard[0] - 1


@dataclass(frozen=True)
class Answer:
    """Result of a cell. Times are virtual seconds of the main loop; the method `bound` (a lower bound
    on the time of any placement) has only `loop_s` and `steady_s`."""

    loop_s: float
    iterations: int
    fast_bytes: int
    footprint_bytes: int
    simulated: int = 0  # simulated iterations; the others equal the last of these
    steady_s: float = 0.0  # later half of the iterations
    waited_s: float = 0.0
    stalled_s: float = 0.0  # lost to concurrent moves
    charged_s: float = 0.0  # runtime overhead
    moves: int = 0
    moved_bytes: int = 0
    copying_s: float = 0.0  # copying time of the moves, by the machine's copier
    # Out-of-core runs: traffic of the loop, and the minimum of any schedule.
    read_bytes: int = 0
    written_bytes: int = 0
    least_read_bytes: int = 0
    least_written_bytes: int = 0
    least_s: float = 0.0  # device time for that minimum
    phases: dict[str, float] = field(default_factory=dict)  # seconds by name, total of the loop


class Answers:
    """The answers in a folder, one file for each cell."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "cells"

    def path(self, cell: Cell) -> Path:
        """Returns the path of the cell's file."""
        return self._folder / f"{cell.name}.json"

    def has(self, cell: Cell) -> bool:
        """Returns whether the cell is answered."""
        return self.path(cell).is_file()

    def save(self, cell: Cell, answer: Answer) -> None:
        """Saves the answer."""
        write_whole(self.path(cell), document({**asdict(cell), **asdict(answer)}))

    def get(self, cell: Cell) -> Answer:
        """Reads an answer. Raises TerraceError if it is missing or of another version."""
        content = read_document(self.path(cell))
        content.pop("schema")
        for key in asdict(cell):
            content.pop(key, None)
        return Answer(**content)

    def find(self, cell: Cell) -> Answer | None:
        """Returns the answer, or None: not every experiment asks every question."""
        return self.get(cell) if self.has(cell) else None


def parse_shard(text: str) -> tuple[int, int]:
    """Parses "2/8", the second of eight, or "slurm", this task of a Slurm job."""
    if text == "slurm":
        return shard_of_job(os.environ)
    number, slash, count = text.partition("/")
    if slash and number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise WrongCallError(
        f"--shard {text} is not NUMBER/COUNT; give for example 2/8, the second of eight, or slurm in a job array"
    )


def shard_of_job(environment: Mapping[str, str]) -> tuple[int, int]:
    """Returns the shard of this task of a Slurm job: each task of each job of an array (`sbatch --array=0-7`) that
    `srun` starts has its own.
    """
    found = {
        name: int(environment[f"SLURM_{name}"])
        for name in (*_ARRAY, *_STEP)
        if environment.get(f"SLURM_{name}", "").isdigit()
    }
    if not all(name in found for name in _ARRAY) and not all(name in found for name in _STEP):
        raise WrongCallError(
            "--shard slurm: this is neither a job of a Slurm array nor a task of srun; "
            "submit with sbatch --array=0-7, or give for example --shard 2/8"
        )
    first, count, number = found.get("ARRAY_TASK_MIN", 0), found.get("ARRAY_TASK_COUNT", 1), 0
    if count > 1:
        step, rest = divmod(found["ARRAY_TASK_MAX"] - first, count - 1)
        number, odd = divmod(found["ARRAY_TASK_ID"] - first, max(step, 1))
        if rest or odd or number >= count:
            raise WrongCallError(
                f"--shard slurm: the numbers of the array are {count} between {first} and "
                f"{found['ARRAY_TASK_MAX']} with gaps of several sizes; submit with --array=0-{count - 1}"
            )
    tasks = found.get("STEP_NUM_TASKS", 1)
    return number * tasks + found.get("PROCID", 0) % tasks + 1, count * tasks


def document(content: dict[str, Any]) -> str:
    """Returns JSON with the schema version."""
    return json.dumps({"schema": SCHEMA, **content}, indent=1) + "\n"


def read_document(path: Path) -> dict[str, Any]:
    """Reads the JSON of document(). Raises TerraceError if it is missing or of another version."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TerraceError(f"{path} cannot be read ({error}): remove it and run again") from error
    if content.get("schema") != SCHEMA:
        raise TerraceError(
            f"{path} has schema {content.get('schema')}, this Terrace reads schema {SCHEMA}: "
            "name another folder with --output"
        )
    return content


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file atomically; creates its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    output.write_whole(path, content)


def unique(cells: Sequence[Cell]) -> list[Cell]:
    """Removes duplicates: figures share questions."""
    return list(dict.fromkeys(cells))
