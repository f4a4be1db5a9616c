"""Builds and records, once, the programs that several criteria of acceptance/main-job and acceptance/planning
use."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from harness import TERRACE, described, fresh, workload, workloads
from terrace import _core
from terrace.lab import study
from terrace.solve.certificate import certificate

BIN = TERRACE.parent


def largest_slowdown(machine: str) -> float:
    """Returns the upper limit of a program's slowdown with all data in the slow memory, by its machine file: the
    largest of the two memories' ratios in read bandwidth, write bandwidth and latency."""
    known = _core.Machine.read(machine)
    paths = {path["place"]: path for path in described(machine)["paths"]}
    fast, slow = (paths[known.places[place]] for place in known.fastest_first(0))
    ratios: list[float] = [fast[what] / slow[what] for what in ("read", "write")]
    ratios.append(slow["latency"] / fast["latency"])
    return max(ratios)


@dataclass(frozen=True)
class Recorded:
    """CG or MG in class S as the demo has it: the last-level cache and fast memory scaled with the footprint."""

    name: str
    command: list[str]
    long: list[str]  # the same with class C's number of iterations
    caches: list[str]
    sizes: dict[str, int]  # bytes of fast memory by "study" and "quarter"
    stores: dict[str, Path]  # by machine: the profile of a run of the official length
    footprint: int

    def plan(self, machine: str, fast: int, exact: bool = False) -> _core.Plan:
        """Returns the default planner's plan from the profile, or from the simulator's exact counters."""
        kept = _core.Store(str(self.stores[machine]))
        identity = kept.runs()[0].id
        about = kept.machine(identity)
        problem = _core.Problem(kept.profile(identity, exact), about, about.fast_budget(fast))
        return _core.plan(problem, "auto", kept.calibration(identity))

    def bound(self, machine: str, fast: int) -> float:
        """Returns the seconds of an iteration that no placement can beat."""
        return certificate(self.stores[machine], fast).shortest


@functools.cache
def recorded(name: str) -> Recorded:
    """Records class S of a workload of the study on both of its machines."""
    folder = fresh(f"record-{name}")
    about = workloads()[name]
    command = [str(workload(name, True)), *about.words("S")]
    footprint = study.footprint(command, folder, name)
    scale = footprint / about.study.footprint
    caches = ["--cache", f"l3={int(study.STUDY_CACHE * scale)}"]
    study.record(command, study.MACHINES, folder, name, caches)
    return Recorded(
        name=name,
        command=command,
        long=[command[0], *about.study.words["S"]],
        caches=caches,
        sizes={"study": int(study.STUDY_FAST * scale), "quarter": footprint // 4},
        stores={machine: folder / f"{name}.{machine}.terrace" for machine in study.MACHINES},
        footprint=footprint,
    )
