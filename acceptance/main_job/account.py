"""Where every chunk of a simulated run lay at every instant, from its store alone.

Objects say where their chunks lay at birth, moves say what went where and when. A transfer that is under way
counts on both places, from its beginning until it is done. Neighbours that went the same way are one row of
`move`; where such rows overlap in time, chunks that went in and out by turns, the order within them is that of the
plan, in which the one mover works. That it works one chunk at a time, and in that order, is checked against the
rows' times.
"""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Iterator
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
    iteration: int
    ask: int
    begun: float
    done: float


@dataclass
class Account:
    """What an audit of a store found; `most` is by place, in bytes."""

    most: dict[int, int]
    domains: set[int]  # of every place that a chunk lay on
    moves: int = 0  # chunks
    refused: int = 0  # chunks
    overlapping: int = 0  # rows that needed the plan's order
    problems: list[str] = field(default_factory=list)


class Audit:
    """One process of a store."""

    def __init__(self, store: Path, plan: Path | None = None) -> None:
        self._plan = plan  # that was given; one that was learned is in the store
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
        for move, chunk in self._in_order(moves, account):
            while ends and ends[0][1] <= move.begun:
                self._bury(ends.pop(0)[0], lies, held)
            size = self._size(move.object, chunk)
            if lies.get((move.object, chunk)) != move.source:
                account.problems.append(
                    f"{self._objects[move.object][0]} chunk {chunk} was not on the move's source"
                )
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
            "SELECT object, first, chunks, source, target, iteration, ask, begun, done FROM move "
            "WHERE NOT refused AND source <> target ORDER BY begun, id"
        )
        return [Transfer(*row) for row in rows]

    def _in_order(self, moves: list[Transfer], account: Account) -> Iterator[tuple[Transfer, int]]:
        """Every chunk of every transfer, in the order in which they were copied."""
        position = self._positions()
        group: list[Transfer] = []
        until = float("-inf")
        for move in [*moves, None]:
            if move is None or move.begun >= until - EPSILON:
                yield from self._group(group, position, account)
                group = []
            if move is not None:
                group.append(move)
                until = max(until, move.done)

    def _group(
        self, group: list[Transfer], position: dict[tuple[int, int, int, int], int], account: Account
    ) -> Iterator[tuple[Transfer, int]]:
        chunks = [(move, chunk) for move in group for chunk in range(move.first, move.first + move.chunks)]
        if len(group) > 1:
            account.overlapping += len(group)
            try:
                chunks.sort(
                    key=lambda one: (
                        one[0].iteration,
                        one[0].ask,
                        position[one[0].ask, one[0].object, one[1], one[0].target],
                        one[1],
                    )
                )
            except KeyError as missing:
                account.problems.append(f"a move that the plan does not have: {missing}")
                return
            copying = sum(move.done - move.begun for move in group)
            lasted = max(move.done for move in group) - group[0].begun
            if copying > lasted * (1 + 1e-9) + EPSILON:
                account.problems.append(f"{copying} s of copies within {lasted} s: two went on at once")
            self._check_times(chunks, account)
        yield from chunks

    def _check_times(self, chunks: list[tuple[Transfer, int]], account: Account) -> None:
        """A row's begun is its first chunk's, its done the last one's: in the order of copying both only rise."""
        before = float("-inf")
        for move, chunk in chunks:
            times = []
            if chunk == move.first:
                times.append(move.begun)
            if chunk == move.first + move.chunks - 1:
                times.append(move.done)
            for at in times:
                if at < before - EPSILON:
                    account.problems.append(
                        f"{self._objects[move.object][0]} chunk {chunk} was copied out of order"
                    )
                before = at

    def _positions(self) -> dict[tuple[int, int, int, int], int]:
        """(ask, object, chunk, target) to the place in the plan's queue."""
        numbers = {about[0]: identity for identity, about in self._objects.items()}
        (domain,) = self._one(
            "SELECT i.domain FROM run JOIN initiator i ON i.machine = run.machine AND i.id = run.initiator"
        )
        words: dict[str, int] = {}
        for identity, (name, kind, where) in self.places.items():
            if where == domain:
                words[name] = words[kind] = identity
        result: dict[tuple[int, int, int, int], int] = {}
        for name, parts, first, count, target, ask, at in self._planned():
            item = numbers.get(name)
            if item is None or parts != self._objects[item][3]:
                continue
            for chunk in range(first, first + count):
                result[ask, item, chunk, words[target]] = at
        return result

    def _planned(self) -> list[tuple]:
        """Object, its parts, first part, parts, target, ask, position of each move of the plan."""
        if self._plan is None:
            return self._all(
                "SELECT o.name, o.chunks, m.first, m.chunks, m.target, m.ask, m.position FROM plan_move m "
                "JOIN plan_object o ON o.plan = m.plan AND o.object = m.object"
            )
        text = tomllib.loads(self._plan.read_text())
        parts = {one["name"]: one.get("chunks", 1) for one in text.get("object", [])}
        rows = []
        for at, move in enumerate(text.get("move", [])):
            count = parts[move["object"]]
            span = move.get("chunks", f"0-{count - 1}")
            first, last = ([int(word) for word in span.split("-")] * 2)[:2]
            rows.append((move["object"], count, first, last - first + 1, move["to"], move["ask"], at))
        return rows

    def _size(self, item: int, chunk: int) -> int:
        _, size, chunk_size, _ = self._objects[item]
        return min(chunk_size, size - chunk * chunk_size)

    def _all(self, sql: str, *values: object) -> list[tuple]:
        return self._database.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: object) -> tuple:
        return self._all(sql, *values)[0]
