"""Checks the kernel's pages against a plan whose segments begin by time or by sentinel, recomputed from the plan
file.

A segment is due when its share of the time has passed that its phase took the last time, or, the first time,
that the plan predicts; or when the phase ends, if that is earlier. One that begins with a chunk that has a whole
page is due when a thread touches that: not while the kernel has no page where the chunk begins, and no later than
the next sample that has one again. Moves are made one after another in the order of the plan. So three things are
held against each other. The journal's moves are the plan's, in their order. None begins before it is due, and
none later than a tolerance after it is due and the one before it is done. And the kernel has every page where the
plan has it: before a move is due on the one side, once it is made on the other.

Durations are the auditor's own. It knows of each marker when it was called and when it had returned, so that it
knows between which two times a move is due.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accounts import PAGE, Object, Run, Sample
from audit import PlanReader, Verdict, clock_offset

PATIENCE = 0.5  # of a phase's time


@dataclass
class _Phase:
    """A phase of the plan: where its segments begin, as shares of its accesses and of its time."""

    name: str
    label: str
    length: int
    offsets: list[int]
    times: list[float]

    def share(self, segment: int) -> float:
        """Returns the share of the phase's time that has passed when the segment begins."""
        if sum(self.times) > 0:
            return sum(self.times[:segment]) / sum(self.times)
        return self.offsets[segment] / self.length if self.length else 0.0


@dataclass
class _Event:
    """A chunk's move, and between which times it is due, in seconds of the kernel's clock."""

    object: int
    chunk: int
    node: int
    low: float
    high: float
    done: float = float("inf")  # when it was surely made


@dataclass
class _Instance:
    """A phase as the auditor saw it: between which times its markers were passed."""

    position: int
    begin: tuple[float, float]
    end: tuple[float, float]

    def took(self) -> tuple[float, float]:
        """Returns the least and the largest duration."""
        return max(self.end[0] - self.begin[1], 0.0), self.end[1] - self.begin[0]


def _phases(plan: dict[str, Any]) -> list[_Phase]:
    entries = [one if isinstance(one, dict) else {"name": one} for one in plan.get("phases", [])]
    names = [one["name"] for one in entries]
    inner = {one["name"]: one for one in plan.get("internals", {}).get("phase", [])}
    phases = []
    for k, one in enumerate(entries):
        name = one["name"]
        label = f"{name} {names[: k + 1].count(name)}" if names.count(name) > 1 else name
        known = inner.get(label, {})
        offsets = [0, *(int(offset) for offset in known.get("segments", []))]
        phases.append(_Phase(name, label, int(one.get("length", 0)), offsets, known.get("times", [])))
    return phases


