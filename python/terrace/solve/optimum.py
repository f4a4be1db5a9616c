# SPDX-License-Identifier: Apache-2.0
"""Solves the placement problem exactly with HiGHS, as the reference for planners in tests and acceptance.

`executable_optimum` is a mixed-integer program whose solutions can be executed: every item is in one place in each
phase, and moves take their time before the phase that needs them. linear.py has the lower bound.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from terrace.errors import TerraceError
from terrace.solve.linear import constant, fastest_first

Dump = dict[str, Any]


@dataclass(frozen=True)
class Optimum:
    """Result of a solver: seconds of one iteration, their lower bound, and place[phase][item]."""

    seconds: float
    bound: float
    places: list[list[int]]


class _Program:
    """A mixed-integer program under construction: variables, rows, solver call."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._cost: list[float] = []
        self._integer: list[int] = []
        self._entries: list[tuple[int, int, float]] = []
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []

    def variable(self, upper: float = np.inf, cost: float = 0, integer: bool = False) -> int:
        """Adds a variable in [0, upper] and returns its index."""
        self._lower.append(0)
        self._upper.append(upper)
        self._cost.append(cost)
        self._integer.append(int(integer))
        return len(self._cost) - 1

    def row(self, terms: list[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """Adds a row, lower <= sum of factor x variable <= upper."""
        number = len(self._row_lower)
        self._entries.extend((number, variable, factor) for variable, factor in terms)
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def solve(self, time_limit: float) -> tuple[float, float, npt.NDArray[np.float64]]:
        """Returns objective, proven bound and values.

        Raises TerraceError if the solver finds no solution in time.
        """
        rows, columns, factors = zip(*self._entries, strict=True)
        matrix = coo_array((factors, (rows, columns)), shape=(len(self._row_lower), len(self._cost)))
        result = milp(
            np.array(self._cost),
            integrality=np.array(self._integer),
            bounds=Bounds(np.array(self._lower), np.array(self._upper)),
            constraints=LinearConstraint(matrix.tocsc(), self._row_lower, self._row_upper),
            options={"time_limit": time_limit, "mip_rel_gap": 1e-6},
        )
        if result.x is None:
            raise TerraceError(
                f"the solver found no placement in {time_limit:g} s: {result.message}; "
                "give it more time or fewer objects"
            )
        bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
        return float(result.fun), float(bound), result.x


class _Common:
    """Common data: units in which coefficients are near 1, and the allowed places of each item."""

    def __init__(self, dump: Dump) -> None:
        self.places = dump["places"]
        self.items = dump["items"]
        self.phases = dump["phases"]
        self.copy = dump["copy"]
        self.cyclic = dump["cyclic"]
        orders = [fastest_first(dump, domain) for domain in range(len(dump["homes"]))]
        self.rank = {p: n for order in orders for n, p in enumerate(order)}  # 0: fastest of its domain
        self.second = max(sum(phase["measured"] for phase in self.phases), 1e-12) / max(len(self.phases), 1)
        self.byte = max([1, *(item["size"] for item in self.items)])

    def allowed(self, item: Dump) -> list[int]:
        """Returns the allowed places of the item."""
        if "pinned" in item:
            return [item["pinned"]]
        return [p for p, place in enumerate(self.places) if place["domain"] == item["domain"]]

    def busy(self, cell: list[float], place: int) -> float:
        """Returns the time of the place's bandwidth for a cell's traffic."""
        of = self.places[place]
        seconds: float = cell[1] / of["read_bandwidth"] + cell[2] / of["write_bandwidth"]
        return float(seconds / self.second)

    def exposed(self, cell: list[float], place: int) -> float:
        """Returns the exposed latency of a cell's traffic in the place."""
        seconds: float = cell[3] * self.places[place]["latency"]
        return float(seconds / self.second)

    def copying(self, item: Dump, source: int, target: int) -> tuple[float, float, float, float]:
        """Returns the time of a move on the mover, on the source's and the target's bandwidth, and on the program
        that runs concurrently.
        """
        size = item["size"] / self.second
        return (
            size / self.copy[source][target] + item["remapping"] / self.second,
            size / self.places[source]["read_bandwidth"],
            size / self.places[target]["write_bandwidth"],
            item["stall"] / self.second,
        )


class _Phase:
    """The rows of one phase: T >= C + D, T >= B of each place, T >= X, plus the waiting time before it."""

    def __init__(self, common: _Common) -> None:
        self.stalls: list[tuple[int, float]] = []
        self.copies: list[tuple[int, float]] = []
        self.waits: list[tuple[int, float]] = []
        self.busy: list[list[tuple[int, float]]] = [[] for _ in common.places]

    def serve(self, common: _Common, cell: list[float], served: dict[int, int]) -> None:
        """Adds the cell's traffic by the variables that state the share of each place."""
        for p, v in served.items():
            self.stalls.append((v, common.exposed(cell, p)))
            self.busy[p].append((v, common.busy(cell, p)))

    def copy(self, move: int, cost: tuple[float, float, float, float], source: int, target: int) -> None:
        """Adds a copy that runs concurrently with the phase."""
        engine, reading, writing, stall = cost
        self.stalls.append((move, stall))
        self.copies.append((move, engine))
        self.busy[source].append((move, reading))
        self.busy[target].append((move, writing))

    def wait(self, move: int, cost: tuple[float, float, float, float]) -> None:
        """Adds a copy that precedes the phase, during which nothing else runs."""
        self.waits.append((move, cost[0]))

    def add(self, program: _Program, core: float) -> None:
        """Adds the phase's time, which is minimised, and its rows."""
        time = program.variable(cost=1)
        for terms, least in [(self.stalls, core), *((busy, 0.0) for busy in self.busy), (self.copies, 0.0)]:
            program.row([(time, 1.0), *((v, -f) for v, f in [*terms, *self.waits])], lower=least)


def _add_capacity(program: _Program, common: _Common, held: list[dict[int, list[tuple[int, float]]]]) -> None:
    """Adds the capacity rows; `held` has by item and place the terms of the item's bytes there."""
    for p, place in enumerate(common.places):
        terms = [
            (v, share * item["size"] / common.byte)
            for here, item in zip(held, common.items, strict=True)
            for v, share in here.get(p, [])
        ]
        if terms:
            program.row(terms, upper=place["budget"] / common.byte)


def _add_place_variables(program: _Program, common: _Common, integer: bool) -> list[dict[int, int]]:
    """Adds for each item the variables of its place, which sum to 1."""
    now = [{p: program.variable(1, integer=integer) for p in common.allowed(item)} for item in common.items]
    for here in now:
        program.row([(v, 1.0) for v in here.values()], 1, 1)
    return now


@dataclass(frozen=True)
class _Change:
    """A move of an item to another place before phase `before`; part of its copy overlaps with neighbouring
    phases.

    A copy to a faster place overlaps with preceding phases, nearest first, while the old place still serves the
    item; a copy to a slower place overlaps with following phases. `active` are 0/1 variables by phase: a copy runs
    there.
    """

    before: int
    source: int
    target: int
    ahead: bool
    active: dict[int, int]


class _Executable:
    """The mixed-integer program of executable placements: every item in one place in each phase."""

    def __init__(self, common: _Common) -> None:
        self.common = common
        self.program = _Program()
        self.count = len(common.phases)
        self.place = [_add_place_variables(self.program, common, integer=True) for _ in common.phases]
        self.rows = [_Phase(common) for _ in common.phases]
        self.changes: list[list[_Change]] = [[] for _ in common.items]
        boundaries = range(0 if common.cyclic else 1, self.count)
        for k in boundaries:
            for i in range(len(common.items)):
                self._connect(k, i)
        for k in boundaries:
            self._add_capacity_at(k)
        if not common.cyclic:
            self._add_first_capacity()
        for k, phase in enumerate(common.phases):
            for cell in phase["cells"]:
                self.rows[k].serve(common, cell, self.place[k][int(cell[0])])
            self.rows[k].add(self.program, phase["core"] / common.second)

    def _connect(self, k: int, i: int) -> None:
        """Links item i's place in phase k to the previous one by flow variables."""
        before, after = self.place[k - 1][i], self.place[k][i]
        flow = {(p, q): self.program.variable(1) for p in before for q in after}
        for p, v in before.items():
            self.program.row([(v, -1.0), *((flow[p, q], 1.0) for q in after)], 0, 0)
        for q, v in after.items():
            self.program.row([(v, -1.0), *((flow[p, q], 1.0) for p in before)], 0, 0)
        for (p, q), comes in flow.items():
            if p != q:
                self._change(k, i, p, q, comes)

    def _change(self, k: int, i: int, source: int, target: int, comes: int) -> None:
        """Adds the item's copy: the part that overlaps with phases, and the part that phase k waits for."""
        ahead = self.common.rank[target] < self.common.rank[source]
        phases = [k - 1 - n if ahead else k + n for n in range(self.count - 1)]
        if not self.common.cyclic:
            phases = [j for j in phases if 0 <= j < self.count]
        cost = self.common.copying(self.common.items[i], source, target)
        active: dict[int, int] = {}
        hidden: list[int] = []
        limit = comes
        for j in (j % self.count for j in phases):
            runs, part = self.program.variable(1, integer=True), self.program.variable(1)
            self.program.row([(limit, 1.0), (runs, -1.0)], lower=0)
            stays = self.place[j][i][source if ahead else target]
            self.program.row([(stays, 1.0), (runs, -1.0)], lower=0)
            self.program.row([(runs, 1.0), (part, -1.0)], lower=0)
            self.rows[j].copy(part, cost, source, target)
            active[j] = limit = runs
            hidden.append(part)
        waited = self.program.variable(1)
        self.program.row([(comes, -1.0), (waited, 1.0), *((part, 1.0) for part in hidden)], 0, 0)
        self.rows[k].wait(waited, cost)
        self.changes[i].append(_Change(k, source, target, ahead, active))

    def _add_capacity_at(self, k: int) -> None:
        """Adds the capacity rows before phase k and after its waits: present items, arriving items, and items that
        have not left yet. Between two boundaries, departures precede arrivals.
        """
        last = (k - 1) % self.count
        ends, begins = [], []
        for i in range(len(self.common.items)):
            end = {p: [(v, 1.0)] for p, v in self.place[last][i].items()}
            begin = {p: [(v, 1.0)] for p, v in self.place[k][i].items()}
            for change in self.changes[i]:
                if change.ahead and last in change.active:
                    end[change.target].append((change.active[last], 1.0))
                    if change.before != k:
                        begin[change.target].append((change.active[last], 1.0))
                if not change.ahead and k in change.active:
                    begin[change.source].append((change.active[k], 1.0))
                    if change.before != k:
                        end[change.source].append((change.active[k], 1.0))
            ends.append(end)
            begins.append(begin)
        _add_capacity(self.program, self.common, ends)
        _add_capacity(self.program, self.common, begins)

    def _add_first_capacity(self) -> None:
        """Adds the capacity rows of the first phase if an iteration may end with another placement than it began
        with.
        """
        _add_capacity(
            self.program, self.common, [{p: [(v, 1.0)] for p, v in here.items()} for here in self.place[0]]
        )

    def places(self, values: npt.NDArray[np.float64]) -> list[list[int]]:
        """Returns place[phase][item] of a solution."""
        return [[max((values[v], p) for p, v in here.items())[1] for here in now] for now in self.place]


def executable_optimum(dump: Dump, time_limit: float = 60) -> Optimum:
    """Returns the minimum time of an executable iteration with whole items.

    One place serves an item throughout a phase, copies overlap with phases or are waited for, and budgets hold at
    every instant. For small problems only, because it uses branch and bound.
    """
    common = _Common(dump)
    executable = _Executable(common)
    seconds, bound, values = executable.program.solve(time_limit)
    rest = constant(dump)
    return Optimum(seconds * common.second + rest, bound * common.second + rest, executable.places(values))
