# SPDX-License-Identifier: Apache-2.0
"""Answers a cell (a recorded program on a machine with some fast memory) by simulation or by a bound, for
runner.py. The cell's method defines how:

    slow-only, fast-only       all data in one memory
    live PLANNER               the planner, or policy, learns and migrates during the run
    planned PLANNER            follows that planner's plan from the recording's sampled profile
    oracle PLANNER             the same from exact counters
    alone ARRAY                one of the program's arrays in fast memory
    metric METRIC              fast memory filled by a metric (metrics.py)
    in-memory CORES            all data in the single memory, used by that many cores
    over-file CORES            out of core: memory for a part of the data, the rest in the machine's file
    bound                      lower bound over software placements (certificate.py)

`without PART ...` after planned omits parts of the planner's search (_core.planner_parts). `free` after live and
planned makes moves take no time and no bandwidth; `objects` after planned and metric moves whole objects. `timer`
and `sentinel` after live, planned and oracle set how the segments of plans begin; the default is counts, which
require instrumentation.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, core_errors
from terrace.lab import study
from terrace.lab.experiment import metrics
from terrace.lab.experiment.cells import Answer, Cell, write_whole
from terrace.lab.experiment.recording import Place, Recording, recording
from terrace.lab.workloads import STUDIED, Workload
from terrace.solve.certificate import certificate
from terrace.solve.figures import steady
from terrace.store.reader import Store
from terrace.store.spilled import read_last_loop

_WITH_PROFILE = ("planned", "oracle", "alone", "metric", "bound")
_PROGRESS = ("timer", "sentinel")
OF_CORES = (
    "in-memory",
    "over-file",
)  # methods that state the number of cores that the program's thread represents
_CHUNKS = 4096  # maximum items of a problem, as in the runtime
_OBJECTS = 1  # an item per object: the minimum
# Class C: a single program has the data and the fast memory of four ranks.
_RANKS = 4
# Number of simulated iterations; doubled while the last one differs from the one before.
_FEW = 8
_MANY = 32
_LIKE = 1e-3


def needs_profile(cell: Cell) -> bool:
    """Returns whether the recording's profile on the cell's machine is required."""
    return cell.method.split()[0] in _WITH_PROFILE


def fast_bytes(place: Place, cell: Cell, footprint: int) -> int:
    """Returns the size of fast memory: "256MB" in the study's ratio to the footprint, "1/4" of it; 0 for none."""
    if not cell.size:
        return 0
    if place.problem_class == STUDIED and "/" not in cell.size:
        return _RANKS * int(_core.parse_size(cell.size))
    if "/" in cell.size:
        above, _, below = cell.size.partition("/")
        return footprint * int(above) // int(below)
    return int(_core.parse_size(cell.size) * footprint / place.workload(cell.workload).study.footprint)


def answer(place: Place, cell: Cell) -> Answer:
    """Answers the cell. Requires its recording, and its profile if needs_profile()."""
    with core_errors():
        of = recording(place, cell.workload, cell.machine)
        fast = fast_bytes(place, cell, of.footprint)
        if cell.method == "bound":
            return _bound(place, cell, of, fast)
        return _replay(place, cell, of, fast, _options(place, cell, fast))


def _bound(place: Place, cell: Cell, of: Recording, fast: int) -> Answer:
    copier = cell.machine.partition("@")[2]
    store = place.profile(cell.workload, cell.machine)
    proven = certificate(store, fast, copier, _official(place, cell), place.work)
    return Answer(proven.loop, proven.iterations, fast, of.footprint, steady_s=proven.later)


def _official(place: Place, cell: Cell) -> int:
    """Returns class C's number of iterations if only some were recorded; else 0."""
    return place.workload(cell.workload).study.iterations if place.problem_class == STUDIED else 0