class TimedReader(PlanReader):
    """Reads the moves of a plan, segment by segment."""

    def __init__(self, plan: Path, run: Run, home: str) -> None:
        super().__init__(plan, run, home, moves={})
        self.phases = _phases(self._plan)
        self.events: list[_Event] = []  # in the order of asking
        self.watched = 0  # how often a chunk was seen put aside as a sentinel
        self._by_segment: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self._sentinels: dict[tuple[int, int], dict[str, Any]] = {}
        orders = {one["name"]: one for one in self._plan.get("internals", {}).get("segment", [])}
        for segment in self._plan.get("segment", []):
            moves = [{**move, "chunks": span} for move in segment["moves"] for span in self._spans(move)]
            order = orders.get(segment["name"], {}).get("order", range(len(moves)))
            if "begins_with" in segment and self._plan.get("progress") != "timer":
                self._sentinels[self._point(segment["name"])] = segment["begins_with"]
            self._by_segment[self._point(segment["name"])] = [
                move for _, move in sorted(zip(order, moves, strict=True), key=lambda pair: int(pair[0]))
            ]

    def _point(self, label: str) -> tuple[int, int]:
        """Parses "matvec 3, 12.5 %": the segment of that phase that begins nearest to that share."""
        found = re.fullmatch(r"(.*?),? ([0-9.]+) %", label)
        for k, phase in enumerate(self.phases):
            if phase.label == label:
                return k, 0
            if found and phase.label == found[1]:
                offset = float(found[2]) / 100 * phase.length
                return k, min(range(len(phase.offsets)), key=lambda s: abs(phase.offsets[s] - offset))
        raise ValueError(f"the plan has no phase {label}")

    def begin(
        self, at: _Instance, last: tuple[float, float] | None, living: list[Object], inside: list[Sample]
    ) -> None:
        """Adds the moves that are due in an instance of the phase, which took `last` the last time."""
        phase = self.phases[at.position]
        predicted = sum(phase.times)
        took = last or ((predicted, predicted) if predicted else None)
        touched = self._touched(at, living, inside)
        for s in range(len(phase.offsets)):
            due = (
                at.end
                if took is None
                else tuple(
                    min(begin + phase.share(s) * time, end)
                    for begin, time, end in zip(at.begin, took, at.end, strict=True)
                )
            )
            if s in touched:
                due = touched[s]
                if took is not None:  # without a touch the segment is delayed so long
                    due = min(due[0], at.begin[0] + (phase.share(s) + PATIENCE) * took[0]), due[1]
            # Once a sentinel is touched all before it are due, by whatever they would begin themselves.
            later = [bounds for k, bounds in touched.items() if k > s]
            due = min([due[0], *(low for low, _ in later)]), min([due[1], *(high for _, high in later)])
            for move in self._by_segment.get((at.position, s), []):
                self._ask(move, at.begin if s == 0 else (due[0], due[1]), living)

    def _touched(
        self, at: _Instance, living: list[Object], inside: list[Sample]
    ) -> dict[int, tuple[float, float]]:
        """Returns by segment that begins with a chunk the interval in which that chunk was touched first."""
        touched = {}
        for s in range(len(self.phases[at.position].offsets)):
            sentinel = self._sentinels.get((at.position, s))
            here = [
                one for one in living if sentinel and (self._entry(one) or {}).get("name") == sentinel["object"]
            ]
            if not sentinel or not here:
                continue
            one = here[-1]
            parts = (self._entry(one) or {}).get("chunks", 1)
            low, high = at.begin[0], at.end[1]
            low_byte, high_byte = one.range(sentinel["chunk"] * one.chunks // parts)
            begin, end = -(-low_byte // PAGE) * PAGE, high_byte // PAGE * PAGE
            # Chunks without a whole page are not watched, nor are a program's globals, whose first page is a
            # file's: their segments begin by time.
            if begin >= end or one.name.startswith("(globals "):
                continue
            absent = [k for k, sample in enumerate(inside) if sample.is_absent(begin)]
            if absent:
                self.watched += 1
                low = inside[absent[-1]].after * 1e-9
                if absent[-1] + 1 < len(inside):
                    high = min(high, inside[absent[-1] + 1].end * 1e-9)
            touched[s] = low, high
        return touched

    def _ask(self, move: dict[str, Any], due: tuple[float, float], living: list[Object]) -> None:
        for one in living:
            entry = self._entry(one)
            if entry is None or entry["name"] != move["object"] or entry.get("pin"):
                continue
            for chunk in range(one.chunks):
                if self._covers(move["chunks"], entry, one, chunk):
                    self.events.append(_Event(one.id, chunk, self._node[move["to"]], *due))

    @staticmethod
    def _spans(move: dict[str, Any]) -> list[str | None]:
        words: str | None = move.get("chunks")
        return [None] if words is None else list(words.split(", "))

    def first(self, one: Object, chunk: int) -> int:
        """Returns the place of the chunk when the loop begins."""
        return self._at[one.id, chunk]


def _instances(samples: list[Sample]) -> list[_Instance]:
    starts = [sample for sample in samples if not sample.inside]
    ends = [(one.before * 1e-9, one.after * 1e-9) for one in starts[1:]]
    # The last one ends with the loop, of which the auditor is not notified.
    ends.append((starts[-1].after * 1e-9, float("inf")))
    return [
        _Instance(one.position, (one.before * 1e-9, one.after * 1e-9), end)
        for one, end in zip(starts, ends, strict=True)
    ]


def _events(samples: list[Sample], run: Run, reader: TimedReader) -> list[_Event]:
    took: dict[int, tuple[float, float]] = {}
    starts = [sample for sample in samples if not sample.inside]
    for sample, instance in zip(starts, _instances(samples), strict=True):
        living = run.living(run.phases[sample.iteration, sample.position])
        inside = [
            one
            for one in samples
            if one.inside and (one.iteration, one.position) == (sample.iteration, sample.position)
        ]
        reader.begin(instance, took.get(instance.position), living, inside)
        took[instance.position] = instance.took()
    return reader.events


def order_of(run: Run, iteration: int) -> list[tuple[str, int, int]]:
    """Returns the moves of an iteration in order: object, chunk, target's node."""
    return _named(run, iteration, refused=False)


def given_up(run: Run, iteration: int) -> Counter[tuple[str, int, int]]:
    """Returns the moves of an iteration that had not begun when the program freed their data."""
    return Counter(_named(run, iteration, refused=True))


def _named(run: Run, iteration: int, refused: bool) -> list[tuple[str, int, int]]:
    names = {one.id: one.name for one in run.objects}
    return [
        (names[one.object], one.chunk, run.node_of[one.target])
        for one in run.moves
        if one.iteration == iteration and one.refused == refused
    ]


def first_difference(one: Run, other: Run, iteration: int) -> str | None:
    """Where two runs of one plan moved otherwise in an iteration, if what each gave up does not explain it.

    A run that gave a move up lacks it where the other made it: objects are freed one after another, so that such
    moves may stand before others that were still made.
    """
    orders = order_of(one, iteration), order_of(other, iteration)
    lacking = given_up(one, iteration), given_up(other, iteration)
    at = [0, 0]
    while at[0] < len(orders[0]) or at[1] < len(orders[1]):
        heads = [order[k] if k < len(order) else None for order, k in zip(orders, at, strict=True)]
        if heads[0] == heads[1]:
            at = [at[0] + 1, at[1] + 1]
            continue
        for side in (0, 1):
            head = heads[1 - side]  # the other made it
            if head is not None and lacking[side][head] > 0:
                lacking[side][head] -= 1
                at[1 - side] += 1
                break
        else:
            return f"after {at[0]} and {at[1]} moves of iteration {iteration}: {heads[0]} here, {heads[1]} there"
    return None


def check_timed_plan(samples: list[Sample], run: Run, plan: Path, home: str, tolerance: float) -> Verdict:
    """Compares the kernel's pages with the plan, at the start of each phase and inside phases."""
    verdict = Verdict()
    reader = TimedReader(plan, run, home)
    events = _events(samples, run, reader)
    verdict.watched = reader.watched
    low, high = clock_offset(samples, run)
    free = 0.0  # when the mover had surely made the one before
    made = iter([move for move in run.moves if not move.refused])
    # Not begun yet when the program freed its data: they are in the journal when they were given up.
    lacking = Counter((move.object, move.chunk, run.node_of[move.target]) for move in run.moves if move.refused)
    move = next(made, None)
    for event in events:
        key = (event.object, event.chunk, event.node)
        if move is None or key != (move.object, move.chunk, run.node_of[move.target]):
            if lacking[key] > 0:
                lacking[key] -= 1
                continue
            verdict.problems.append(f"the plan has object {key[0]} chunk {key[1]} to node {key[2]}, not {move}")
            return verdict
        what = f"iteration {move.iteration}: object {move.object} chunk {move.chunk} to place {move.target}"
        if move.begun + high < event.low:
            verdict.problems.append(f"{what}: begun {event.low - move.begun - high:.6f} s before it was due")
        if move.begun + low > max(event.high, free) + tolerance:
            verdict.problems.append(f"{what}: begun {move.begun + low - max(event.high, free):.6f} s late")
        event.done = free = move.done + high
        move = next(made, None)
    if move is not None or lacking.total() > 0:
        verdict.problems.append(f"moves that are not the plan's: {move}, {lacking.total()} given up")
    of_chunk: dict[tuple[int, int], list[_Event]] = {}
    for event in events:
        of_chunk.setdefault((event.object, event.chunk), []).append(event)
    for sample in samples:
        for one in run.living(run.phases[sample.iteration, sample.position]):
            if one.kind != "heap":
                continue
            for chunk in range(one.chunks):
                nodes = {reader.first(one, chunk)}
                for event in of_chunk.get((one.id, chunk), []):
                    if event.done <= sample.after * 1e-9:
                        nodes = {event.node}
                    elif event.low <= sample.end * 1e-9:
                        nodes.add(event.node)
                verdict.check(sample, one, chunk, nodes)
    return verdict
