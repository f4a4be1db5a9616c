# SPDX-License-Identifier: Apache-2.0
"""Reads plans of stencil chains, written with `TERRACE_STENCIL=plans=FILE` (docs/reference/stencils.md), for
`terrace show` and `terrace report`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from terrace.errors import TerraceError, WrongCallError
from terrace.store.checked import Checked

KIND, SCHEMA = "terrace stencil plans", 1
_HEAD_BYTES = 4096
_FAR = 1 << 40  # limit of coordinates
_MAX_TILES = 1 << 20
_MAX_PARTS = 1 << 24  # loops x tiles in a dimension; pictures and tables need memory for each
_MAX_CHUNKS, _MAX_BYTES = 1 << 31, 1 << 30
_ACCESSES = ("read", "write", "read_write", "increment")

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Range:
    """Points in [begin, end) in x, y and z."""

    begin: Three
    end: Three

    def length(self, d: int) -> int:
        """Returns the length in a dimension."""
        return max(self.end[d] - self.begin[d], 0)

    @property
    def points(self) -> int:
        """Returns the number of points."""
        return self.length(0) * self.length(1) * self.length(2)


@dataclass(frozen=True)
class Dataset:
    """A dataset; `element` is in bytes."""

    name: str
    block: int
    element: int
    range: Range
    is_temporary: bool


@dataclass(frozen=True)
class Argument:
    """A loop's access to a dataset; `low` and `high` are the extreme offsets of its reads."""

    dataset: int
    access: str
    low: Three
    high: Three
    offsets: int

    @property
    def reads(self) -> bool:
        """Returns whether previous values are read."""
        return self.access != "write"

    @property
    def writes(self) -> bool:
        """Returns whether values are written."""
        return self.access != "read"


@dataclass(frozen=True)
class Loop:
    """A loop of a chain."""

    name: str
    range: Range
    arguments: list[Argument]
    reductions: int


@dataclass(frozen=True)
class Step:
    """Tiles of a streamed chain, with chunk counts according to the plan.

    Chunks used for the first time are `needed` (values are read from the file) or `new`. Chunks used for the last
    time are `written` (in this or an earlier step) or `dropped`. `held` counts all chunks between first and last
    use.
    """

    first_tile: int
    last_tile: int  # exclusive
    needed: int
    new: int
    written: int
    dropped: int
    held: int


@dataclass(frozen=True)
class Moves:
    """Chunks moved while a step ran, total of all runs."""

    fetched: int
    cleared: int
    admitted: int
    stored: int


@dataclass(frozen=True)
class Stream:
    """Streaming schedule of a chain. `moves` has one element more than `steps`, for moves after the last step."""

    dimension: int
    chunk: int  # bytes
    frames: int
    most_chunks: int
    steps: list[Step]
    moves: list[Moves]


@dataclass(frozen=True)
class Plan:
    """Tiles of a chain. `edges` has by dimension and loop the lead at the cuts between tiles, as runs of (tiles,
    points ahead); empty without cuts."""

    runs: int
    seconds: float
    size: Three
    tiles: Three
    reversed: tuple[bool, bool, bool]
    skew: Three
    range: Range
    edges: list[list[list[tuple[int, int]]]]
    stream: Stream | None

    def cuts(self, loop: Loop, number: int, d: int) -> list[int]:
        """Returns where the parts of a loop begin, by tile, and where the last one ends.

        The sequence is descending if tiles run backwards.
        """
        low, high, first = loop.range.begin[d], loop.range.end[d], self.range.begin[d]
        if self.reversed[d]:
            low, high, first = -high, -low, -self.range.end[d]
        found = [low]
        for many, ahead in self.edges[d][number] if self.edges[d] else ():
            for _ in range(many):
                found.append(min(max(first + len(found) * self.size[d] + ahead, low), high))
        found.append(high)
        return [-cut for cut in found] if self.reversed[d] else found


@dataclass(frozen=True)
class Chain:
    """Loops that ran as one chain, and their tilings."""

    block: int
    runs: int
    seconds: float
    loops: list[Loop]
    plans: list[Plan]


@dataclass(frozen=True)
class Plans:
    """Contents of a plans file. `left_out` counts runs of chains that the file omits."""

    executor: str
    memory: int
    blocks: list[str]
    datasets: list[Dataset]
    left_out: int
    chains: list[Chain]


def is_plans(path: Path) -> bool:
    """Returns whether the file contains plans, even if another program has reformatted it.

    Raises WrongCallError for an empty file, which may have been intended for plans.
    """
    if not path.is_file():
        return False
    try:
        if path.stat().st_size == 0:
            raise WrongCallError(
                f"{path} is empty: neither `terrace record` nor a stencil program (TERRACE_STENCIL=plans=FILE) "
                "has written it; let the program terminate normally"
            )
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            return head.lstrip().startswith(b"{") and f'"{KIND}"'.encode() in head + file.read()
    except OSError:
        return False


