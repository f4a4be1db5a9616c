# SPDX-License-Identifier: Apache-2.0
"""Groups phases by name, for the tables and pictures of a profile.

An iteration may run several phases of one name, and the runtime splits long phases into segments ("matvec",
"matvec@65536", ...) between which it can change the placement. Profile and plan keep them apart; tables and
pictures show names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from terrace.store.reader import Store
from terrace.store.values import Floats, Profile, ProfiledPhase, Run


def base_name(name: str) -> str:
    """Returns a phase's name without its segment suffix."""
    return name.split("@", 1)[0]


def groups(names: Iterable[str]) -> dict[str, list[int]]:
    """Returns positions by name, with names in the order of first occurrence."""
    result: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        result.setdefault(base_name(name), []).append(position)
    return result


def by_name(profile: Profile) -> Profile:
    """Merges the phases of each name: times and counts are summed."""
    together = groups(phase.name for phase in profile.phases)

    def merged(matrix: Floats) -> Floats:
        result: Floats = np.zeros((matrix.shape[0], len(together)))
        for column, positions in enumerate(together.values()):
            result[:, column] = matrix[:, positions].sum(axis=1)
        return result

    return replace(
        profile,
        phases=[_sum(name, [profile.phases[p] for p in positions]) for name, positions in together.items()],
        reads=merged(profile.reads),
        writes=merged(profile.writes),
        exposure=merged(profile.exposure),
        samples=merged(profile.samples),
    )


def _sum(name: str, phases: Sequence[ProfiledPhase]) -> ProfiledPhase:
    """Adds up phases of one name."""
    return ProfiledPhase(
        name=name,
        time=sum(phase.time for phase in phases),
        core=sum(phase.core for phase in phases),
        samples=sum(phase.samples for phase in phases),
        samples_with_access=sum(phase.samples_with_access for phase in phases),
        bandwidth_time=sum(phase.bandwidth_time for phase in phases),
    )


@dataclass
class PhaseSummary:
    """All phases of one name, by iteration. Seconds."""

    name: str
    times: list[float] = field(default_factory=list)  # by iteration
    waited: float = 0.0  # total of the loop
    runs: int = 0

    @property
    def mean(self) -> float:
        """Returns the mean over the iterations."""
        return mean(self.times)


def summarise_phases(store: Store, run: Run) -> list[PhaseSummary]:
    """Returns the phases of the run's last loop, in order of execution within an iteration."""
    instances = store.phase_instances(run)
    iterations = {number: i for i, number in enumerate(sorted({i.iteration for i in instances}))}
    phases: dict[str, PhaseSummary] = {}
    for instance in instances:
        name = base_name(instance.name)
        phase = phases.setdefault(name, PhaseSummary(name, [0.0] * len(iterations)))
        phase.times[iterations[instance.iteration]] += instance.ended - instance.begun
        phase.waited += instance.waited
        phase.runs += 1
    return list(phases.values())


def iteration_times(store: Store, run: Run) -> list[float]:
    """Returns each iteration's time, the sum of its phases."""
    times: dict[int, float] = {}
    for instance in store.phase_instances(run):
        times[instance.iteration] = times.get(instance.iteration, 0.0) + instance.ended - instance.begun
    return [times[number] for number in sorted(times)]


def mean(values: Iterable[float]) -> float:
    """Returns the mean, or 0 without values."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0
