"""What a run of an experiment covers, and what every table needs of its answers."""

from __future__ import annotations

from dataclasses import dataclass

from terrace import _core
from terrace.experiment.cells import Answer, Answers, Cell

_OURS = ("auto", "joint", "stream", "unimem", "global", "local", "slow-only", "fast-only")
# They decide when memory is made, and learn nothing.
_WITHOUT_PROFILE = ("first-touch", "interleave", "weighted-interleave")


@dataclass(frozen=True)
class Setting:
    """Which programs in which class; `small` asks fewer questions of each."""

    workloads: tuple[str, ...]
    problem_class: str
    small: bool


def baselines() -> dict[str, str]:
    """By name, the method of every published planner and policy that the library has: those that learn offline
    obey a plan from a profile, the others act while the program runs."""
    planners = [name for name in _core.planners() if name not in _OURS]
    policies = _core.policies()
    live = {name: f"live {name}" for name in [*planners, *policies]}
    return {name: live[name] if name in _WITHOUT_PROFILE + tuple(policies) else f"planned {name}" for name in live}


@dataclass(frozen=True)
class Reader:
    """The answers on one machine about one program."""

    answers: Answers
    workload: str
    machine: str

    def get(self, method: str, size: str = "") -> Answer:
        """The answer; raises TerraceError when it is not there."""
        return self.answers.get(Cell(self.workload, self.machine, method, size))

    def find(self, method: str, size: str = "") -> Answer | None:
        """The answer, if that was asked."""
        return self.answers.find(Cell(self.workload, self.machine, method, size))

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
