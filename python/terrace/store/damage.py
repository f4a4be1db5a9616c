# SPDX-License-Identifier: Apache-2.0
"""Detects damage in a profile store that queries would not notice: pages, text, types, ranges and references.
opened.py checks every file by it."""

import math
import sqlite3
from collections.abc import Iterator

# Limits of plausible values: bytes of an address space, and event counts of a process's lifetime.
_MAX_INTEGER, _MAX_REAL, _MAX_CHUNKS = 1 << 62, 1e20, 1 << 31

# Columns of counts, sizes, indices or amounts, none of which is negative.
_NOT_NEGATIVE = frozenset(
    (
        "size", "chunk_size", "first_chunk", "chunks", "first", "capacity", "granule", "line", "cores", "latency",
        "read", "write", "bandwidth", "instruction_time", "frequency_hz", "phase", "chunk", "read_lines",
        "write_lines", "samples", "samples_with_access", "time", "core", "bandwidth_time", "exposure", "number",
        "iterations",
        "observed", "accesses", "misses", "unseen", "dropped", "hit_time", "pure_miss_time", "position", "object",
    )
)  # fmt: skip

# Queries that find rows contradicting other tables.
_REFERENCES = (
    (
        "cell.phase",
        "SELECT 1 FROM (SELECT DISTINCT iteration, phase FROM cell) LEFT JOIN phase USING (iteration, phase) "
        "WHERE phase.name IS NULL LIMIT 1",
    ),
    ("phase.phase", "SELECT 1 FROM phase GROUP BY iteration HAVING max(phase) <> count(*) - 1 LIMIT 1"),
    (
        "object.chunks",
        "SELECT 1 FROM object WHERE chunks > 0 AND (chunk_size = 0 OR chunks - 2 > size / chunk_size) LIMIT 1",
    ),
    (
        "chunk_place.chunks",
        "SELECT 1 FROM chunk_place JOIN iteration ON iteration.id = iteration GROUP BY run "
        "HAVING max(first + chunks) > "
        "(SELECT max(first_chunk + chunks) FROM object WHERE object.run = iteration.run) LIMIT 1",
    ),
    ("run.initiator", "SELECT 1 FROM run WHERE machine NOT NULL AND initiator NOT IN "
     "(SELECT id FROM initiator WHERE initiator.machine = run.machine) LIMIT 1"),
    *((f"{table}.{column}", f"SELECT 1 FROM {table} GROUP BY {by} HAVING min({column}) <> 0 "
       f"OR max({column}) <> count(*) - 1 LIMIT 1")
      for table, column, by in (("place", "id", "machine"), ("initiator", "id", "machine"),
                                ("domain", "id", "machine"), ("plan_object", "object", "plan"))),
    *((f"{table}.{column}", f"SELECT 1 FROM {table} LEFT JOIN {of} ON {of}.machine = {table}.machine AND "
       f"{of}.id = {table}.{column} WHERE {of}.id IS NULL LIMIT 1")
      for table, column, of in (("place", "domain", "domain"), ("initiator", "domain", "domain"),
                                ("domain", "home", "place"), ("path", "place", "place"),
                                ("path", "initiator", "initiator"), ("copy", "source", "place"),
                                ("copy", "target", "place"))),
    *((f"{table}.object", f"SELECT 1 FROM {table} LEFT JOIN plan_object USING (plan, object) "
       "WHERE plan_object.name IS NULL LIMIT 1") for table in ("plan_part", "plan_move")),
)  # fmt: skip

# Columns that contain a JSON list.
_LISTS = (("run", "arguments"), ("plan", "budget"), ("plan", "phases"))


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Returns what is damaged and where, or None. Raises sqlite3.DatabaseError if SQLite itself detects damage."""
    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        return str(said)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for found in _damaged_columns(connection, table):
            return found
    for table, column in _LISTS:
        wrong = f"SELECT 1 FROM {table} WHERE NOT json_valid({column}) OR json_type({column}) <> 'array' LIMIT 1"
        if table in tables and connection.execute(wrong).fetchone():
            return f"{table}.{column} is not a list"
    if "run" in tables and connection.execute("SELECT count(*) FROM run").fetchone() == (0,):
        return "run contains no process"
    for table, _, referenced, _ in connection.execute("PRAGMA foreign_key_check"):
        if referenced == "run":
            return f"{table} refers to processes that are missing in run"
    for column, query in _REFERENCES:
        if column.split(".")[0] in tables and connection.execute(query).fetchone():
            return f"{column} contradicts other tables"
    return None


def _damaged_columns(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """Yields columns of a table with values of a wrong type or out of range."""
    columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    numbers = [(name, kind) for _, name, kind, *_ in columns if kind in ("INTEGER", "REAL")]
    if numbers:
        # SQLite orders numbers before text before blobs: the extremes reveal wrong types as well as wrong values.
        extremes = ", ".join(f'min("{name}"), max("{name}")' for name, _ in numbers)
        row = connection.execute(f'SELECT {extremes} FROM "{table}"').fetchone()
        for i, (name, kind) in enumerate(numbers):
            for value in row[2 * i : 2 * i + 2]:
                if value is not None and (wrong := _wrong_number(name, kind, value)):
                    yield f"{table}.{name} is {wrong}"
    for _, name, kind, *_ in columns:
        if kind == "TEXT":
            yield from _damaged_text(connection, table, name)


def _wrong_number(name: str, kind: str, value: object) -> str | None:
    """Returns what is wrong with a number of a column, or None."""
    if not isinstance(value, int | float) or (kind == "INTEGER" and not isinstance(value, int)):
        return f"not {'an integer' if kind == 'INTEGER' else 'a number'}"
    if not math.isfinite(value) or abs(value) > (_MAX_INTEGER if kind == "INTEGER" else _MAX_REAL):
        return f"{value:g}"
    if value < 0 and name in _NOT_NEGATIVE:
        return f"negative: {value:g}"
    if name in ("first_chunk", "chunks", "first") and value > _MAX_CHUNKS:
        return f"{value}, more chunks than a process can have"
    return None


def _damaged_text(connection: sqlite3.Connection, table: str, column: str) -> Iterator[str]:
    """Yields what is wrong with the texts of a column."""
    wrong_type = f"SELECT 1 FROM \"{table}\" WHERE typeof(\"{column}\") NOT IN ('text', 'null') LIMIT 1"
    if connection.execute(wrong_type).fetchone():
        yield f"{table}.{column} is not text"
    for (raw,) in connection.execute(f'SELECT DISTINCT CAST("{column}" AS BLOB) FROM "{table}"'):
        try:
            (raw or b"").decode()
        except UnicodeDecodeError:
            shown = raw[:40].decode(errors="replace")
            yield f"{table}.{column} contains text that is not UTF-8: '{shown}'"
