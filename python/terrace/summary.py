"""Phases over the whole loop: how often each ran, how long, how long it waited."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from terrace.store import Store
from terrace.values import Run


@dataclass
class PhaseSummary:
    """One phase of the iteration, over all iterations; seconds."""

    name: str
    times: list[float] = field(default_factory=list)
    waited: float = 0.0

    @property
    def mean(self) -> float:
        """Mean time of an instance."""
        return sum(self.times) / len(self.times) if self.times else 0.0


def summarise_phases(store: Store, run: Run) -> list[PhaseSummary]:
    """The phases of the run's last loop, in the order of the iteration."""
    phases: dict[int, PhaseSummary] = {}
    for instance in store.phase_instances(run):
        phase = phases.setdefault(instance.phase, PhaseSummary(instance.name))
        phase.times.append(instance.ended - instance.begun)
        phase.waited += instance.waited
    return [phases[index] for index in sorted(phases)]


def iteration_times(store: Store, run: Run) -> list[float]:
    """Each iteration's time: the sum of its phases."""
    times: dict[int, float] = {}
    for instance in store.phase_instances(run):
        times[instance.iteration] = times.get(instance.iteration, 0.0) + instance.ended - instance.begun
    return [times[number] for number in sorted(times)]


def mean(values: Iterable[float]) -> float:
    """The mean, 0 of nothing."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0
