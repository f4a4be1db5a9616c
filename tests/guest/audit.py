"""Compares page locations of a run (phase_audit.c) with its plan and its journal.

Both comparisons go chunk by chunk through every start of a phase. A chunk that no move is about must have every
page on the node where it belongs. A chunk whose move was asked for and may still be under way may have its pages
on either side. What the plan means is worked out here a second time, from the plan file alone.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from accounts import NO_PLACE, PAGE, Move, Object, Run, Sample


@dataclass
class Verdict:
    """Result of a comparison. A problem is a line that names iteration, phase, object, chunk and nodes."""

    exact: int = 0  # chunks at phase starts that had to be, and were, on one node with every page
    either: int = 0  # those that were allowed two
    empty: int = 0  # those without a page yet, or that were put aside
    watched: int = 0  # how often a chunk was seen put aside as a sentinel
    problems: list[str] = field(default_factory=list)
    seen: dict[str, set[int]] = field(default_factory=dict)  # nodes on which the kernel saw each object, wholly
    where: tuple[int, int, int] | None = None  # of the first problem: when the sample was made, object, chunk

    def check(self, sample: Sample, one: Object, chunk: int, allowed: set[int]) -> None:
        found = sample.nodes(*one.range(chunk))
        if not found:
            self.empty += 1
        elif not set(found) <= allowed:
            self.where = self.where or (sample.after, one.id, chunk)
            self.problems.append(
                f"iteration {sample.iteration}, phase {sample.position} ({sample.name}): {one.name} chunk {chunk} "
                f"has pages by node {dict(found)}, not {sorted(allowed)}"
            )
        elif len(allowed) > 1:
            self.either += 1
        else:
            self.exact += 1
            self.seen.setdefault(one.name, set()).update(found)


@dataclass
class _Asked:
    object: int
    chunk: int
    node: int


def _moves(plan: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """Returns the moves by the position of the requesting phase; "matvec 2" is the second phase of that name."""
    phases: list[str] = plan.get("phases", [])
    position = {}
    for k, name in enumerate(phases):
        position[f"{name} {phases[: k + 1].count(name)}" if phases.count(name) > 1 else name] = k
    moves: dict[int, list[dict[str, Any]]] = {}
    for segment in plan.get("segment", []):
        for move in segment["moves"]:
            need = {"need": position[move["before"]]} if "before" in move else {}
            moves.setdefault(position[segment["name"]], []).append({**move, **need})
    return moves


class PlanReader:
    """Reads from a plan file where each chunk has to be at the start of each phase."""

    def __init__(
        self, plan: Path, run: Run, home: str, moves: dict[int, list[dict[str, Any]]] | None = None
    ) -> None:
        text = tomllib.loads(plan.read_text())
        self._plan = text
        self._moves = _moves(text) if moves is None else moves
        self._home = run.node_of[run.place_of[home]]
        self._node = {name: run.node_of[place] for name, place in run.place_of.items()}
        self._at: dict[tuple[int, int], int] = {}  # (object, chunk) -> node, of what is certain
        self._queue: list[
            tuple[int, _Asked]
        ] = []  # ticket, in the order of asking: asked for, not known to be done
        self._needed: dict[int, list[int]] = {}  # phase -> tickets it waits for
        self._next = 0
        self._objects = {one.id: one for one in run.objects}
        for one in run.objects:
            for chunk in range(one.chunks):
                self._at[one.id, chunk] = self._initial(one, chunk)

    def _entry(self, one: Object) -> dict[str, Any] | None:
        entries = self._plan.get("object", [])
        exact = [entry for entry in entries if entry["name"] == one.name]
        matching = [entry for entry in entries if fnmatchcase(one.name, entry["name"])]
        found: dict[str, Any] | None = (exact + matching + [None])[0]
        return found

    @staticmethod
    def _covers(words: str | None, entry: dict[str, Any], one: Object, chunk: int) -> bool:
        """Returns whether the chunk's middle lies in "0-15" of the plan's equal parts."""
        if words is None:
            return True
        first, last = (int(word) for word in (words.split("-") * 2)[:2])
        parts: int = entry.get("chunks", 1)
        return first <= (2 * chunk + 1) * parts // (2 * one.chunks) <= last

    def _initial(self, one: Object, chunk: int) -> int:
        entry = self._entry(one)
        if entry is None:
            return self._home
        if "place" in entry:
            return self._node[entry["place"]]
        for place, spans in entry.get("parts", {}).items():
            if any(self._covers(span, entry, one, chunk) for span in spans.split(", ")):
                return self._node[place]
        return self._home

    def enter(self, position: int, living: list[Object]) -> None:
        """Begins a phase: the moves that it needs have completed, and all that were requested before, as moves are
        in order."""
        self._await(position)
        for move in self._moves.get(position, []):
            for one in living:
                entry = self._entry(one)
                if entry is None or entry["name"] != move["object"] or entry.get("pin"):
                    continue
                for chunk in range(one.chunks):
                    if not self._covers(move.get("chunks"), entry, one, chunk):
                        continue
                    self._queue.append((self._next, _Asked(one.id, chunk, self._node[move["to"]])))
                    if "need" in move:
                        self._needed.setdefault(move["need"], []).append(self._next)
                    self._next += 1
        self._await(position)

    def _await(self, position: int) -> None:
        tickets = self._needed.pop(position, [])
        while tickets and self._queue and self._queue[0][0] <= max(tickets):
            _, asked = self._queue.pop(0)
            self._at[asked.object, asked.chunk] = asked.node

    def allowed(self, one: Object) -> list[set[int]]:
        """Returns the nodes on which each chunk's pages may be now."""
        nodes = [{self._at[one.id, chunk]} for chunk in range(one.chunks)]
        for _, asked in self._queue:
            if asked.object == one.id:
                nodes[asked.chunk].add(asked.node)
        return nodes


