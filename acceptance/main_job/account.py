"""Where every chunk of a simulated run lay at every instant, from its store alone.

Objects say where their chunks lay at birth, moves say what went where and when. A transfer that is under way
counts on both places, from its beginning until it is done. The one mover carries one at a time, which is checked
against the rows' times.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

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
class Account:
    """What an audit of a store found; `most` is by place, in bytes."""

    most: dict[int, int]
    domains: set[int]  # of every place that a chunk lay on
    moves: int = 0  # chunks
    refused: int = 0  # chunks
    problems: list[str] = field(default_factory=list)


class Audit:
    """One process of a store."""

    def __init__(self, store: Path) -> None:
        self._database = sqlite3.connect(store)
        (self._machine,) = self._one("SELECT machine FROM run")
        self.places = {
            row[0]: (row[1], row[2], row[3])
            for row in self._all("SELECT id, name, kind, domain FROM place WHERE machine = ?", self._machine)
        }
        self._objects = {
            row[0]: row[1:] for row in self._all("SELECT id, name, size, chunk_size, chunks FROM object")
        }
        self.notes = [row[0] for row in self._all("SELECT text FROM note")]

    def run(self) -> Account:
        """Plays the whole run; problems are texts."""
        held = dict.fromkeys(self.places, 0)
        account = Account(dict(held), set())
        lies: dict[tuple[int, int], int] = {}

        def hold(place: int, size: int) -> None:
            held[place] += size
            account.most[place] = max(account.most[place], held[place])
            account.domains.add(self.places[place][2])

        moves = self._transfers()
        (account.refused,) = self._one("SELECT COALESCE(SUM(chunks), 0) FROM move WHERE refused")
        begun = min((move.begun for move in moves), default=float("inf"))
        done = max((move.done for move in moves), default=float("-inf"))
        ends = self._all("SELECT id, died FROM object WHERE died IS NOT NULL ORDER BY died")
        births = self._all(
            "SELECT p.object, p.first, p.chunks, p.place, o.born FROM object_place p "
            "JOIN object o ON o.id = p.object AND o.run = p.run ORDER BY o.born"
        )
        # Who dies gives its room before the next transfer begins. Nothing is born here while data moves.
        for item, first, chunks, place, born in births:
            for dead, died in [*ends]:
                if died <= born:
                    self._bury(dead, lies, held)
                    ends.remove((dead, died))
            if begun < born < done:
                account.problems.append(f"{self._objects[item][0]} was born while data moved: not accounted for")
            for chunk in range(first, first + chunks):
                lies[item, chunk] = place
                hold(place, self._size(item, chunk))
        busy_until = float("-inf")
        for move in moves:
            while ends and ends[0][1] <= move.begun:
                self._bury(ends.pop(0)[0], lies, held)
            name = self._objects[move.object][0]
            if move.begun < busy_until - EPSILON:
                account.problems.append(f"{name} chunk {move.first} was copied while another was")
            busy_until = max(busy_until, move.done)
            for chunk in range(move.first, move.first + move.chunks):
                size = self._size(move.object, chunk)
                if lies.get((move.object, chunk)) != move.source:
                    account.problems.append(f"{name} chunk {chunk} was not on the move's source")
                account.moves += 1
                hold(move.target, size)  # on both from here ...
                held[move.source] -= size  # ... to here
                lies[move.object, chunk] = move.target
        return account

    def _bury(self, item: int, lies: dict[tuple[int, int], int], held: dict[int, int]) -> None:
        for chunk in range(self._objects[item][3]):
            place = lies.pop((item, chunk), None)
            if place is not None:
                held[place] -= self._size(item, chunk)

    def _transfers(self) -> list[Transfer]:
        rows = self._all(
            "SELECT object, first, chunks, source, target, begun, done FROM move "
            "WHERE NOT refused AND source <> target ORDER BY begun, id"
        )
        return [Transfer(*row) for row in rows]

    def _size(self, item: int, chunk: int) -> int:
        _, size, chunk_size, _ = self._objects[item]
        return min(chunk_size, size - chunk * chunk_size)

    def _all(self, sql: str, *values: object) -> list[tuple]:
        return self._database.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: object) -> tuple:
        return self._all(sql, *values)[0]