def _options(place: Place, cell: Cell, fast: int) -> list[str]:
    """Returns the placement options of `terrace replay`."""
    kind, *words = cell.method.split()
    if kind in ("slow-only", "fast-only"):
        return ["--planner", kind]
    if kind in OF_CORES:
        return ["--planner", "slow-only", "--cores", words[0], *(["--memory", str(fast)] if fast else [])]
    free = ["--free-moves"] if "free" in words else []
    if kind == "live":
        progress = _progress(words)
        by = ["--progress", progress] if progress else []
        return ["--planner", words[0], "--fast", str(fast), *by, *free]
    return ["--plan", str(_plan(place, cell, fast)), *free]


def _progress(words: list[str]) -> str:
    """Returns how segments begin; empty: as recorded."""
    return next((word for word in words if word in _PROGRESS), "")


def _plan(place: Place, cell: Cell, fast: int) -> Path:
    """Returns the plan file of the cell, made if missing: planning may take longer than the run."""
    path = place.folder / "plans" / f"{cell.name.removesuffix('-free')}.toml"
    if not path.exists():
        kind, *words = cell.method.split()
        profiled = _Profiled(place, cell, kind == "oracle")
        if kind == "alone":
            text = profiled.alone(words[0])
        elif kind == "metric":
            text = profiled.by_metric(words[0], fast, "objects" in words)
        else:
            without = words[words.index("without") + 1 :] if "without" in words else []
            text = profiled.planned(words[0], fast, "objects" in words, without, _progress(words))
        write_whole(path, text)
    return path


class _Profiled:
    """A profile on a machine, and the plans that can be made from it."""

    def __init__(self, place: Place, cell: Cell, exact: bool) -> None:
        self._place, self._cell = place, cell
        store = _core.Store(str(place.profile(cell.workload, cell.machine)))
        run = store.runs()[0].id
        self._machine = store.machine(run)
        if copier := cell.machine.partition("@")[2]:
            self._machine = self._machine.with_copier(copier)
        profile = store.profile(run, exact)
        # Plan for the most frequent iteration: if the last recorded one is repeated, for that one.
        repeated = _official(place, cell) > profile.iterations
        self._profile = profile.only(profile.iterations - 1) if repeated else profile
        self._calibration = store.calibration(run)
        self._fastest = self._machine.fastest_first(0)[0]

    def _problem(self, budget: list[int], objects: bool, progress: str = "") -> _core.Problem:
        profile = self._profile.followed_by(progress) if progress else self._profile
        return _core.Problem(profile, self._machine, budget, True, _OBJECTS if objects else _CHUNKS)

    def planned(self, planner: str, fast: int, objects: bool, without: list[str], progress: str) -> str:
        """Returns the text of the plan that a planner makes from the recording's profile."""
        problem = self._problem(self._machine.fast_budget(fast), objects, progress)
        _core.leave_out(without)
        try:
            return _core.plan(problem, planner, self._calibration).to_toml()
        finally:
            _core.leave_out([])

    def by_metric(self, metric: str, fast: int, objects: bool) -> str:
        problem = self._problem([], objects)
        dump = json.loads(problem.to_json())
        numbers = metrics.values(metric, dump, problem, self._fastest)
        taken = metrics.fill(numbers, [item["size"] for item in dump["items"]], fast)
        return metrics.plan_text(dump, taken, self._kind_of(dump), fast)

    def alone(self, array: str) -> str:
        """Returns the text of the plan that places one array of the program in fast memory."""
        dump = json.loads(self._problem([], objects=True).to_json())
        sites = arrays(self._place.workload(self._cell.workload))
        items = [i for i, item in enumerate(dump["items"]) if sites.get(_site(dump, item)) == array]
        if not items:
            raise TerraceError(
                f"{self._cell.workload}: its profile has no object that the source allocates as '{array}'; "
                "build it with debug information (-g)"
            )
        size = sum(dump["items"][i]["size"] for i in items)
        return metrics.plan_text(dump, items, self._kind_of(dump), size)

    def _kind_of(self, dump: metrics.Dump) -> str:
        kind: str = dump["places"][self._fastest]["kind"]
        return kind


