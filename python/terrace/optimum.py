"""The placement problem solved exactly, by HiGHS: what the bound and the planners are held against.

`linear_bound` is the linear program of the design (planning.md) for any number of kinds: no software placement,
moves inside phases included, is faster. `executable_optimum` is the mixed-integer program whose solutions can be
carried out: every item lies in one place in each phase, moves take their time before the phase that changes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from terrace.errors import TerraceError

Dump = dict[str, Any]


@dataclass(frozen=True)
class Optimum:
    """A solver's answer: seconds of one iteration, a bound on them, and place[phase][item]."""

    seconds: float
    bound: float
    places: list[list[int]]


class _Program:
    """A linear program in the making: variables, rows, and how to solve it."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._cost: list[float] = []
        self._integer: list[int] = []
        self._entries: list[tuple[int, int, float]] = []
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []

    def variable(self, upper: float = np.inf, cost: float = 0, integer: bool = False) -> int:
        """A variable of [0, upper]; returns its number."""
        self._lower.append(0)
        self._upper.append(upper)
        self._cost.append(cost)
        self._integer.append(int(integer))
        return len(self._cost) - 1

    def row(self, terms: list[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """lower <= sum of factor x variable <= upper."""
        number = len(self._row_lower)
        self._entries.extend((number, variable, factor) for variable, factor in terms)
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def solve(self, time_limit: float) -> tuple[float, float, npt.NDArray[np.float64]]:
        """(objective, proven bound, values). Raises TerraceError when the solver finds no answer in time."""
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
            raise TerraceError(f"the solver found no placement: {result.message}")
        bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
        return float(result.fun), float(bound), result.x


class _Common:
    """What both programs share: units in which coefficients are near 1, and the places of each item."""

    def __init__(self, dump: Dump) -> None:
        self.places = dump["places"]
        self.items = dump["items"]
        self.phases = dump["phases"]
        self.copy = dump["copy"]
        self.cyclic = dump["cyclic"]
        order = sorted(
            range(len(self.places)),
            key=lambda p: self.places[p]["latency"] / 20 + 64 / self.places[p]["read_bandwidth"],
        )
        self.rank = {p: n for n, p in enumerate(order)}  # 0 is the fastest
        self.second = max(sum(phase["measured"] for phase in self.phases), 1e-12) / max(len(self.phases), 1)
        self.byte = max([1, *(item["size"] for item in self.items)])

    def allowed(self, item: Dump) -> list[int]:
        """Places in which the item may lie."""
        if "pinned" in item:
            return [item["pinned"]]
        return [p for p, place in enumerate(self.places) if place["domain"] == item["domain"]]

    def busy(self, cell: list[float], place: int) -> float:
        """Time of the place's bandwidth that a cell's traffic takes."""
        of = self.places[place]
        seconds: float = cell[1] / of["read_bandwidth"] + cell[2] / of["write_bandwidth"]
        return float(seconds / self.second)

    def exposed(self, cell: list[float], place: int) -> float:
        """Latency that it exposes there."""
        seconds: float = cell[3] * self.places[place]["latency"]
        return float(seconds / self.second)

    def copying(self, item: Dump, source: int, target: int) -> tuple[float, float, float]:
        """Time of a move: of the copy engine, of the source's bandwidth, of the target's."""
        size = item["size"] / self.second
        return (
            size / self.copy[source][target],
            size / self.places[source]["read_bandwidth"],
            size / self.places[target]["write_bandwidth"],
        )


class _Rows:
    """The rows of one phase's time: T >= C + D, T >= B of each place, T >= X, each after the phase's waiting."""

    def __init__(self, common: _Common) -> None:
        self.stalls: list[tuple[int, float]] = []
        self.copies: list[tuple[int, float]] = []
        self.waits: list[tuple[int, float]] = []
        self.busy: list[list[tuple[int, float]]] = [[] for _ in common.places]

    def copy(self, move: int, cost: tuple[float, float, float], source: int, target: int, waits: bool) -> None:
        """A move beside the phase, or one that the phase waits for."""
        engine, reading, writing = cost
        if waits:
            self.waits.append((move, engine))
        else:
            self.copies.append((move, engine))
            self.busy[source].append((move, reading))
            self.busy[target].append((move, writing))

    def add(self, program: _Program, core: float) -> None:
        """Adds the phase's time, which counts, and its rows."""
        time = program.variable(cost=1)
        for terms, least in [(self.stalls, core), *((busy, 0.0) for busy in self.busy), (self.copies, 0.0)]:
            program.row([(time, 1.0), *((v, -f) for v, f in [*terms, *self.waits])], lower=least)


