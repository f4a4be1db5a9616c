"""Reads from a profile what others_tool.cost reports: the program's peak memory, and the main loop's share."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from others_tool.loops import MainLoop

FEW_SAMPLES = 20  # fewer say nothing of the time: Terrace warns of none with fewer, either
_DATA = "('heap', 'mapping', 'fixed', 'common', 'named', 'small')"
_LOOPS = (
    "SELECT misses_by_end - misses_before, misses_before, iterations, turns_before, ended - begun "
    "FROM main_loop WHERE run = ? AND ended NOT NULL"
)


@dataclass(frozen=True)
class Covered:
    """Shares that hooked code has; None where they were not measured."""

    time: float | None
    heap: float | None


@dataclass(frozen=True)
class TakenLoop:
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
        """Returns the peak bytes of data objects that existed at once."""
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
        """Returns the loop's share of the virtual time since its first iteration, or None without a loop."""
        rows = self._rows(
            "SELECT time, run.ended - begun FROM loop_time JOIN run ON run.id = loop_time.run "
            "WHERE run.id = ? AND name = ?",
            self._run,
            self.loop().name,
        )
        return float(rows[0][0] / rows[0][1]) if rows and rows[0][1] else None

    def share_of_misses(self) -> float | None:
        """Returns the loop's share of the run's cache misses since its first iteration, or None without a loop or
        without misses. Iterations before it was recognised count as the others' mean. Where the view bounds its
        last iteration, as its end was not noticed, the misses of that iteration count by its time."""
        held = unbounded = 0.0
        for misses, before, turns, turns_before, seconds in self._rows(_LOOPS, self._run):
            share = turns_before / max(turns, 1)
            held += misses + min(misses * share, before)
            unbounded += seconds * (1 + share)
        time = self._rows("SELECT time FROM loop_time WHERE run = ? AND name = ?", self._run, self.loop().name)
        since = self.misses_after_set_up()
        return held / since * min(time[0][0] / unbounded, 1.0) if since > 0 and unbounded > 0 else None

    def misses_after_set_up(self) -> int:
        """Returns the lines missed since the first iteration of the loop that was found; 0 without one."""
        (all_of_them,) = self._rows("SELECT misses FROM counters WHERE run = ?", self._run)[0]
        since = [
            all_of_them - before + min(misses * turns_before / max(turns, 1), before)
            for misses, before, turns, turns_before, _ in self._rows(_LOOPS, self._run)
        ]
        return round(max(since, default=0))

    def moves(self) -> int:
        """Transfers that were asked for."""
        return int(self._rows("SELECT count(*) FROM move WHERE run = ?", self._run)[0][0])

    def loop(self) -> MainLoop:
        """Returns the main loop that was found, with the iterations of all times that it was entered."""
        rows = self._rows(
            "SELECT name, why, sum(turns_before + coalesce(iterations, 0)) FROM main_loop WHERE run = ? "
            "GROUP BY name ORDER BY 3 DESC LIMIT 1",
            self._run,
        )
        return MainLoop(*rows[0]) if rows else MainLoop("", "", 0)

    def seconds_in_loop(self) -> float | None:
        """Returns the virtual seconds of the main loop, or None without one."""
        rows = self._rows("SELECT sum(ended - begun) FROM main_loop WHERE run = ?", self._run)
        return float(rows[0][0]) if rows and rows[0][0] is not None else None

    def taken(self) -> list[TakenLoop]:
        """Returns the loops that were taken for a main loop, if only for a while, without those that did not
        end."""
        columns = "name, sum(ended - begun), max(begun), max(ended)"
        rows = self._rows(f"SELECT {columns} FROM loop WHERE run = ? AND ended NOT NULL GROUP BY name", self._run)
        return [TakenLoop(*row) for row in rows]

    def first_turn(self) -> float:
        """Estimates when the first iteration of the main loop began, before it was recognised. Requires: a main
        loop."""
        begun, ended, turns, before = self._rows(
            "SELECT begun, ended, iterations, turns_before FROM main_loop WHERE run = ? ORDER BY begun LIMIT 1",
            self._run,
        )[0]
        return float(begun - before * (ended - begun) / max(turns, 1))

    def last_turn(self) -> float:
        """Returns when the main loop's last iteration ended. Requires: a main loop."""
        return float(self._rows("SELECT max(ended) FROM main_loop WHERE run = ?", self._run)[0][0])

    def names_of_loops(self) -> list[str]:
        """Returns the names of loops, and of functions that may have one: main loops and phases, each from the
        longest to the shortest, and functions that allocate objects."""
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
        """Returns the virtual seconds of the whole run."""
        return float(self._rows("SELECT ended FROM run WHERE id = ?", self._run)[0][0] or 0.0)

    def _rows(self, sql: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        return self._connection.execute(sql, values).fetchall()
