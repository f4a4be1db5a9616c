"""What a program's cost needs of a profile: how much memory it had at most, and how much the loop holds."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from others_tool.loops import Found

FEW_SAMPLES = 20  # fewer say nothing of the time: Terrace warns of none with fewer, either
_DATA = "('heap', 'mapping', 'fixed', 'common', 'named', 'small')"
_SPANS = (
    "SELECT min(begun), max(ended) FROM phase_instance WHERE run = ? AND loop = ? "
    "GROUP BY iteration ORDER BY iteration"
)
_LINES = (
    "SELECT sum(cell.read_lines) FROM iteration JOIN cell ON cell.iteration = iteration.id "
    "WHERE run = ? AND loop = ? AND exact GROUP BY iteration.id ORDER BY number"
)
# Up to a thousandth of the run.
_LASTS = (
    "SELECT loop.ended IS NULL OR loop.ended >= 0.999 * run.ended FROM loop JOIN run ON run.id = loop.run "
    "WHERE loop.run = ? AND loop.number = ?"
)


@dataclass(frozen=True)
class Covered:
    """Shares that hooked code has; None where they were not measured."""

    time: float | None
    heap: float | None


@dataclass(frozen=True)
class Taken:
    """A loop that was taken for the main loop, all its entries together; virtual seconds."""

    name: str
    seconds: float
    last_begun: float
    ended: float


class Profile:
    """A `.terrace` file of one process: that with the most accesses, where there are several."""

    def __init__(self, path: Path) -> None:
        """Opens it."""
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        (self._run,) = self._rows("SELECT run FROM counters ORDER BY accesses DESC LIMIT 1")[0]

    def footprint(self) -> int:
        """Bytes of data objects that were there at once, at most."""
        changes: list[tuple[float, int]] = []
        objects = f"SELECT born, died, size FROM object WHERE run = ? AND kind IN {_DATA}"
        for born, died, size in self._rows(objects, self._run):
            changes.append((born, size))
            if died is not None:
                changes.append((died, -size))
        now = most = 0
        for _, change in sorted(changes):
            now += change
            most = max(most, now)
        return most

    def share_of_time(self) -> float | None:
        """Of the virtual time after set-up, what the loop that was found holds; None without a loop. The turns
        before it was recognised are in it, each as long as the others' mean, if there was time for that."""
        (ended,) = self._rows("SELECT ended FROM run WHERE id = ?", self._run)[0]
        spans = {number: rows for number in self._loops() if (rows := self._rows(_SPANS, self._run, number))}
        if not spans or not ended:
            return None
        held, first = 0.0, float(ended)
        for number, rows in spans.items():
            turns = _held([end - begun for begun, end in rows], self._lasts(number))
            (before,) = self._rows(
                "SELECT turns_before FROM loop WHERE run = ? AND number = ?", self._run, number
            )[0]
            unrecognised = min(before * turns / len(rows), rows[0][0])
            held += turns + unrecognised
            first = min(first, rows[0][0] - unrecognised)
        return held / float(ended - first)

    def share_of_misses(self) -> float | None:
        """At least so much of the misses after set-up is in the loop: exact counters of its iterations, over all
        misses of the run, set-up included; None without a loop or without misses. Both are lines that were
        fetched, for loads and for stores; lines that are written back are in neither."""
        (misses,) = self._rows("SELECT misses FROM counters WHERE run = ?", self._run)[0]
        lines = {number: [row[0] for row in self._rows(_LINES, self._run, number)] for number in self._loops()}
        held = sum(_held(each, self._lasts(number)) for number, each in lines.items())
        return held / float(misses) if any(lines.values()) and misses else None

    def _lasts(self, number: int) -> bool:
        """Whether a loop ends with the run."""
        (last,) = self._rows(_LASTS, self._run, number)[0]
        return bool(last)

    def _loops(self) -> list[int]:
        return [number for (number,) in self._rows("SELECT number FROM main_loop WHERE run = ?", self._run)]

    def loop(self) -> Found:
        """The main loop that was found; its turns are those of all the times that it was entered."""
        rows = self._rows(
            "SELECT name, why, sum(turns_before + coalesce(iterations, 0)) FROM main_loop WHERE run = ? "
            "GROUP BY name ORDER BY 3 DESC LIMIT 1",
            self._run,
        )
        return Found(*rows[0]) if rows else Found("", "", 0)

    def seconds_in_loop(self) -> float | None:
        """Virtual ones, of the main loop; None without one."""
        rows = self._rows("SELECT sum(ended - begun) FROM main_loop WHERE run = ?", self._run)
        return float(rows[0][0]) if rows and rows[0][0] is not None else None

    def taken(self) -> list[Taken]:
        """What was taken for a main loop, if only for a while; what did not end is left out."""
        columns = "name, sum(ended - begun), max(begun), max(ended)"
        rows = self._rows(f"SELECT {columns} FROM loop WHERE run = ? AND ended NOT NULL GROUP BY name", self._run)
        return [Taken(*row) for row in rows]

    def first_turn(self) -> float:
        """About when the first turn of the main loop began, before it was recognised; it has to have one."""
        begun, ended, turns, before = self._rows(
            "SELECT begun, ended, iterations, turns_before FROM main_loop WHERE run = ? ORDER BY begun LIMIT 1",
            self._run,
        )[0]
        return float(begun - before * (ended - begun) / max(turns, 1))

    def last_turn(self) -> float:
        """When the main loop's last turn ended; it has to have one."""
        return float(self._rows("SELECT max(ended) FROM main_loop WHERE run = ?", self._run)[0][0])

    def names_of_loops(self) -> list[str]:
        """Of loops, and of functions that may have one: what was taken for the main loop, its phases, each
        from the longest to the shortest, and what makes objects."""
        longest = "WHERE run = ? GROUP BY name ORDER BY sum(ended - begun) DESC"
        loops = self._rows(f"SELECT name FROM loop {longest}", self._run)
        phases = self._rows(f"SELECT name FROM phase_instance {longest}", self._run)
        made = "SELECT name FROM object WHERE run = ? AND kind IN ('heap', 'mapping') ORDER BY size DESC"
        makers = [name.rpartition(" ")[0] for (name,) in self._rows(made, self._run)]
        names = [*(name for (name,) in loops), *(name.partition("#")[0] for (name,) in phases), *makers]
        return list(dict.fromkeys(name for name in names if name))

    def coverage(self) -> Covered:
        """Shares of time and heap that code with hooks has."""
        columns = "not_sampled, samples, time_share, heap, heap_uncovered"
        rows = self._rows(f"SELECT {columns} FROM coverage WHERE run = ?", self._run)
        if not rows:
            return Covered(None, None)
        not_sampled, samples, time, heap, uncovered = rows[0]
        enough = not not_sampled and samples >= FEW_SAMPLES and time is not None
        return Covered(1 - time if enough else None, 1 - uncovered / heap if heap else None)

    def seconds(self) -> float:
        """Virtual ones, of the whole run."""
        return float(self._rows("SELECT ended FROM run WHERE id = ?", self._run)[0][0] or 0.0)

    def _rows(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        return self._connection.execute(sql, values).fetchall()


def _held(iterations: list[float], lasts: bool) -> float:
    """What the iterations of a loop hold. Where the end of a loop is not noticed, its last iteration goes on to
    the end of the run, so that the loop `lasts`; it then counts as the longest of the others at most."""
    others = iterations[:-1]
    return sum(others) + min(iterations[-1], max(others)) if others and lasts else sum(iterations)