def check_plan(samples: list[Sample], run: Run, plan: Path, home: str) -> Verdict:
    """Compares the kernel's pages with the plan, at the start of each phase of each iteration."""
    verdict = Verdict()
    reader = PlanReader(plan, run, home)
    for sample in samples:
        living = [one for one in run.living(run.phases[sample.iteration, sample.position]) if one.kind == "heap"]
        reader.enter(sample.position, living)
        for one in living:
            for chunk, nodes in enumerate(reader.allowed(one)):
                verdict.check(sample, one, chunk, nodes)
    return verdict


def clock_offset(samples: list[Sample], run: Run) -> tuple[float, float]:
    """Returns the range of CLOCK_MONOTONIC seconds of the journal's time zero: each phase begins within its
    call."""
    starts = [sample for sample in samples if not sample.inside]
    low = max(sample.before * 1e-9 - run.phases[sample.iteration, sample.position] for sample in starts)
    high = min(sample.after * 1e-9 - run.phases[sample.iteration, sample.position] for sample in starts)
    return low, high


def check_journal(samples: list[Sample], run: Run) -> Verdict:
    """Compares the kernel's pages with the journal: each object where it was born, each move when it was made."""
    verdict = Verdict()
    low, high = clock_offset(samples, run)
    if low > high + 1e-6:
        verdict.problems.append(f"the journal's phases do not begin when the program's do: {low} > {high}")
    moves: dict[tuple[int, int], list[Move]] = {}
    for move in run.moves:
        if not move.refused:
            moves.setdefault((move.object, move.chunk), []).append(move)
    for sample in samples:
        for one in run.living(run.phases[sample.iteration, sample.position]):
            if one.kind != "heap":
                continue
            for chunk in range(one.chunks):
                place = one.places[chunk]
                allowed: set[int] = set()
                for move in moves.get((one.id, chunk), []):
                    if move.done + high <= sample.after * 1e-9:
                        place = move.target
                    elif move.begun + low < sample.end * 1e-9:
                        allowed |= {run.node_of[move.source], run.node_of[move.target]}
                if place != NO_PLACE:
                    allowed.add(run.node_of[place])
                if allowed:
                    verdict.check(sample, one, chunk, allowed)
    return verdict


def history(samples: list[Sample], run: Run, at: int, object_id: int, chunk: int) -> list[str]:
    """Lists the kernel's nodes of the chunk in the neighbouring samples, and its moves by the journal, a line
    each."""
    one = next(other for other in run.objects if other.id == object_id)
    (middle,) = [i for i, sample in enumerate(samples) if sample.after == at]
    near = samples[max(middle - 4, 0) : middle + 5]
    low, _ = clock_offset(samples, run)
    lines = [f"{one.name} chunk {chunk}, {one.range(chunk)[0]:x}, in the samples around:"]
    lines += [
        f"  iteration {s.iteration}, phase {s.position}, {s.after * 1e-9 - low:.6f} "
        f"to {s.end * 1e-9 - low:.6f} s: "
        f"{dict(s.nodes(*one.range(chunk)))}, "
        f"the object's pages {dict(s.nodes(one.address, one.address + one.size))}"
        for s in near
    ]
    lines += [
        f"  moved {move.source} to {move.target}: asked {move.asked:.6f}, begun {move.begun:.6f}, "
        f"done {move.done:.6f}{', refused' if move.refused else ''}"
        for move in run.moves
        if (move.object, move.chunk) == (object_id, chunk)
        and near[0].before * 1e-9 - low - 1 < move.done < near[-1].end * 1e-9 - low + 1
    ]
    return lines


def most_on_node(samples: list[Sample], run: Run, node: int, only: set[tuple[int, int]] | None = None) -> int:
    """Returns the peak bytes of living heap objects that the kernel had on a node at one time.

    `only` restricts it to these chunks (object, chunk).

    The auditor queries the kernel page by page: a chunk that moves meanwhile may appear on both sides or on
    neither, and is skipped. So only memory is counted that was there at the query of the first page.
    """
    low, high = clock_offset(samples, run)
    most = 0
    for sample in samples:
        moving = {
            (move.object, move.chunk)
            for move in run.moves
            if move.done + high > sample.after * 1e-9 and move.begun + low < sample.end * 1e-9
        }
        pages = sum(
            sample.nodes(*one.range(chunk))[node]
            for one in run.living(run.phases[sample.iteration, sample.position])
            if one.kind == "heap"
            for chunk in range(one.chunks)
            if (one.id, chunk) not in moving and (only is None or (one.id, chunk) in only)
        )
        most = max(most, pages * PAGE)
    return most


def fine(verdict: Verdict, samples: list[Sample] | None = None, run: Run | None = None) -> Verdict:
    """Asserts that no chunk was on a wrong node; describes the first few that were, and the first one's
    history."""
    told = [f"{len(verdict.problems)} chunks, as in:", *verdict.problems[:10]]
    if verdict.where and samples and run:
        told += history(samples, run, *verdict.where)
    assert not verdict.problems, "\n".join(told)
    return verdict
