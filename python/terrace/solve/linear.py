# SPDX-License-Identifier: Apache-2.0
"""Builds the linear program of docs/explanation/planning.md as sparse matrices for HiGHS: a lower bound over
software placements. certificate.py and lower_bounds.py solve it.

`linear_bound` is its optimum. `prices` are its dual values to a relative accuracy of 1e-4, from a first-order
method that takes seconds where the simplex method takes hours. `Problem.bound_at` evaluates exactly what they
prove, however accurate they are.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt

from terrace import _core
from terrace.errors import TerraceError

Dump = dict[str, Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Moves = dict[tuple[int, int], Indices]  # by source and target of a domain's places
Amounts = dict[str, Floats]  # by resource of a place that serves it: bytes, or latencies

_GAP = 1e-4  # relative, between primal and dual objective of the first-order method
WORK = 8e9  # nonzeros x iterations: about a minute


@dataclass(frozen=True)
class Prices:
    """Prices of a phase's rows (core, each place's bandwidth, copies) and of a byte of each place's
    capacity, s.
    """

    row: Floats  # [phase, places + 2]
    capacity: Floats  # [phase, places]

    @classmethod
    def of(cls, problem: _core.Problem, row: Sequence[float], capacity: Sequence[float]) -> "Prices":
        """Converts lists of a problem."""
        phases = len(problem.phases)
        return cls(np.array(row).reshape(phases, -1), np.array(capacity).reshape(phases, -1))

    def fitted(self, mean: _core.Problem, problem: _core.Problem) -> "Prices":
        """Transfers prices from `mean` to a problem that may have other phases.

        Phases of equal name are paired in order; unpaired ones get the prices of data in the default place. Any
        prices prove a bound.
        """
        if problem.phases == mean.phases:
            return self
        known = {name: k for k, name in enumerate(_numbered(mean.phases))}
        result = Prices.of(problem, *problem.prices(math.fsum(problem.measured), 1))
        for k, name in enumerate(_numbered(problem.phases)):
            if name in known:
                result.row[k], result.capacity[k] = self.row[known[name]], self.capacity[known[name]]
        return result

    def proven(self, problem: _core.Problem) -> float:
        """Returns the seconds that the prices prove for a problem with these phases."""
        return problem.bound_at(self.row.ravel().tolist(), self.capacity.ravel().tolist())

    def better(self, problem: _core.Problem, target: float, passes: int) -> "Prices":
        """Returns prices that prove at least as much, after `passes` subgradient steps towards `target`
        seconds.
        """
        row, capacity = problem.better_prices(
            self.row.ravel().tolist(), self.capacity.ravel().tolist(), target, passes
        )
        return Prices(np.array(row).reshape(self.row.shape), np.array(capacity).reshape(self.capacity.shape))


def _numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    """Pairs each name with the number of its previous occurrences."""
    met = Counter[str]()
    result = []
    for name in names:
        result.append((name, met[name]))
        met[name] += 1
    return result


def in_sequence(iterations: Sequence[Prices]) -> Prices:
    """Concatenates the prices of consecutive iterations."""
    return Prices(
        np.concatenate([each.row for each in iterations]), np.concatenate([each.capacity for each in iterations])
    )


def linear_bound(dump: Dump, time_limit: float = 60) -> float:
    """Returns the seconds of an iteration that no software placement can beat.

    Raises TerraceError if the solver does not finish within `time_limit` seconds.
    """
    program = _Program(dump)
    solver = program.solve({"time_limit": time_limit})
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise TerraceError(
            f"the linear program of the lower bound was not solved: {status} (limit: {time_limit:g} s)"
        )
    return float(solver.getInfo().objective_function_value * program.second) + constant(dump)


def constant(dump: Dump) -> float:
    """Returns the time that no placement changes: what the time law does not explain of estimated times."""
    return 0.0 if dump["exact"] else float(sum(phase["unexplained"] for phase in dump["phases"]))


def fastest_first(dump: Dump, domain: int) -> list[int]:
    """Returns the domain's places in the machine's order of speed, which the problem contains."""
    places: list[int] = dump["fastest_first"][domain]
    return places


def prices(dump: Dump, work: float = WORK) -> Prices:
    """Returns dual values of the linear program, deterministically, after at most `work` nonzeros x iterations."""
    program = _Program(dump)
    iterations = max(500, int(work / len(program.matrix.values)))
    tolerances = dict.fromkeys(("pdlp_optimality_tolerance", "kkt_tolerance"), _GAP)
    solver = program.solve({"solver": "pdlp", "pdlp_iteration_limit": iterations, **tolerances})
    found = solver.getSolution()
    return program.prices(np.array(found.row_dual) if found.dual_valid else np.zeros(program.num_rows))


@dataclass(frozen=True)
class Matrix:
    """Sparse matrix in CSC format. Replaces scipy.sparse, whose import takes a third of a second."""

    starts: npt.NDArray[np.int32]  # by column, and one past the last
    rows: npt.NDArray[np.int32]
    values: Floats

    @classmethod
    def of(cls, rows: Indices, columns: Indices, values: Floats, num_columns: int) -> "Matrix":
        """Builds the matrix from COO triplets in any order; duplicates are summed."""
        order = np.lexsort((rows, columns))
        rows, columns, values = rows[order], columns[order], values[order]
        first = np.ones(len(rows), dtype=bool)
        first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
        begins = np.flatnonzero(first)
        sums = np.add.reduceat(values, begins) if len(begins) else values
        starts = np.searchsorted(columns[begins], np.arange(num_columns + 1))
        return cls(starts.astype(np.int32), rows[begins].astype(np.int32), sums)


class _Program:
    """Variables, rows and costs, in units in which coefficients are near 1.

    Each phase has a time, which is minimised, and rows that bound it. Each item has, at the begin of each phase,
    its shares in every place of its domain but the slowest, which holds the rest. Each phase also has the shares
    that move between places, and for each of reads, writes and exposed latency the shares that each place but the
    slowest serves: at most what is present or arrives. The three are independent of each other within the phase,
    so an item that moves may be in different places for them. For a prefetched line, traffic and exposed latency
    are coupled.
    """

    def __init__(self, dump: Dump) -> None:
        self._places, self._copy = dump["places"], dump["copy"]
        self._phases, self._items = dump["phases"], dump["items"]
        phases, places = len(self._phases), len(self._places)
        self.second = max(sum(phase["measured"] for phase in self._phases), 1e-12) / max(phases, 1)
        self._byte = float(max([1, *(item["size"] for item in self._items)]))
        self._starts = phases if dump["cyclic"] else phases + 1
        self._upper: list[Floats] = []
        self._lower: list[Floats] = []
        self._columns = 0
        self._row_lower: list[Floats] = []
        self._row_upper: list[Floats] = []
        self._rows = 0
        self._entries: list[tuple[Indices, Indices, Floats]] = []

        time = self._variables((phases,), np.inf)
        core = np.array([phase["core"] for phase in self._phases]) / self.second
        # [phase, core, places, copies]: lower limits of the phase's time by row.
        self._least = np.zeros((phases, places + 2))
        self._least[:, 0] = core
        self._time_rows = self._new_rows((phases, places + 2), 0.0, np.inf)
        self._enter(self._time_rows, time[:, None], 1.0)
        self._most = np.full(places, np.inf)  # capacity for items, minus the capacity used if nothing is elsewhere
        self._capacity_rows = self._new_rows((self._starts, places), -np.inf, np.inf)
        for domain in sorted({item["domain"] for item in self._items}):
            self._add_domain(domain, fastest_first(dump, domain))
        self._row_lower[0] = self._least.ravel()
        self._row_upper[1] = np.tile(self._most, self._starts)
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        self.matrix = Matrix.of(rows, columns, values, self._columns)

    @property
    def num_rows(self) -> int:
        """Returns the number of rows of the matrix."""
        return self._rows

    def solve(self, options: dict[str, Any]) -> highspy.Highs:
        """Solves the linear program and returns HiGHS with its solution."""
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self._columns, self._rows
        cost = np.zeros(self._columns)
        cost[: len(self._phases)] = 1
        program.col_cost_ = cost
        program.col_lower_, program.col_upper_ = np.concatenate(self._lower), np.concatenate(self._upper)
        program.row_lower_, program.row_upper_ = np.concatenate(self._row_lower), np.concatenate(self._row_upper)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = self.matrix.starts
        program.a_matrix_.index_ = self.matrix.rows
        program.a_matrix_.value_ = self.matrix.values
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in {"output_flag": False, "threads": 1, **options}.items():
            solver.setOptionValue(name, value)
        solver.passModel(program)
        solver.run()
        return solver

    def prices(self, duals: Floats) -> Prices:
        """Returns the prices from the rows' dual values."""
        capacity = -duals[self._capacity_rows[: len(self._phases)]] * self.second / self._byte
        return Prices(np.maximum(duals[self._time_rows], 0), np.maximum(capacity, 0))

    def _variables(self, shape: tuple[int, ...], upper: float) -> Indices:
        """Adds variables in [0, upper]."""
        count = int(np.prod(shape))
        self._lower.append(np.zeros(count))
        self._upper.append(np.full(count, upper))
        self._columns += count
        return np.arange(self._columns - count, self._columns).reshape(shape)

    def _new_rows(self, shape: tuple[int, ...], lower: float, upper: float) -> Indices:
        """Adds rows, lower <= sum of factor x variable <= upper."""
        count = int(np.prod(shape))
        self._row_lower.append(np.full(count, lower))
        self._row_upper.append(np.full(count, upper))
        self._rows += count
        return np.arange(self._rows - count, self._rows).reshape(shape)

    def _enter(self, rows: Indices, columns: Indices, factors: float | Floats) -> None:
        rows, columns, values = np.broadcast_arrays(rows, columns, factors)
        self._entries.append((rows.ravel(), columns.ravel(), values.ravel().astype(np.float64)))

    def _add_domain(self, domain: int, places: list[int]) -> None:
        """Adds the variables and constraints of a domain: shares of items, capacities, moves."""
        items = np.array([i for i, item in enumerate(self._items) if item["domain"] == domain])
        phases, count = len(self._phases), len(places) - 1
        share = self._variables((self._starts, len(items), count), 1)
        pairs = [(a, b) for a in range(count + 1) for b in range(count + 1) if a != b]
        moved = self._variables((phases, len(items), len(pairs)), np.inf)
        self._pin(items, places)
        moves = dict(zip(pairs, np.moveaxis(moved, -1, 0), strict=True))
        now, after = share[:phases], share[(np.arange(phases) + 1) % self._starts]
        balance = self._new_rows((phases, len(items), count), 0, 0)
        self._enter(balance, after, 1)
        self._enter(balance, now, -1)
        for (a, b), move in moves.items():
            if a < count:
                self._enter(balance[..., a], move, 1)
            if b < count:
                self._enter(balance[..., b], move, -1)
        if count > 1:
            self._enter(self._new_rows(share.shape[:2], 0, 1)[..., None], share, 1)
        sizes = np.array([self._items[i]["size"] for i in items], dtype=np.float64)
        self._add_capacity(places, share, sizes / self._byte)
        self._add_copies(places, items, moves)
        self._serve(places, items, now, moves)

    def _pin(self, items: Indices, places: list[int]) -> None:
        """Fixes pinned items to their place, as bounds of the shares and moves added last."""
        others = len(places) - 1
        shares = [bounds[-2].reshape(self._starts, len(items), others) for bounds in (self._lower, self._upper)]
        moves = self._upper[-1].reshape(len(self._phases), len(items), others * len(places))
        for n, i in enumerate(items):
            if "pinned" not in self._items[i]:
                continue
            moves[:, n] = 0
            for a, place in enumerate(places[:-1]):
                for bounds in shares:
                    bounds[:, n, a] = float(place == self._items[i]["pinned"])

    def _add_capacity(self, places: list[int], share: Indices, sizes: Floats) -> None:
        """Adds capacity rows of the places that cannot hold everything; the slowest place holds the remainder."""
        for a, place in enumerate(places):
            budget = self._places[place]["budget"] / self._byte
            if budget >= sizes.sum():
                continue
            if place != places[-1]:
                self._enter(self._capacity_rows[:, place, None], share[..., a], sizes)
                self._most[place] = budget
            else:
                self._enter(self._capacity_rows[:, place, None, None], share, -sizes[:, None])
                self._most[place] = budget - sizes.sum()

    def _add_copies(self, places: list[int], items: Indices, moves: Moves) -> None:
        """Adds the cost of moves to the mover, to the bandwidth of both places, and to the program."""
        sizes, remapping, stalls = (
            np.array([self._items[i][what] for i in items], dtype=np.float64)
            for what in ("size", "remapping", "stall")
        )
        for (a, b), move in moves.items():
            source, target = places[a], places[b]
            for row, seconds in (
                (0, stalls),
                (len(self._places) + 1, remapping + sizes / self._copy[source][target]),
                (1 + source, sizes / self._places[source]["read_bandwidth"]),
                (1 + target, sizes / self._places[target]["write_bandwidth"]),
            ):
                self._enter(self._time_rows[:, row, None], move, -seconds / self.second)

    def _serve(self, places: list[int], items: Indices, now: Indices, moves: Moves) -> None:
        """Adds the traffic, split into parts that one place serves."""
        position = {i: n for n, i in enumerate(items.tolist())}
        cells = np.array(
            [
                (k, position[int(cell[0])], *cell[1:4], *(cell[5:] or (0.0, 0.0)))
                for k, phase in enumerate(self._phases)
                for cell in phase["cells"]
                if int(cell[0]) in position
            ],
            dtype=np.float64,
        ).reshape(-1, 7)
        read, written, exposed, streamed, streamed_exposed = cells[:, 2:].T
        # Traffic and exposed latency of prefetched lines are one part: each line exposes the same amount.
        for part in (
            {"read_bandwidth": streamed, "latency": streamed_exposed},
            {"read_bandwidth": read - streamed},
            {"write_bandwidth": written},
            {"latency": exposed - streamed_exposed},
        ):
            some = np.any([amount > 0 for amount in part.values()], axis=0)
            k, i = cells[some, 0].astype(np.int64), cells[some, 1].astype(np.int64)
            amounts = {name: amount[some] / self.second for name, amount in part.items()}
            self._serve_part(places, now[k, i], {pair: move[k, i] for pair, move in moves.items()}, k, amounts)

    def _serve_part(self, places: list[int], here: Indices, moves: Moves, k: Indices, amounts: Amounts) -> None:
        """Adds the shares of a part of each cell's traffic by place; `k` are the cells' phases."""
        slowest, count = places[-1], len(places) - 1
        served = self._variables(here.shape, 1)
        rows = self._new_rows(here.shape, -np.inf, 0)  # at most the share that is present or arrives
        self._enter(rows, served, 1)
        self._enter(rows, here, -1)
        rest = self._new_rows((len(k),), 0, np.inf)  # the slowest place serves the remainder
        self._enter(rest[:, None], served, 1)
        self._enter(rest[:, None], here, -1)
        for (_, b), move in moves.items():
            if b < count:
                self._enter(rows[:, b], move, -1)
            else:
                self._enter(rest, move, 1)
        if count > 1:
            self._enter(self._new_rows((len(k),), 0, 1)[:, None], served, 1)
        for name, amount in amounts.items():
            otherwise = amount * self._rate(slowest, name)
            for a, place in enumerate(places[:-1]):
                self._enter(self._time_rows[k, _row(place, name)], served[:, a], -amount * self._rate(place, name))
                self._enter(self._time_rows[k, _row(slowest, name)], served[:, a], otherwise)
            np.add.at(self._least[:, _row(slowest, name)], k, otherwise)

    def _rate(self, place: int, name: str) -> float:
        """Returns seconds per byte, or per latency."""
        rate = float(self._places[place][name])
        return rate if name == "latency" else 1 / rate


def _row(place: int, name: str) -> int:
    """Returns the row of a phase's time for the traffic: latencies count on the core's row."""
    return 0 if name == "latency" else 1 + place