def read(path: Path) -> Plans:
    """Reads a file. Raises WrongCallError for another schema, TerraceError if it is damaged."""
    try:
        document = Checked(json.loads(path.read_bytes()), "", str(path))
    except (ValueError, RecursionError) as error:
        raise TerraceError(f"{path} is damaged: {error or 'it is not JSON'}") from error
    schema = document["schema"].whole()
    if schema != SCHEMA:
        raise WrongCallError(
            f"{path} has stencil plans of schema {schema}, this Terrace reads schema {SCHEMA}; "
            "run the stencil program again"
        )
    blocks = [block["name"].text() for block in document["blocks"]]
    datasets = [_dataset(one, len(blocks)) for one in document["datasets"]]
    return Plans(
        executor=document["executor"].text(),
        memory=document["memory"].whole(),
        blocks=blocks,
        datasets=datasets,
        left_out=document["left_out"].whole(),
        chains=[_chain(one, blocks, datasets) for one in document["chains"]],
    )


def _range(of: Checked) -> Range:
    return Range(of["begin"].three(-_FAR, _FAR), of["end"].three(-_FAR, _FAR))


def _dataset(one: Checked, blocks: int) -> Dataset:
    return Dataset(
        name=one["name"].text(),
        block=one["block"].whole(0, blocks - 1),
        element=one["element"].whole(1, _MAX_BYTES),
        range=_range(one),
        is_temporary=one["is_temporary"].truth(),
    )


def _chain(one: Checked, blocks: list[str], datasets: list[Dataset]) -> Chain:
    loops = [_loop(loop, len(datasets)) for loop in one["loops"]]
    if not loops:
        one["loops"].fail("a list that has a loop")
    return Chain(
        block=one["block"].whole(0, len(blocks) - 1),
        runs=one["runs"].whole(1),
        seconds=one["seconds"].number(),
        loops=loops,
        plans=[_plan(plan, loops) for plan in one["plans"]],
    )


def _loop(one: Checked, datasets: int) -> Loop:
    arguments = [
        Argument(
            dataset=argument["dataset"].whole(0, datasets - 1),
            access=argument["access"].text(_ACCESSES),
            low=argument["low"].three(-_FAR, _FAR),
            high=argument["high"].three(-_FAR, _FAR),
            offsets=argument["offsets"].whole(),
        )
        for argument in one["arguments"]
    ]
    return Loop(one["name"].text(), _range(one), arguments, one["reductions"].whole())


def _plan(one: Checked, loops: list[Loop]) -> Plan:
    x, y, z = (item.truth() for item in one["reversed"].items(3))
    tiles = one["tiles"].three(1, _MAX_TILES)
    return Plan(
        runs=one["runs"].whole(1),
        seconds=one["seconds"].number(),
        size=one["size"].three(0, _FAR),
        tiles=tiles,
        reversed=(x, y, z),
        skew=one["skew"].three(-_FAR, _FAR),
        range=_range(one),
        edges=[_edges(of, many, len(loops)) for of, many in zip(one["edges"].items(3), tiles, strict=True)],
        stream=_stream(one["stream"], tiles) if one.has("stream") else None,
    )


def _edges(of_dimension: Checked, tiles: int, loops: int) -> list[list[tuple[int, int]]]:
    """Reads by loop the lead over the cuts between tiles, as runs of (tiles, points)."""
    if tiles * loops > _MAX_PARTS:
        of_dimension.fail(f"of at most {_MAX_PARTS} parts, which can be shown")
    found = []
    for of_loop in of_dimension.items(loops if tiles > 1 else 0):
        runs = []
        for run in of_loop:
            many, ahead = run.items(2)
            runs.append((many.whole(1, tiles), ahead.whole(-_FAR, _FAR)))
        if sum(many for many, _ in runs) != tiles - 1:
            of_loop.fail(f"runs of {tiles - 1} tiles together")
        found.append(runs)
    return found


def _stream(one: Checked, tiles: Three) -> Stream:
    """Reads the steps and the moves of a streamed plan."""
    dimension = one["dimension"].whole(0, 2)
    steps, first = [], 0
    for step in one["steps"]:
        last = step["last_tile"].whole(first + 1, tiles[dimension])
        counts = {key: step[key].whole(0, _MAX_CHUNKS) for key in ("needed", "new", "written", "dropped", "held")}
        steps.append(Step(first_tile=step["first_tile"].whole(first, first), last_tile=last, **counts))
        first = last
    if first != tiles[dimension]:
        one["steps"].fail(f"steps of {tiles[dimension]} tiles together")
    moves = [
        Moves(**{key: move[key].whole(0, _MAX_CHUNKS) for key in ("fetched", "cleared", "admitted", "stored")})
        for move in one["moved"].items(len(steps) + 1)
    ]
    return Stream(
        dimension=dimension,
        chunk=one["chunk"].whole(1, _MAX_BYTES),
        frames=one["frames"].whole(0, _MAX_CHUNKS),
        most_chunks=one["most_chunks"].whole(0, _MAX_CHUNKS),
        steps=steps,
        moves=moves,
    )
