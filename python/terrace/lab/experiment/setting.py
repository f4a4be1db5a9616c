"""What a run of an experiment covers, and what every table needs of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError
from terrace.lab import study, workloads
from terrace.lab.experiment.cells import Answer, Answers, Cell
from terrace.lab.workloads import Workload
from terrace.solve.figures import hold_bound

_OURS = ("auto", "stream", "unimem", "global", "local", "slow-only", "fast-only")
# What the bound is not about: itself, data beyond the budget, moves that cost nothing, a cache of lines.
_BEYOND_THE_BOUND = {"bound", "fast-only", "free", "cache-mode"}
_OF_EVERY_SIZE = "slow-only"  # is asked without a size; `held` compares it where a table shows it beside one


@dataclass(frozen=True)
class Setting:
    """Which programs in which class; `small` asks fewer questions of each."""

    programs: tuple[Workload, ...]
    problem_class: str
    small: bool

    @property
    def workloads(self) -> tuple[str, ...]:
        """The programs' names."""
        return tuple(program.name for program in self.programs)

    def program(self, name: str) -> Workload:
        """The one of that name, which has to be there."""
        return next(program for program in self.programs if program.name == name)


def read_setting(name: str, source: Path, only: str | None, problem_class: str, small: bool) -> Setting:
    """The programs of the study of that name, as the manifests in Terrace's source tree have them; `only` names
    some of them. A small setting has class S and, unless they are named, few programs."""
    there = workloads.read_all(source / "workloads")
    few = workloads.of_study(there, name, small=small and only is None)
    return Setting(workloads.chosen(only, few), "S" if small else problem_class, small)


def baselines() -> dict[str, str]:
    """By name, the method of every published planner and policy that the library has: those that learn offline
    obey a plan from a profile, the others act while the program runs."""
    planners = [name for name in _core.planners() if name not in _OURS]
    policies = _core.policies()
    live = {name: f"live {name}" for name in [*planners, *policies]}
    return {name: live[name] if name in study.STATIC + tuple(policies) else f"planned {name}" for name in live}


@dataclass(frozen=True)
class Reader:
    """The answers on one machine about one program."""

    answers: Answers
    workload: str
    machine: str

    def get(self, method: str, size: str = "") -> Answer:
        """The answer; raises TerraceError when it is not there, beats the bound of its size, or has none."""
        found = self.answers.get(Cell(self.workload, self.machine, method, size))
        if not _BEYOND_THE_BOUND & set(method.split()) and (method, size) != (_OF_EVERY_SIZE, ""):
            self.held(method, size, found.loop_s)
            steady = f"{method}, steady"
            hold_bound(self._cell(steady, size), self._bound(steady, size).steady_s, found.steady_s)
        return found

    def _bound(self, what: str, size: str) -> Answer:
        """What no placement by software beats with that size."""
        bound = self.answers.find(Cell(self.workload, self.machine, "bound", size))
        if bound is None:
            raise TerraceError(f"{self._cell(what, size)}: no bound was asked for that size to compare it with")
        return bound

    def held(self, what: str, size: str, seconds: float) -> float:
        """A loop's seconds that a table is to show. Raises TerraceError where they beat the bound of the size, or
        there is none."""
        return hold_bound(self._cell(what, size), self._bound(what, size).loop_s, seconds)

    def _cell(self, what: str, size: str) -> str:
        return f"{self.workload} on {self.machine}, {size or 'any size'}, {what}"

    def find(self, method: str, size: str = "") -> Answer | None:
        """The answer, if that was asked."""
        asked = self.answers.has(Cell(self.workload, self.machine, method, size))
        return self.get(method, size) if asked else None

    def seconds(self, method: str, size: str = "") -> float | None:
        """Of the loop, if that was asked."""
        found = self.find(method, size)
        return found.loop_s if found else None

    @property
    def slow(self) -> float:
        """Seconds with all in slow memory."""
        return self.get("slow-only").loop_s

    @property
    def fast(self) -> float:
        """Seconds with all in fast memory."""
        return self.get("fast-only").loop_s

    def relative(self, method: str, size: str = "") -> float | None:
        """Time over that of fast-only, if that was asked."""
        seconds = self.seconds(method, size)
        return None if seconds is None else seconds / self.fast
