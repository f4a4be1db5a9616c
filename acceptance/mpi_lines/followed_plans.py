# SPDX-License-Identifier: Apache-2.0
"""Compares the plan files of a job's ranks with what `terrace run --plan` did.

These are the plan in each rank's profile, and the places at which the chunks of its objects were. Chunks that the
plan places have to be there at some time, and all others in slow memory at some time: a trial suspends the plan.
"""

from __future__ import annotations

import json
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Part = tuple[str, int, str]  # an object's name, one of its chunks, and a place or a kind of places


@dataclass
class Followed:
    """How a rank followed its plan file."""

    rank: int
    is_adopted: bool = False  # the profile has the plan with the parts of the file
    chunks: int = 0  # with pages, of the plan's objects
    placed: int = 0  # of these, chunks that were where the plan has them at some time
    planned: int = 0  # of these, chunks that the plan has in fast memory

    @property
    def holds(self) -> bool:
        return self.is_adopted and self.chunks == self.placed > 0


def _numbers(ranges: str) -> Iterator[int]:
    """Yields the numbers of "0-6, 63"."""
    for one in ranges.split(","):
        first, _, last = one.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


def read_plan_file(path: Path) -> set[Part]:
    """Returns the parts that a plan file places."""
    found: set[Part] = set()
    for one in tomllib.loads(path.read_text(encoding="utf-8")).get("object", []):
        if "place" in one:
            found |= {(one["name"], chunk, one["place"]) for chunk in range(one.get("chunks", 1))}
        for place, ranges in one.get("parts", {}).items():
            found |= {(one["name"], chunk, place) for chunk in _numbers(ranges)}
    return found


@dataclass
class _Given:
    """The plan that a process was given, as its profile has it."""

    parts: set[Part]
    objects: set[str]
    fast: set[str]  # names or kinds of places with a budget


def _given(database: sqlite3.Connection, run: int) -> _Given | None:
    plan = database.execute(
        "SELECT id, budget FROM plan WHERE run = ? AND why = 'given by --plan' ORDER BY at", (run,)
    ).fetchone()
    if plan is None:
        return None
    rows = database.execute(
        "SELECT name, first, plan_part.chunks, place FROM plan_part JOIN plan_object USING (plan, object) "
        "WHERE plan = ?",
        plan[:1],
    )
    names = database.execute("SELECT name FROM plan_object WHERE plan = ?", plan[:1])
    return _Given(
        {(name, chunk, place) for name, first, chunks, place in rows for chunk in range(first, first + chunks)},
        {name for (name,) in names},
        {word.partition("=")[0] for word in json.loads(plan[1])},
    )


def _visited(database: sqlite3.Connection, run: int) -> dict[tuple[str, int], list[set[str]]]:
    """Returns name and kind of each place where a chunk of an object was. Chunks without pages have no entry."""
    names = {
        place: {name, kind}
        for place, name, kind in database.execute(
            "SELECT id, name, kind FROM place WHERE machine = (SELECT machine FROM run WHERE id = ?)",
            (run,),
        )
    }
    found: dict[tuple[str, int], list[set[str]]] = {}
    for table, column, condition in (("object_place", "place", ""), ("move", "target", "AND NOT refused")):
        for name, first, chunks, place in database.execute(
            f"SELECT name, first, {table}.chunks, {column} FROM {table} JOIN object "
            f"ON object.run = {table}.run AND object.id = {table}.object WHERE {table}.run = ? {condition}",
            (run,),
        ):
            for chunk in range(first, first + chunks):
                found.setdefault((name, chunk), []).append(names[place])
    return found


def follow(profile: Path, plans: Path) -> list[Followed]:
    """Compares each rank of a profile with its file in the folder of plans."""
    results = []
    with closing(sqlite3.connect(profile)) as database:
        # A rank's last process has most phases: earlier ones started it.
        runs = dict(
            database.execute(
                "SELECT rank, id FROM run WHERE rank IS NOT NULL ORDER BY "
                "(SELECT count(*) FROM phase_instance WHERE run = run.id)"
            ).fetchall()
        )
        for rank, run in sorted(runs.items()):
            one = Followed(rank)
            results.append(one)
            given, file = _given(database, run), plans / f"rank-{rank}.toml"
            if given is None or not file.exists():
                continue
            one.is_adopted = given.parts == read_plan_file(file)
            wanted = {(name, chunk): place for name, chunk, place in given.parts}
            for key, places in _visited(database, run).items():
                if key[0] in given.objects:
                    one.chunks += 1
                    one.planned += key in wanted
                    if key in wanted:
                        one.placed += any(wanted[key] in place for place in places)
                    else:
                        one.placed += any(not place & given.fast for place in places)
    return results
