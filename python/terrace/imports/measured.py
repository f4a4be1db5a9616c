# SPDX-License-Identifier: Apache-2.0
"""Holds measurements of any tool (objects, and their accesses in each phase), and writes them as a profile.
`terrace import` fills it.

They are written as a profile through the library's journal, so that every subcommand can read them.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError

PAGE = 4096
MAX_CHUNKS = 64  # per object
_MIN_CHUNK = 64 << 10


class DamagedError(TerraceError):
    """A file that cannot be parsed in its claimed format."""


class OtherKindError(DamagedError):
    """A file of another format: the user probably named the wrong file."""

    status = WrongCallError.status


@dataclass
class Object:
    """A named piece of the program's data."""

    name: str
    kind: str
    size: int
    address: int = 0

    @property
    def chunk_size(self) -> int:
        """Returns whole pages, small enough that a part of the object can be placed."""
        wanted = max(-(-self.size // MAX_CHUNKS), _MIN_CHUNK)
        return -(-wanted // PAGE) * PAGE

    @property
    def chunks(self) -> int:
        """Returns the number of chunks."""
        return -(-self.size // self.chunk_size)


@dataclass
class Cell:
    """Accesses of a phase to a chunk: cache lines, exposed latencies, samples, squares of the samples' weights."""

    reads: float = 0
    writes: float = 0
    exposure: float = 0
    samples: float = 0
    squares: float = 0


@dataclass
class Phase:
    """A time interval of the run. Cells by object index and chunk; times in seconds since the start."""

    name: str
    begun: float
    ended: float
    core: float
    samples: float = 0
    unowned_lines: float = 0
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)

    def cell(self, which: int, chunk: int) -> Cell:
        """Returns the cell of a chunk, and creates it if necessary."""
        return self.cells.setdefault((which, chunk), Cell())


@dataclass
class Measured:
    """Measurements of one process."""

    process: int
    program: str
    arguments: Sequence[str]
    objects: list[Object]
    phases: list[Phase]
    loop: str
    notes: list[str]


def unique(names: Sequence[str]) -> list[str]:
    """Makes names unique as every profile does: the second occurrence becomes "name#2"."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in names:
        text = name
        while text in taken:
            counts[name] = counts.get(name, 1) + 1
            text = f"{name}#{counts[name]}"
        taken.add(text)
        result.append(text)
    return result


def write(measured: Measured, machine: _core.Machine, name: _core.ProfileName) -> str:
    """Writes the profile; returns the name of the file."""
    with tempfile.TemporaryDirectory(prefix="terrace-import-") as folder:
        journal = str(Path(folder) / "journal")
        _journal(measured, machine, journal)
        return _core.merge_journals([journal], name)


def _journal(measured: Measured, machine: _core.Machine, path: str) -> None:
    """Writes the measurements as a journal of the runtime, which is then merged into a profile."""
    writer = _core.ProfileWriter(path)
    writer.run(measured.process, measured.program, list(measured.arguments), machine)
    for note in measured.notes:
        writer.note("note", note)
    names = unique([one.name for one in measured.objects])
    first = [
        writer.object(name, one.kind, one.size, one.chunk_size, one.address)
        for name, one in zip(names, measured.objects, strict=True)
    ]
    writer.loop(measured.loop, measured.phases[0].begun)
    for phase in measured.phases:
        cells = dict(_by_chunk(phase.cells, first))
        with_access = min(sum(cell.samples for cell in cells.values()), phase.samples)
        writer.phase(
            phase.name,
            phase.begun,
            phase.ended,
            phase.core,
            phase.samples,
            with_access,
            phase.unowned_lines,
            list(cells),
            [cell.reads for cell in cells.values()],
            [cell.writes for cell in cells.values()],
            [cell.exposure for cell in cells.values()],
            [cell.samples for cell in cells.values()],
            [cell.squares for cell in cells.values()],
        )
    writer.end(measured.phases[-1].ended)


def _by_chunk(cells: Mapping[tuple[int, int], Cell], first: Sequence[int]) -> Iterator[tuple[int, Cell]]:
    yield from sorted(
        ((first[which] + chunk, cell) for (which, chunk), cell in cells.items()), key=lambda one: one[0]
    )
