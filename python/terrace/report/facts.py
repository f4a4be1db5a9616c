# SPDX-License-Identifier: Apache-2.0
"""Holds all data of a `terrace report` page (run, machine, profile, plan). gather.py fills it, and the charts read
it."""

import functools
from dataclasses import dataclass, field
from pathlib import Path

from terrace import _core, units
from terrace.report import charts
from terrace.solve.confidence import Benefit
from terrace.solve.model import ENOUGH, CurvePoint, Pricing
from terrace.store.summary import PhaseSummary, mean
from terrace.store.values import (
    Counters,
    Coverage,
    Floats,
    Loop,
    Machine,
    Move,
    Note,
    Object,
    PhaseInstance,
    Plan,
    PlanObject,
    Profile,
    Run,
)

_NOTHING = 0.01  # smaller gains, relative to the time, count as none


@functools.cache
def _labels(names: tuple[str, ...]) -> list[str]:
    return _core.segment_labels(list(names))


@dataclass
class Facts:
    """Data of one process; lists by object are in the order of `profile.objects`."""

    file: Path
    run: Run
    machine: Machine
    loop: Loop | None
    profile: Profile
    pricing: Pricing
    sensitivity: list[list[str]]
    phases: list[PhaseSummary]
    instances: list[PhaseInstance]
    moves: list[Move]
    plan: Plan | None
    counters: Counters | None
    coverage: Coverage | None
    notes: list[Note]
    all_objects: list[Object] = field(default_factory=list)
    certainty: list[Benefit] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Derives values that several charts need."""
        self.misses: Floats = self.profile.reads
        self.traffic: Floats = (self.profile.reads + self.profile.writes) * self.machine.line
        objects = self.profile.objects
        self.by_traffic = sorted(
            (o for o in range(len(objects)) if self.traffic[o].sum() > 0), key=lambda o: -self.traffic[o].sum()
        )
        self.footprint = sum(item.size for item in objects)
        ordered = _core.Machine.from_bytes(self.machine.blob)
        self._fastest = [ordered.fastest_first(domain.id)[0] for domain in self.machine.domains]
        self.fate = [self._fate(item.name) for item in objects]

    @property
    def learned(self) -> bool:
        """Returns whether the run has a profile; a run that follows a plan has none, so nothing can be priced."""
        return bool(self.profile.phases)

    @property
    def gain(self) -> float:
        """Returns the seconds that an iteration would gain with all data in fast memory."""
        return self.pricing.slow_only - self.pricing.fast_only

    def share_of_gain(self, point: CurvePoint) -> float:
        """Returns the share of that gain that a plan for this size reaches."""
        return (self.pricing.slow_only - point.predicted) / self.gain if self.gain > 0 else 0.0

    @property
    def enough(self) -> CurvePoint | None:
        """Returns the smallest size of the curve with nine tenths of the gain; None without gain."""
        if self.gain <= _NOTHING * self.pricing.slow_only:
            return None
        return next((point for point in self.pricing.curve if self.share_of_gain(point) >= ENOUGH), None)

    @property
    def sentence(self) -> str:
        """Returns the report's headline: what placement gains."""
        if not self.learned:
            moved = sum(move.size for move in self.moves if not move.refused)
            return f"This run followed a given plan and moved {units.size(moved)}.{self._gained}"
        if self.gain <= _NOTHING * self.pricing.slow_only:
            return "No placement can gain much here: slow memory alone is within 1 % of fast memory alone."
        point = self.enough
        if point is None or point.size >= 0.9 * self.footprint:
            half = min(self.pricing.curve, key=lambda p: abs(p.size - self.footprint / 2))
            return f"All of the data gain from fast memory: {self._share(half)}."
        return f"A part of the data gains most from fast memory: {self._share(point)}."

    def _share(self, point: CurvePoint) -> str:
        """Describes the share of the full gain that this size of fast memory reaches."""
        return (
            f"{units.size(point.size)} of it, for {units.percent(point.size / self.footprint, 0)} of the data, "
            f"saves {units.percent(self.share_of_gain(point), 0)} of what fast memory for all data would save"
        )

    @property
    def steady(self) -> float | None:
        """Returns the mean time of the iterations that began after the last plan took effect; None if none did."""
        if self.plan is None:
            return None
        later: dict[int, float] = {}
        planned = min((i.iteration for i in self.instances if i.begun >= self.plan.at), default=None)
        if planned is None:
            return None
        for i in self.instances:
            if i.iteration > planned:
                later[i.iteration] = later.get(i.iteration, 0.0) + i.ended - i.begun
        return mean(later.values()) if later else None

    @property
    def _gained(self) -> str:
        """Describes the gain of a plan that was followed, relative to its own prediction of slow memory alone."""
        if self.plan is None or self.steady is None or self.plan.predicted_slow <= 0:
            return ""
        change = units.percent(self.steady / self.plan.predicted_slow - 1)
        slow = units.seconds(self.plan.predicted_slow)
        return (
            f" An iteration took {units.seconds(self.steady)}, {change} against the {slow} predicted for slow "
            "memory alone."
        )

    @property
    def fast_names(self) -> set[str]:
        """Returns names and kinds of the places that are not a domain's default place."""
        homes = {domain.home for domain in self.machine.domains}
        return {
            word for place in self.machine.places if place.id not in homes for word in (place.name, place.kind)
        }

    def is_fast(self, place: int) -> bool:
        """Returns whether a place is not a domain's default place."""
        return all(domain.home != place for domain in self.machine.domains)

    def colour(self, place: int) -> str:
        """Returns the colour of a place: its domain's fastest, its default, or one between."""
        if not self.is_fast(place):
            return charts.SLOW
        domain = next(p.domain for p in self.machine.places if p.id == place)
        return charts.FAST if self._fastest[domain] == place else charts.GOOD

    def place_name(self, place: int) -> str:
        """Returns a place's name."""
        return next((p.name for p in self.machine.places if p.id == place), str(place))

    def phase_name(self, position: int) -> str:
        """Returns a unique name of a position in the iteration, as the plan counts them."""
        names = _labels(tuple(self.plan.phases)) if self.plan else []
        if not names:
            return str(position)
        later = " (next iteration)" if position >= len(names) else ""
        return names[position % len(names)] + later

    def object_name(self, identity: int) -> str:
        """Returns an object's name by its number in the process."""
        return next((o.name for o in self.all_objects if o.id == identity), f"object {identity}")

    def planned(self, name: str) -> tuple[int, PlanObject] | None:
        """Returns the plan's entry for an object, with its position."""
        if self.plan is None:
            return None
        return next(((i, o) for i, o in enumerate(self.plan.objects) if o.name == name), None)

    def _fate(self, name: str) -> str:
        """Returns where the plan puts an object: "fast", "part", "moved" or "slow"."""
        entry = self.planned(name)
        if entry is None or self.plan is None:
            return "slow"
        position, item = entry
        if any(move.object == position for move in self.plan.moves):
            return "moved"
        covered = sum(
            part.chunks for part in self.plan.parts if part.object == position and part.place in self.fast_names
        )
        return "fast" if covered >= item.chunks else "part" if covered > 0 else "slow"
