# SPDX-License-Identifier: Apache-2.0
"""Holds the scope of an experiment's run (programs, sizes), and gives its tables access to the answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError
from terrace.lab import workloads
from terrace.lab.experiment.cells import Answer, Answers, Cell
from terrace.lab.workloads import Workload
from terrace.solve.figures import check_bound

_OURS = ("auto", "stream", "unimem", "global", "local", "slow-only", "fast-only")
# Not covered by the bound: itself, data beyond the budget, free moves, a cache of lines.
_BEYOND_THE_BOUND = {"bound", "fast-only", "free", "cache-mode"}
_OF_EVERY_SIZE = "slow-only"  # has no size; `checked` compares it against the bound of the table's size


@dataclass(frozen=True)
class Setting:
    """Programs and problem class; `small` asks fewer questions of each."""

    programs: tuple[Workload, ...]
    problem_class: str
    small: bool

    @property
    def workloads(self) -> tuple[str, ...]:
        """Returns the programs' names."""
        return tuple(program.name for program in self.programs)

    def program(self, name: str) -> Workload:
        """Returns the program of that name, which must exist."""
        return next(program for program in self.programs if program.name == name)


def read_setting(name: str, source: Path, only: str | None, problem_class: str, small: bool) -> Setting:
    """Returns the programs of the study from the manifests in Terrace's source tree; `only` selects some.

    A small setting has class S and, unless they are named, few programs.
    """
    there = workloads.read_all(source / "workloads")
    few = workloads.of_study(there, name, small=small and only is None)
    return Setting(workloads.chosen(only, few), "S" if small else problem_class, small)


def baselines() -> dict[str, str]:
    """Returns the method of every published planner and policy of the library by name.

    Those that learn offline follow a plan from a profile, the others act during the run.
    """
    names = [name for name in [*_core.planners(), *_core.policies()] if name not in _OURS]
    offline = _core.profiling_planners()
    return {name: f"planned {name}" if name in offline else f"live {name}" for name in names}


@dataclass(frozen=True)
class Reader:
    """Reads the answers about one program on one machine."""

    answers: Answers
    workload: str
    machine: str

    def get(self, method: str, size: str = "") -> Answer:
        """Returns the answer. Raises TerraceError if it is missing, beats the bound of its size, or has none."""
        found = self.answers.get(Cell(self.workload, self.machine, method, size))
        if not _BEYOND_THE_BOUND & set(method.split()) and (method, size) != (_OF_EVERY_SIZE, ""):
            self.checked(method, size, found.loop_s)
            steady = f"{method}, steady"
            check_bound(self._cell(steady, size), self._bound(steady, size).steady_s, found.steady_s)
        return found

    def _bound(self, what: str, size: str) -> Answer:
        """Returns the lower bound over software placements for that size."""
        bound = self.answers.find(Cell(self.workload, self.machine, "bound", size))
        if bound is None:
            raise TerraceError(
                f"{self._cell(what, size)}: the study asks no bound of that size, so this time cannot be checked; "
                "add the bound to the experiment's questions"
            )
        return bound

    def checked(self, what: str, size: str, seconds: float) -> float:
        """Returns a loop's seconds for a table.

        Raises TerraceError if they beat the bound of the size, or it is missing.
        """
        return check_bound(self._cell(what, size), self._bound(what, size).loop_s, seconds)

    def _cell(self, what: str, size: str) -> str:
        return f"{self.workload} on {self.machine}, {size or 'any size'}, {what}"

    def find(self, method: str, size: str = "") -> Answer | None:
        """Returns the answer, or None if it was not asked."""
        asked = self.answers.has(Cell(self.workload, self.machine, method, size))
        return self.get(method, size) if asked else None

    def seconds(self, method: str, size: str = "") -> float | None:
        """Returns the loop's time, or None if it was not asked."""
        found = self.find(method, size)
        return found.loop_s if found else None

    @property
    def slow(self) -> float:
        """Returns the seconds with all data in slow memory."""
        return self.get("slow-only").loop_s

    @property
    def fast(self) -> float:
        """Returns the seconds with all data in fast memory."""
        return self.get("fast-only").loop_s

    def relative(self, method: str, size: str = "") -> float | None:
        """Returns the time relative to fast-only, or None if it was not asked."""
        seconds = self.seconds(method, size)
        return None if seconds is None else seconds / self.fast
