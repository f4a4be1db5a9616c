"""Reconstructs where every chunk of a simulated run was at every instant, from its profile store alone. Criteria
of budgets (acceptance/main-job, acceptance/planning) check its result.

Objects say where their chunks were at birth, moves say what went where and when. A transfer that is under way
counts on both places, from its beginning until it is done. The one mover carries one at a time, which is checked
against the rows' times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from harness import query

EPSILON = 1e-15  # seconds: sums of times are equal up to their last digits


@dataclass(frozen=True)
class Transfer:
    """A row of `move` that was not refused."""

    object: int
    first: int
    chunks: int
    source: int
    target: int
    begun: float
    done: float


@dataclass
class AuditResult:
    """Findings of an audit of a store; `most` is the peak by place, in bytes."""

    most: dict[int, int]
    domains: set[int]  # of every place that a chunk was on
    moves: int = 0  # chunks
    refused: int = 0  # chunks
    problems: list[str] = field(default_factory=list)


Piece = tuple[int, int]  # an object and one of its chunks


class _Replay:
    """Tracks where each chunk is, event by event."""

    def __init__(self, account: AuditResult) -> None:
        self._account = account
        self._held = dict.fromkeys(account.most, 0)
        self._lies: dict[Piece, int] = {}
        self._leaves: list[tuple[int, int]] = []  # bytes that the transfer under way frees, and where
        self._busy_until = float("-inf")

    def bear(self, now: float, pieces: list[tuple[Piece, int]], place: int, domain: int) -> None:
        """Places new chunks on a place, as an object is allocated."""
        self._land(now)
        for piece, size in pieces:
            self._lies[piece] = place
            self._hold(place, domain, size)

    def bury(self, now: float, pieces: list[tuple[Piece, int]]) -> None:
        """Removes chunks, as their object is freed."""
        self._land(now)
        for piece, size in pieces:
            place = self._lies.pop(piece, None)
            if place is not None:
                self._held[place] -= size

    def carry(self, move: Transfer, pieces: list[tuple[Piece, int]], domain: int, name: str) -> None:
        """Begins a transfer: its bytes count on both places until it is done."""
        if move.begun < self._busy_until - EPSILON:
            self._account.problems.append(f"{name} chunk {move.first} was copied while another was")
        self._land(float("inf"))
        self._busy_until = move.done
        for piece, size in pieces:
            if self._lies.get(piece) != move.source:
                self._account.problems.append(f"{name} chunk {piece[1]} was not on the move's source")
            self._account.moves += 1
            self._hold(move.target, domain, size)
            self._leaves.append((size, move.source))
            self._lies[piece] = move.target

    def _land(self, now: float) -> None:
        """Completes the transfer under way, which frees its source."""
        if now < self._busy_until - EPSILON:
            return
        for size, place in self._leaves:
            self._held[place] -= size
        self._leaves.clear()

    def _hold(self, place: int, domain: int, size: int) -> None:
        self._held[place] += size
        self._account.most[place] = max(self._account.most[place], self._held[place])
        self._account.domains.add(domain)


class Audit:
    """One process of a store."""

    def __init__(self, store: Path) -> None:
        self._all = partial(query, store)
        (self._machine,) = self._one("SELECT machine FROM run")
        self.places = {
            row[0]: (row[1], row[2], row[3])
            for row in self._all("SELECT id, name, kind, domain FROM place WHERE machine = ?", self._machine)
        }
        self._objects = {
            row[0]: row[1:] for row in self._all("SELECT id, name, size, chunk_size, chunks FROM object")
        }
        self.notes = [row[0] for row in self._all("SELECT text FROM note")]

    def run(self) -> AuditResult:
        """Replays the births, moves and deaths of the whole run; problems are texts."""
        account = AuditResult(dict.fromkeys(self.places, 0), set())
        (account.refused,) = self._one("SELECT COALESCE(SUM(chunks), 0) FROM move WHERE refused")
        playing = _Replay(account)
        for _, _, event in sorted(self._events(playing), key=lambda event: event[:2]):
            event()
        return account

    def _events(self, playing: _Replay) -> Iterator[tuple[float, int, Callable[[], None]]]:
        """Yields each event with its time and its rank among simultaneous events. Objects that die free their
        space before others are born, and new objects take theirs before the next transfer begins."""
        transfers = self._transfers()
        for item, died in self._all("SELECT id, died FROM object WHERE died IS NOT NULL"):
            yield died, 0, partial(playing.bury, died, self._pieces(item, 0, self._objects[item][3]))
        births = self._all(
            "SELECT p.object, p.first, p.chunks, p.place, o.born FROM object_place p "
            "JOIN object o ON o.id = p.object AND o.run = p.run"
        )
        for item, first, chunks, place, born in births:
            yield (
                born,
                1,
                partial(playing.bear, born, self._pieces(item, first, chunks), place, self.places[place][2]),
            )
        for move in transfers:
            pieces = self._pieces(move.object, move.first, move.chunks)
            domain = self.places[move.target][2]
            yield move.begun, 2, partial(playing.carry, move, pieces, domain, self._objects[move.object][0])

    def _pieces(self, item: int, first: int, chunks: int) -> list[tuple[Piece, int]]:
        """Chunks with their bytes."""
        _, size, chunk_size, _ = self._objects[item]
        return [
            ((item, chunk), min(chunk_size, size - chunk * chunk_size)) for chunk in range(first, first + chunks)
        ]

    def _transfers(self) -> list[Transfer]:
        rows = self._all(
            "SELECT object, first, chunks, source, target, begun, done FROM move "
            "WHERE NOT refused AND source <> target ORDER BY begun, id"
        )
        return [Transfer(*row) for row in rows]

    def _one(self, sql: str, *values: object) -> tuple[Any, ...]:
        return self._all(sql, *values)[0]
