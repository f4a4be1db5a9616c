"""Draws random plans that can be executed: random initial places, random moves, the budget kept at every instant.
properties.py compares their times with the lower bound.

Half of the draws know nothing; the others prefer chunks with much traffic, in the whole iteration or in the phases
that come next, so that good plans are among them. Moves are made in the order in which they are asked for, so what
fits in that order fits at every instant, a copy counting on both sides.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import query
from terrace import _core
from terrace.store.reader import Store

MAX_MOVES = 300  # an iteration


@dataclass(frozen=True)
class Chunk:
    """A part of an object: its number in it, of how many, and its bytes."""

    object: str
    number: int
    of: int
    size: int


class PlanInput:
    """Input of plans for a recorded program: phases, chunks, and their traffic in cache lines [chunk, phase]."""

    def __init__(self, store: Path) -> None:
        kept = Store(store)
        run = kept.run()
        loop = kept.loop(run)
        assert loop is not None
        self.phases = [phase.name for phase in kept.profile(run, exact=True).phases]
        self.chunks: list[Chunk] = []
        row_of: dict[int, int] = {}
        for one in kept.objects(run):
            if one.born > loop.begun or (one.died is not None and one.died <= loop.begun):
                continue
            for number in range(one.chunks):
                row_of[one.first_chunk + number] = len(self.chunks)
                size = min(one.chunk_size, one.size - number * one.chunk_size)
                self.chunks.append(Chunk(one.name, number, one.chunks, size))
        self.traffic = np.zeros((len(self.chunks), len(self.phases)))
        rows = query(
            store,
            "SELECT chunk, phase, read_lines + write_lines + exposure FROM cell "
            "WHERE iteration = (SELECT max(id) FROM iteration WHERE exact)",
        )
        for chunk, phase, lines in rows:
            if chunk in row_of and phase < len(self.phases):
                self.traffic[row_of[chunk], phase] += lines
        self.footprint = sum(chunk.size for chunk in self.chunks)


class _Draw:
    """One plan in the making: what is in fast memory after the moves so far, and the moves."""

    def __init__(self, ground: PlanInput, fast: int, dice: random.Random) -> None:
        self._ground, self._fast, self._dice = ground, fast, dice
        self._greed = dice.choice((0.0, 0.0, 1.0, 3.0))
        self._window = dice.choice((1, 4, 16, len(ground.phases)))
        self._held = 0
        self._inside: set[int] = set()
        self.moves: list[tuple[int, str, int, int | None]] = []
        whole = ground.traffic.sum(axis=1)
        self._fill(self._order(whole), dice.random() if dice.random() < 0.5 else 1.0)
        self.initial = sorted(self._inside)
        for phase in sorted(dice.randrange(len(ground.phases)) for _ in range(self._number())):
            self._step(phase)
        self._return()

    def _number(self) -> int:
        return int(MAX_MOVES ** self._dice.random()) - 1

    def _order(self, traffic: np.ndarray) -> list[int]:
        """Returns all chunks, drawn without replacement in proportion to a power of their traffic."""
        weight = (traffic + 1e-3 * max(traffic.max(), 1.0)) ** self._greed
        keys = {i: self._dice.random() ** (1.0 / w) if w > 0 else 0.0 for i, w in enumerate(weight / weight.max())}
        return sorted(keys, key=lambda i: -keys[i])

    def _fill(self, order: list[int], share: float) -> None:
        for i in order:
            size = self._ground.chunks[i].size
            if self._held + size <= self._fast * share:
                self._inside.add(i)
                self._held += size

    def _put(self, i: int, phase: int, need: int | None) -> None:
        self._inside.add(i)
        self._held += self._ground.chunks[i].size
        self.moves.append((i, "dram", phase, need))

    def _out(self, i: int, phase: int) -> None:
        self._inside.remove(i)
        self._held -= self._ground.chunks[i].size
        self.moves.append((i, "nvm", phase, None))

    def _step(self, phase: int) -> None:
        """Brings one chunk in, after as many others went out as it needs."""
        columns = [(phase + 1 + n) % len(self._ground.phases) for n in range(self._window)]
        order = self._order(self._ground.traffic[:, columns].sum(axis=1))
        wanted = next((i for i in order if i not in self._inside), None)
        if wanted is None or self._ground.chunks[wanted].size > self._fast:
            return
        for i in reversed(order):
            if self._held + self._ground.chunks[wanted].size <= self._fast:
                break
            if i in self._inside:
                self._out(i, phase)
        last = len(self._ground.phases) - 1
        need = self._dice.choice((None, phase, min(phase + 1, last), self._dice.randint(phase, last)))
        self._put(wanted, phase, need)

    def _return(self) -> None:
        """Restores the placement in which the iteration began."""
        last, before = len(self._ground.phases) - 1, set(self.initial)
        for i in sorted(self._inside - before):
            self._out(i, last)
        for i in sorted(before - self._inside):
            self._put(i, last, self._dice.choice((None, 0)))


def random_plan(ground: PlanInput, fast: int, dice: random.Random) -> str:
    """Returns the text of a random plan file, which keeps the budget at every instant."""
    draw = _Draw(ground, fast, dice)
    labels = _core.segment_labels(ground.phases)
    begun = [name for name in ground.phases if "@" not in name]
    lines = ["schema = 2", f"phases = {json.dumps(begun)}"]
    named = sorted({ground.chunks[i].object for i in [*draw.initial, *(move[0] for move in draw.moves)]})
    for name in named:
        parts = [ground.chunks[i] for i in draw.initial if ground.chunks[i].object == name]
        of = next(chunk.of for chunk in ground.chunks if chunk.object == name)
        lines += ["[[object]]", f"name = {json.dumps(name)}", f"chunks = {of}"]
        if parts:
            lines.append(
                f'parts = {{ dram = "{", ".join(str(n) for n in sorted(one.number for one in parts))}" }}'
            )
    for asked in sorted({move[2] for move in draw.moves}):
        lines += ["[[segment]]", f"name = {json.dumps(labels[asked])}", "moves = ["]
        for i, target, ask, need in draw.moves:
            chunk = ground.chunks[i]
            before = "" if need is None else f", before = {json.dumps(labels[need])}"
            if ask == asked:
                move = f'object = {json.dumps(chunk.object)}, chunks = "{chunk.number}", to = "{target}"{before}'
                lines.append(f"  {{ {move} }},")
        lines.append("]")
    lines += ["[internals]", "phase = [", *_segments(ground.phases, labels), "]"]
    return "\n".join(lines) + "\n"


def _segments(phases: list[str], labels: list[str]) -> list[str]:
    """Returns the beginnings of each phase's segments, in accesses."""
    rows: list[str] = []
    offsets: list[str] = []
    for name, label in reversed(list(zip(phases, labels, strict=True))):
        if "@" in name:
            offsets.insert(0, name.rpartition("@")[2])
            continue
        rows.insert(0, f"  {{ name = {json.dumps(label)}, segments = [{', '.join(offsets)}] }},")
        offsets = []
    return rows