def _serve(
    program: _Program,
    here: dict[int, int],
    moves: dict[tuple[int, int], int],
    executable: bool,
) -> dict[int, int]:
    """Which place serves the cell's traffic: at most what lies there, or comes there in this phase."""
    served = {p: program.variable(1, integer=executable) for p in here}
    program.row([(v, 1.0) for v in served.values()], 1, 1)
    for p, v in served.items():
        arriving = [(move, -1.0) for (_, q), move in moves.items() if q == p]
        program.row([(v, 1.0), (here[p], -1.0), *arriving], upper=0)
    return served


def _build(common: _Common, executable: bool) -> tuple[_Program, list[dict[int, dict[int, int]]]]:
    """The program, and the variables that say what serves each item: [phase][item][place]."""
    program = _Program()
    count = len(common.phases)
    starts = count if common.cyclic else count + 1
    share = [
        [{p: program.variable(1) for p in common.allowed(item)} for item in common.items] for _ in range(starts)
    ]
    for now in share:
        _hold(program, common, now)
    service: list[dict[int, dict[int, int]]] = []
    for k, phase in enumerate(common.phases):
        cells = {int(cell[0]): cell for cell in phase["cells"]}
        rows = _Rows(common)
        service.append({})
        for i, item in enumerate(common.items):
            here, after = share[k][i], share[(k + 1) % starts][i]
            moves = {(p, q): program.variable() for p in here for q in here if p != q}
            for (p, q), move in moves.items():
                waits = executable and i in cells and common.rank[q] < common.rank[p]
                rows.copy(move, common.copying(item, p, q), p, q, waits)
            for p in here:
                arriving = [(move, 1.0) for (_, q), move in moves.items() if q == p]
                leaving = [(move, -1.0) for (q, _), move in moves.items() if q == p]
                program.row([(after[p], -1.0), (here[p], 1.0), *arriving, *leaving], 0, 0)
            if i in cells:
                service[k][i] = _serve(program, here, moves, executable)
                for p, v in service[k][i].items():
                    rows.stalls.append((v, common.exposed(cells[i], p)))
                    rows.busy[p].append((v, common.busy(cells[i], p)))
        rows.add(program, phase["core"] / common.second)
    return program, service


def _hold(program: _Program, common: _Common, now: list[dict[int, int]]) -> None:
    """All of each item lies somewhere, and no place holds more than its budget."""
    for here in now:
        program.row([(v, 1.0) for v in here.values()], 1, 1)
    for p, place in enumerate(common.places):
        held = [
            (here[p], item["size"] / common.byte)
            for here, item in zip(now, common.items, strict=True)
            if p in here
        ]
        if held:
            program.row(held, upper=place["budget"] / common.byte)


def _constant(dump: Dump) -> float:
    """What no placement changes: times that the law does not explain, where they are estimates."""
    return 0.0 if dump["exact"] else float(sum(phase["unexplained"] for phase in dump["phases"]))


def linear_bound(dump: Dump, time_limit: float = 60) -> float:
    """Seconds that no software placement can beat in one iteration: the optimum of the linear program."""
    common = _Common(dump)
    program, _ = _build(common, executable=False)
    return float(program.solve(time_limit)[1] * common.second + _constant(dump))


def executable_optimum(dump: Dump, time_limit: float = 60) -> Optimum:
    """The least time of an iteration in which one place serves each item in each phase, and a phase waits for
    what it touches to come into faster memory. Small problems only: it is solved by branch and bound."""
    common = _Common(dump)
    program, service = _build(common, executable=True)
    seconds, bound, values = program.solve(time_limit)
    places = [[item["measured_at"] for item in common.items] for _ in common.phases]
    for k, by_item in enumerate(service):
        for i, served in by_item.items():
            places[k][i] = max((values[v], p) for p, v in served.items())[1]
    constant = _constant(dump)
    return Optimum(seconds * common.second + constant, bound * common.second + constant, places)
