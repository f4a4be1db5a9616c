# SPDX-License-Identifier: Apache-2.0
"""Reads a profile store (docs/reference/store.md) into dataclasses, for all analysis subcommands. All computation
is in solve/."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from terrace.errors import TerraceError
from terrace.store import variation
from terrace.store.missing import LastCache, no_profile, why_no_loop, why_nothing_observed
from terrace.store.opened import damage_named, opened
from terrace.store.selection import select_run
from terrace.store.values import (
    BetweenIterations,
    Counters,
    Coverage,
    CoveredCode,
    Domain,
    Floats,
    Initiator,
    Level,
    Loop,
    LoopCandidate,
    Machine,
    MachinePath,
    Move,
    Moved,
    Node,
    Note,
    Object,
    PhaseInstance,
    Place,
    Plan,
    PlanMove,
    PlanObject,
    PlanPart,
    Profile,
    ProfiledPhase,
    Run,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_SHARES = (
    "WITH mean(iteration, share) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') "
    "FROM json_each(?))"
)
_PHASE_MEANS = (
    ", ".join(
        f"sum({column} * share) / sum(share)"
        for column in ("time", "core", "samples", "samples_with_access", "bandwidth_time")
    )
    + " FROM mean JOIN phase USING (iteration)"
)
_CELL_MEANS = (
    ", ".join(f"sum({column} * share)" for column in ("read_lines", "write_lines", "exposure", "samples"))
    + " FROM mean JOIN cell USING (iteration)"
)


class Store:
    """A `.terrace` file opened for reading."""

    def __init__(self, path: Path) -> None:
        """Opens the file, with the errors of opened()."""
        self.path = path
        self._connection = opened(path)

    def runs(self) -> list[Run]:
        """Returns all processes, in the order of their numbers in the file."""
        rows = self._all(
            "SELECT id, process, host, program, backend, mode, planner, budget, initiator, cores, "
            "core_time_fitted, machine, ended, how, arguments, whole, core_time_from, rank, ranks "
            "FROM run ORDER BY id"
        )
        times: dict[int, dict[str, float]] = {}
        for number, phase, time in self._all("SELECT run, phase, instruction_time FROM core_time"):
            times.setdefault(number, {})[phase] = time

        def run(row: tuple[Any, ...]) -> Run:
            phases, fitted = times.get(row[0], {}), None if row[10] is None else bool(row[10])
            arguments, whole = json.loads(row[14]), bool(row[15])
            return Run(*[*row[:10], fitted, *row[11:14], arguments, whole, phases, *row[16:]])

        return [run(row) for row in rows]

    def run(self, process: int | None = None, rank: int | None = None) -> Run:
        """Returns the process with that id or MPI rank; by default the one with the longest main loop."""
        spent = dict(self._all("SELECT run, sum(ended - begun) FROM phase_instance WHERE loop >= 0 GROUP BY run"))
        return select_run(self.runs(), spent, self.path, process, rank)

    def machine(self, run: Run) -> Machine:
        """Returns the machine of the run. Raises TerraceError if the journal has none."""
        row = self._first("SELECT id, name, description, line, blob FROM machine WHERE id = ?", run.machine)
        if row is None:
            raise TerraceError(
                f"{self.path}: the machine of process {run.process} is missing; record the program again"
            )
        key = row[0]

        of_machine = "WHERE machine = ? ORDER BY 1, 2"

        return Machine(
            name=row[1],
            description=row[2],
            line=row[3],
            blob=row[4],
            nodes=self._each(Node, f"FROM node {of_machine}", key),
            places=self._each(Place, f"FROM place {of_machine}", key),
            initiators=self._each(Initiator, f"FROM initiator {of_machine}", key),
            domains=self._each(Domain, f"FROM domain {of_machine}", key),
            paths=self._each(MachinePath, f"FROM path {of_machine}", key),
            copies={
                (source, target): bandwidth
                for source, target, bandwidth in self._all(
                    f"SELECT source, target, bandwidth FROM copy {of_machine}", key
                )
            },
        )

    def calibration(self, run: Run) -> bytes:
        """Returns the model's constants as the planner's blob; empty if there are none."""
        row = self._first("SELECT calibration FROM run WHERE id = ?", run.id)
        return row[0] if row and row[0] else b""

    def objects(self, run: Run) -> list[Object]:
        """Returns the run's objects, in the order of their chunks."""
        return self._each(Object, "FROM object WHERE run = ? ORDER BY first_chunk, id", run.id)

    def loop(self, run: Run) -> Loop | None:
        """Returns the last main loop, to which profile and plan refer.

        If it was detected rather than stated: the one with the most work, the first of several with about as much.
        """
        loops = self._each(Loop, "FROM main_loop WHERE run = ? ORDER BY number DESC LIMIT 1", run.id)
        return loops[0] if loops else None

    def loop_candidates(self, run: Run) -> list[LoopCandidate]:
        """Returns the candidates for the main loop, the largest first; empty in older files."""
        if self._first("SELECT 1 FROM sqlite_master WHERE name = 'loop_candidate'") is None:
            return []
        return self._each(LoopCandidate, "FROM loop_candidate WHERE run = ? ORDER BY share DESC, name", run.id)

    def small_loops(self, run: Run) -> list[str]:
        """Returns the names of loops that were taken for the main loop but contain too little of the run."""
        if self.loop(run) is not None:
            return []
        rows = self._all("SELECT name FROM loop_time WHERE run = ? ORDER BY time DESC", run.id)
        return [name for (name,) in rows]

    def phase_instances(self, run: Run) -> list[PhaseInstance]:
        """Returns the phases of the last loop, as executed."""
        return self._each(
            PhaseInstance,
            "FROM phase_instance WHERE run = ?1 AND loop = (SELECT max(number) FROM main_loop WHERE run = ?1) "
            "ORDER BY iteration, phase, begun",
            run.id,
        )

    def has_profile(self, run: Run, exact: bool) -> bool:
        """Returns whether the run has such a profile."""
        return self._first("SELECT 1 FROM iteration WHERE run = ? AND exact = ?", run.id, exact) is not None

    def profile(self, run: Run, exact: bool = False) -> Profile:
        """Returns objects x phases of the last profiled main loop, from its iterations since the last replanning.

        Raises TerraceError if there is none.
        """
        self.require_profile(run, exact)
        return self._profile(run, exact, self._profiled(run, exact))

    def require_profile(self, run: Run, exact: bool = False) -> None:
        """Raises TerraceError with the reason if there is no such profile."""
        if not self._profiled(run, exact):
            raise TerraceError(f"{self.path}: {self.what_is_missing(run, exact)}")

    def nothing_observed(self, run: Run, footprint: int, last_cache: LastCache | None) -> str | None:
        """Returns a sentence if no use of data was observed, which does not imply that data cost nothing."""
        rows = [row[0] for row in self._profiled(run, False)]
        marks = ",".join("?" * len(rows))
        found = self._all(f"SELECT 1 FROM cell WHERE iteration IN ({marks}) LIMIT 1", *rows)
        return None if found else why_nothing_observed(run, self.counters(run), footprint, last_cache)

    def profile_or_objects(self, run: Run) -> Profile:
        """Returns the profile; if there is none, the objects without phases."""
        return self._profile(run, False, self._profiled(run, False))

    def _profiled(self, run: Run, exact: bool) -> list[tuple[int, int, int]]:
        """Returns id, number and loop of the iterations whose mean is the profile."""
        return self._all(
            "WITH profiled AS MATERIALIZED (SELECT max(loop) AS loop FROM iteration WHERE run = ?1 AND exact = ?2 "
            "AND loop IN (SELECT number FROM main_loop WHERE run = ?1)) "
            "SELECT id, number, loop FROM iteration WHERE run = ?1 AND exact = ?2 "
            "AND loop = (SELECT loop FROM profiled) AND number >= (SELECT ifnull(max(number), 0) FROM iteration "
            "WHERE run = ?1 AND exact = ?2 AND loop = (SELECT loop FROM profiled) AND anew) ORDER BY number, id",
            run.id,
            exact,
        )

    def _profile(self, run: Run, exact: bool, rows: list[tuple[int, int, int]]) -> Profile:
        """Returns the mean over the given iterations, summed over each object's chunks."""
        shares = json.dumps(self._shares(run, rows) if rows else [])
        phases = [
            ProfiledPhase(*row)
            for row in self._all(f"{_SHARES} SELECT name, {_PHASE_MEANS} GROUP BY phase ORDER BY phase", shares)
        ]
        cells = np.array(
            self._all(f"{_SHARES} SELECT phase, chunk, {_CELL_MEANS} GROUP BY phase, chunk", shares),
            dtype=np.float64,
        ).reshape(-1, 6)
        objects = [o for o in self.objects(run) if o.chunks > 0]
        owner = variation.owners(objects, cells[:, 1])
        known = owner >= 0
        index = (owner[known], cells[known, 0].astype(int))

        def matrix(column: int) -> Floats:
            result: Floats = np.zeros((len(objects), len(phases)))
            np.add.at(result, index, cells[known, column])
            return result

        return Profile(
            exact=exact,
            iterations=len(rows),
            phases=phases,
            objects=objects,
            reads=matrix(2),
            writes=matrix(3),
            exposure=matrix(4),
            samples=matrix(5),
        )

    def profiled_iterations(self, run: Run, exact: bool = False) -> list[int]:
        """Returns the numbers of the iterations of the profile."""
        return [number for _, number, _ in self._profiled(run, exact)]

    def between_iterations(self, run: Run, exact: bool = False) -> BetweenIterations:
        """Returns the variation of objects between observed iterations, if not all were observed."""
        rows, loop = self._profiled(run, exact), self.loop(run)
        if len(rows) < 2 or loop is None or (loop.observed or 0) >= (loop.iterations or 0):
            return BetweenIterations(0, {})
        shares = self._shares(run, rows)
        sums = "iteration, chunk, sum(exposure), sum(samples)"
        cells = self._all(
            f"{_SHARES} SELECT {sums} FROM mean JOIN cell USING (iteration) GROUP BY iteration, chunk",
            json.dumps(shares),
        )
        return variation.between_iterations(shares, cells, [o for o in self.objects(run) if o.chunks > 0])

    def _shares(self, run: Run, profiled: Sequence[tuple[int, int, int]]) -> list[tuple[int, float]]:
        """Returns the weights of a mean over the iterations (id, number, loop), by id.

        An unobserved iteration counts as the last observed one before it.
        """
        left_out = self._all(
            "SELECT iteration FROM phase_instance WHERE run = ? AND loop = ? GROUP BY iteration "
            "HAVING NOT min(observed)",
            run.id,
            profiled[0][2],
        )
        numbers = [number for _, number, _ in profiled]
        stands_for = [1.0] * len(profiled)
        for (number,) in left_out:
            stands_for[max(bisect_right(numbers, number) - 1, 0)] += 1
        total = sum(stands_for)
        return [(row[0], many / total) for row, many in zip(profiled, stands_for, strict=True)]

    def why_no_loop(self, run: Run) -> str | None:
        """Returns why no main loop was detected, or None if one was."""
        return why_no_loop(run, self.loop(run), self.small_loops(run), self.counters(run))

    def what_is_missing(self, run: Run, exact: bool = False) -> str:
        """Returns why the process has no such profile."""
        return no_profile(run, self.why_no_loop(run), exact)

    def fetched_lines(self, run: Run) -> dict[int, int]:
        """Returns the lines that misses fetched in all main loops by object number, from the exact counters."""
        rows = self._all(
            "SELECT object.id, sum(cell.read_lines) FROM iteration JOIN cell ON cell.iteration = iteration.id "
            "JOIN object ON object.run = iteration.run AND cell.chunk BETWEEN object.first_chunk "
            "AND object.first_chunk + object.chunks - 1 WHERE iteration.run = ? AND iteration.exact "
            "GROUP BY object.id",
            run.id,
        )
        return {number: round(lines) for number, lines in rows}

    def moves(self, run: Run) -> list[Move]:
        """Returns the transfers, in the order of requests."""
        return self._each(Move, "FROM move WHERE run = ? ORDER BY asked, id", run.id)

    def moved(self, run: Run) -> list[Moved]:
        """Returns the totals of transfers for each pair of places."""
        rows = self._all(
            "SELECT source, target, count(*), sum(chunks), sum(size) FROM move WHERE run = ? AND NOT refused "
            "GROUP BY source, target",
            run.id,
        )
        return [Moved(*row) for row in rows]

    def plans(self, run: Run) -> list[Plan]:
        """Returns the plans, in the order of creation."""
        rows = self._all(
            "SELECT id, at, why, planner, machine, loop, budget, phases, predicted, predicted_slow, lower_bound, "
            "gap, blob FROM plan WHERE run = ? ORDER BY id",
            run.id,
        )
        return [self._plan(row) for row in rows]

    def plan_reasons(self, run: Run) -> list[str]:
        """Returns the reason of each plan, in order of creation."""
        return [row[0] for row in self._all("SELECT why FROM plan WHERE run = ? ORDER BY id", run.id)]

    def _plan(self, row: tuple[Any, ...]) -> Plan:
        key = row[0]
        return Plan(
            at=row[1],
            why=row[2],
            planner=row[3],
            machine=row[4],
            loop=row[5],
            budget=json.loads(row[6]),
            phases=json.loads(row[7]),
            predicted=row[8],
            predicted_slow=row[9],
            lower_bound=row[10],
            gap=row[11],
            objects=self._each(PlanObject, "FROM plan_object WHERE plan = ? ORDER BY object", key),
            parts=self._each(PlanPart, "FROM plan_part WHERE plan = ? ORDER BY object, first", key),
            moves=self._each(PlanMove, "FROM plan_move WHERE plan = ? ORDER BY position", key),
            blob=row[12],
        )

    def counters(self, run: Run) -> Counters | None:
        """Returns the totals of the process; None if it was killed before it wrote them."""
        found = self._each(Counters, "FROM counters WHERE run = ?", run.id)
        return found[0] if found else None

    def levels(self, run: Run) -> list[Level]:
        """Returns C-AMAT's counters from the core outwards; empty for real time and in older files."""
        if self._first("SELECT 1 FROM sqlite_master WHERE name = 'level'") is None:
            return []
        return self._each(Level, "FROM level WHERE run = ? ORDER BY position", run.id)

    def coverage(self, run: Run) -> Coverage | None:
        """Returns how much of the run was instrumented; None if not measured."""
        row = self._first(
            "SELECT sample_period, not_sampled, samples, time_share, time_at_least, heap, heap_uncovered "
            "FROM coverage WHERE run = ?",
            run.id,
        )
        if row is None:
            return None
        code = self._each(
            CoveredCode, "FROM coverage_code WHERE run = ? ORDER BY in_loop DESC, elsewhere DESC, path", run.id
        )
        objects = self._all(
            "SELECT name, uncovered FROM coverage_object JOIN object ON object.run = coverage_object.run "
            "AND object.id = coverage_object.object WHERE coverage_object.run = ? ORDER BY uncovered DESC, id",
            run.id,
        )
        return Coverage(*[*row, self.loop(run) is not None, code, [(name, size) for name, size in objects]])

    def notes(self, run: Run) -> list[Note]:
        """Returns the notes about the process and about the job."""
        return self._each(Note, "FROM note WHERE run = ? OR run IS NULL ORDER BY rowid", run.id)

    def table(self, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Returns columns and rows of a table; `name` is one of docs/reference/store.md."""
        with damage_named(self.path):
            cursor = self._connection.execute(f'SELECT * FROM "{name}"')
            return [column[0] for column in cursor.description], cursor.fetchall()

    def _each(self, kind: type[T], rest: str, *values: object) -> list[T]:
        """Returns a dataclass instance for each row; its fields are the columns' names."""
        columns = fields(kind)
        return [
            kind(
                *[
                    bool(value) if column.type is bool else value
                    for column, value in zip(columns, row, strict=True)
                ]
            )
            for row in self._all(f"SELECT {', '.join(column.name for column in columns)} {rest}", *values)
        ]

    def _all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with damage_named(self.path):
            return self._connection.execute(sql, values).fetchall()

    def _first(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        rows = self._all(sql, *values)
        return rows[0] if rows else None