def _site(dump: metrics.Dump, item: metrics.Dump) -> str:
    """Returns "sp.cpp:63" for an object named "run sp.cpp:63"."""
    return str(dump["objects"][item["object"]]["name"]).rpartition(" ")[2]


def arrays(workload: Workload) -> dict[str, str]:
    """Returns the names of arrays by the source position of their allocation ("sp.cpp:63")."""
    path = workload.folder / workload.study.arrays
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if made := re.match(r"\s+Array (\w+)\(", line):
            found[f"{path.name}:{number}"] = made[1]
    return found


def _replay(place: Place, cell: Cell, of: Recording, fast: int, options: list[str]) -> Answer:
    """Replays a recording with more and more iterations until they take the same time, and extrapolates the
    rest."""
    official = _official(place, cell)
    simulated = min(_FEW, official)
    while True:
        store = place.folder / "scratch" / f"{cell.name.replace('/', '.')}.{os.getpid()}.terrace"
        store.parent.mkdir(parents=True, exist_ok=True)
        store.unlink(missing_ok=True)
        words: list[str | Path] = ["replay", of.misses, "--quiet", "--machine", cell.machine]
        words += ["--iterations", str(simulated)] if simulated else []
        study.run_terrace([*words, *_recorded(of.options, options), *options, "--output", store])
        if "--plan" in options:
            study.check_follows_plan(store)
        else:
            study.check_planner(store, options[options.index("--planner") + 1])
        outcome = study.outcome(store)
        settled = abs(outcome.iterations[-1] / outcome.iterations[-2] - 1) <= _LIKE if official else True
        if settled or simulated >= min(official, _MANY):
            break
        simulated = min(2 * simulated, official)
    result = _read(outcome, store, fast, of.footprint, max(official - len(outcome.iterations), 0))
    store.unlink()
    return result


def _recorded(recorded: Sequence[str], options: Sequence[str]) -> list[str]:
    """Returns the recording's options, without cores if others are given."""
    words = list(recorded)
    if "--cores" in options and "--cores" in words:
        at = words.index("--cores")
        del words[at : at + 2]
    return words


def _read(outcome: study.Outcome, path: Path, fast: int, footprint: int, more: int) -> Answer:
    """Reads the answer. `more`: iterations that were not simulated and equal the last one."""
    store = Store(path)
    run = store.run()
    counters = store.counters(run)
    phases: dict[str, float] = {}
    for phase in store.phase_instances(run):
        phases[phase.name] = phases.get(phase.name, 0.0) + phase.ended - phase.begun
    times = [*outcome.iterations, *[outcome.iterations[-1]] * more]
    spilled = read_last_loop(store, run)
    share = 1 + more / len(outcome.iterations)  # for quantities not known by iteration
    return Answer(
        loop_s=outcome.loop + more * outcome.iterations[-1],
        iterations=len(times),
        fast_bytes=fast,
        footprint_bytes=footprint,
        simulated=len(outcome.iterations),
        steady_s=steady(times),
        waited_s=share * (spilled.waited if spilled else outcome.waited),
        stalled_s=share * counters.stalled if counters else 0.0,
        charged_s=share * counters.charged if counters else 0.0,
        moves=round(share * outcome.moves),
        moved_bytes=round(share * outcome.moved_bytes),
        copying_s=share * outcome.copying,
        phases={name: share * seconds for name, seconds in phases.items()},
        read_bytes=spilled.bytes_read if spilled else 0,
        written_bytes=spilled.bytes_written if spilled else 0,
        least_read_bytes=spilled.least_read if spilled else 0,
        least_written_bytes=spilled.least_written if spilled else 0,
        least_s=spilled.least_time if spilled else 0.0,
    )
