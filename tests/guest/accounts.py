"""Reads the kernel's page locations of a run (phase_audit.c) and the moves of its journal."""

from __future__ import annotations

import bisect
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

PAGE = 4096
NEAR, FAR = 0, 1  # the guest's nodes
NO_PLACE = 0xFFFF


@dataclass
class Sample:
    """Where the kernel had every page when terrace_phase() had just returned, or inside a phase. Times in ns of
    CLOCK_MONOTONIC."""

    iteration: int
    position: int
    name: str
    before: int
    after: int
    end: int
    starts: list[int] = field(repr=False)
    # First address, one past the last, node: -1 where the pages are on their way.
    runs: list[tuple[int, int, int]] = field(repr=False)
    inside: bool = False

    def nodes(self, low: int, high: int) -> Counter[int]:
        """Pages by node of [low, high)."""
        found: Counter[int] = Counter()
        at = max(bisect.bisect_right(self.starts, low) - 1, 0)
        while at < len(self.runs) and self.runs[at][0] < high:
            first, last, node = self.runs[at]
            pages = (min(last, high) - max(first, low)) // PAGE
            if pages > 0 and node >= 0:
                found[node] += pages
            at += 1
        return found

    def is_absent(self, address: int) -> bool:
        """Returns whether the kernel had no page there, not even one in flight."""
        at = bisect.bisect_right(self.starts, address) - 1
        return at < 0 or self.runs[at][1] <= address


def read_samples(path: Path) -> list[Sample]:
    """Returns the samples of one process, in their order."""
    samples: list[Sample] = []
    runs: list[tuple[int, int, int]] = []
    for line in path.read_text().splitlines():
        word, *rest = line.split()
        if word == "pages":
            first = int(rest[0], 16)
            runs.append((first, first + int(rest[1], 16) * PAGE, int(rest[2])))
        elif word in ("phase", "inside"):
            runs.sort()
            assert all(run[1] <= later[0] for run, later in pairwise(runs)), "the auditor met a page twice"
            iteration, position, name, before, after, end = rest
            samples.append(
                Sample(
                    int(iteration),
                    int(position),
                    name,
                    int(before),
                    int(after),
                    int(end),
                    [run[0] for run in runs],
                    runs,
                    word == "inside",
                )
            )
            runs = []
    return samples


@dataclass
class Object:
    """An object of the run, as the store has it."""

    id: int
    name: str
    kind: str
    size: int
    chunk_size: int
    chunks: int
    born: float
    died: float | None
    address: int
    places: list[int] = field(default_factory=list)  # by chunk, when it was born

    def range(self, chunk: int) -> tuple[int, int]:
        low = self.address + chunk * self.chunk_size
        return low, min(low + self.chunk_size, self.address + self.size)


@dataclass
class Move:
    """A transfer of one chunk, as the journal has it."""

    object: int
    chunk: int
    source: int
    target: int
    iteration: int
    size: int
    asked: float
    begun: float
    done: float
    refused: bool


@dataclass
class Run:
    """One process of a store."""

    planner: str
    backend: str
    ended: str | None
    whole: bool
    objects: list[Object]
    moves: list[Move]
    phases: dict[tuple[int, int], float]  # (iteration, position) -> begun
    place_of: dict[str, int]  # by name and by kind
    node_of: dict[int, int]  # by place
    notes: list[str]

    def living(self, at: float) -> list[Object]:
        return [one for one in self.objects if one.born <= at and (one.died is None or one.died > at)]


def _chunks(row: sqlite3.Row) -> range:
    """Returns the chunks of its object that a row of `move` names."""
    return range(row["first"], row["first"] + row["chunks"])


def read_run(path: Path, program: str) -> Run:
    """Returns the run of the process whose executable has this name and which had a main loop, or else the last
    such."""
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    run = next(
        iter(
            database.execute(
                "SELECT run.*, (SELECT COUNT(*) FROM phase_instance WHERE run = run.id) AS phases FROM run "
                "WHERE program LIKE ? ORDER BY phases DESC, id DESC",
                (f"%/{program}",),
            )
        )
    )
    places = list(
        database.execute("SELECT id, name, kind, numa_node FROM place WHERE machine = ?", (run["machine"],))
    )
    objects = [
        Object(*row)
        for row in database.execute(
            "SELECT id, name, kind, size, chunk_size, chunks, born, died, address FROM object "
            "WHERE run = ? ORDER BY id",
            (run["id"],),
        )
    ]
    by_id = {one.id: one for one in objects}
    for one in objects:
        one.places = [NO_PLACE] * one.chunks
    for row in database.execute(
        "SELECT object, first, chunks, place FROM object_place WHERE run = ?", (run["id"],)
    ):
        by_id[row["object"]].places[row["first"] : row["first"] + row["chunks"]] = [row["place"]] * row["chunks"]
    moves = []
    for row in database.execute("SELECT * FROM move WHERE run = ? ORDER BY done, id", (run["id"],)):
        sizes = [high - low for low, high in map(by_id[row["object"]].range, _chunks(row))]
        if row["size"] not in (0, sum(sizes)):
            raise ValueError(f"move {row['id']} has {row['size']} bytes, its chunks have {sum(sizes)}")
        moves += [
            Move(
                row["object"],
                row["first"] + i,
                row["source"],
                row["target"],
                row["iteration"],
                sizes[i] if row["size"] else 0,
                row["asked"],
                row["begun"],
                row["done"],
                bool(row["refused"]),
            )
            for i in range(row["chunks"])
        ]
    return Run(
        planner=run["planner"],
        backend=run["backend"],
        ended=run["how"],
        whole=bool(run["whole"]),
        objects=objects,
        moves=moves,
        phases={
            (row["iteration"], row["phase"]): row["begun"]
            for row in database.execute(
                "SELECT iteration, phase, begun FROM phase_instance WHERE run = ?", (run["id"],)
            )
        },
        place_of={row["kind"]: row["id"] for row in reversed(places)} | {row["name"]: row["id"] for row in places},
        node_of={row["id"]: row["numa_node"] for row in places},
        notes=[
            row["text"]
            for row in database.execute("SELECT text FROM note WHERE run = ? OR run IS NULL", (run["id"],))
        ],
    )
