"""Compares where pages reside by the kernel's account (tests/guest/page_audit.c) with a run's journal and its
plans. guests.py checks each run by it."""

from __future__ import annotations

import sqlite3
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "guest"))
from accounts import NO_PLACE, PAGE, Object, Run, Sample, read_run, read_samples

# Seconds around a move, a birth or an end in which the kernel's account and the journal's may be of different
# moments: a sample takes up to a tenth of a second, the journal's zero is known within some hundredths, and
# threads of an emulated machine wait for a processor.
MARGIN = 0.3
STEADY = 1e-3  # seconds that the two clocks may part by while a program runs

Chunk = tuple[int, int]  # object, number


@dataclass
class Residence:
    """Result of the comparison; pages are counted once in each sample."""

    samples: int = 0
    compared: int = 0  # pages
    moving: int = 0  # pages of chunks that move within the margin
    absent: int = 0  # pages that the kernel does not have, or that are on their way
    elsewhere: int = 0  # pages on another node than the journal's
    nodes: set[int] = field(default_factory=set)  # on which pages were that are where they should be
    in_force: int = 0  # samples while a plan was in force and all that it wants in near memory was alive
    wanted: int = 0  # pages of them that the plan wants in near memory
    near: int = 0  # of those, the ones that are there
    far: int = 0  # and those that are on another node; the rest is absent: an array's end that was never touched
    refused: int = 0  # of those on another node, the ones of chunks whose move there was refused
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Chunks that a plan places permanently in near memory, and its interval, in the journal's seconds."""

    begins: float
    ends: float
    near: frozenset[Chunk]


@dataclass(frozen=True)
class Account:
    """Both accounts of one run, in the journal's seconds."""

    run: Run
    samples: list[Sample]
    zero: float  # of the journal, in seconds of CLOCK_MONOTONIC
    plans: list[Plan]


def _zero(store: sqlite3.Connection, audit: Path, program: str) -> float:
    """Returns the journal's start on the auditor's clock: the journal states it by the real clock, and the auditor
    noted both."""
    clocks = [line.split() for line in audit.read_text().splitlines() if line.startswith("clock ")]
    apart = [(int(real) - int(monotonic)) * 1e-9 for _, real, monotonic in clocks]
    if len(apart) != 2 or abs(apart[1] - apart[0]) > STEADY:
        raise RuntimeError(f"{audit.name}: the clocks did not stay {apart} s apart")
    ((started,),) = store.execute(
        "SELECT started_unix_ns FROM run WHERE program LIKE ? ORDER BY id LIMIT 1", (f"%/{program}",)
    )
    return float(started * 1e-9 - apart[0])


def _plans(store: sqlite3.Connection, run: Run, near: str) -> Iterator[Plan]:
    """Yields each plan, from the second iteration after it was made, when its requests have completed, until the
    next plan or the loop's end. Chunks that it moves repeatedly are skipped."""
    plans = list(store.execute("SELECT id, at FROM plan ORDER BY at"))
    begins = sorted({begun for (_, position), begun in run.phases.items() if position == 0})
    (last,) = store.execute("SELECT MAX(ended) FROM phase_instance").fetchone()
    objects = {one.name: one for one in run.objects}
    for (plan, at), ends in zip(plans, [*(at for _, at in plans[1:]), last], strict=True):
        after = [begun for begun in begins if begun > at]
        if len(after) < 2 or after[1] >= ends:
            continue
        names = dict(store.execute("SELECT object, name FROM plan_object WHERE plan = ?", (plan,)))
        chunks = {
            (table, object_, chunk)
            for table, where in (("plan_part", "AND place = ?"), ("plan_move", ""))
            for object_, first, count in store.execute(
                f"SELECT object, first, chunks FROM {table} WHERE plan = ? {where}",
                (plan, near) if where else (plan,),
            )
            for chunk in range(first, first + count)
        }
        asked = [move.done for move in run.moves if at <= move.asked <= after[1]]
        yield Plan(
            max([after[1], *asked]),
            ends,
            frozenset(
                (objects[names[object_]].id, chunk)
                for table, object_, chunk in chunks
                if table == "plan_part"
                and ("plan_move", object_, chunk) not in chunks
                and objects[names[object_]].kind == "heap"
            ),
        )


def read_account(profile: Path, audit: Path, program: str, near: str) -> Account:
    """Reads an account; `near` is the kind of the near place. Of the profile's processes the one with a main loop
    counts."""
    run = read_run(profile, program)
    with sqlite3.connect(profile) as store:
        return Account(run, read_samples(audit), _zero(store, audit, program), list(_plans(store, run, near)))


def without_moves(account: Account) -> Account:
    """Returns the run with a journal without moves, which a valid comparison must reject."""
    return replace(account, run=replace(account.run, moves=[]))


@dataclass
class _History:
    """Places of a chunk by the journal after each move, and the intervals in which they are not checked."""

    times: list[float] = field(default_factory=list)
    nodes: list[int | None] = field(default_factory=list)
    moving: list[tuple[float, float]] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def node(self, at: float) -> int | None:
        return self.nodes[bisect_right(self.times, at)]

    def is_refused(self, at: float) -> bool:
        """Returns whether its last move until then was refused."""
        refused = [done for done in self.refused if done <= at]
        return bool(refused) and not any(refused[-1] < time <= at for time in self.times)

    def is_moving(self, begins: float, ends: float) -> bool:
        return any(begun - MARGIN < ends and done + MARGIN > begins for begun, done in self.moving)


def _histories(run: Run) -> dict[Chunk, _History]:
    """Returns the nodes of each chunk over time, from the objects and moves of a run's journal."""
    histories = {
        (one.id, chunk): _History(nodes=[None if place == NO_PLACE else run.node_of[place]])
        for one in run.objects
        for chunk, place in enumerate(one.places)
    }
    for move in sorted(run.moves, key=lambda move: move.done):
        history = histories[move.object, move.chunk]
        history.moving.append((move.begun, move.done))
        if move.refused:
            history.refused.append(move.done)
        else:
            history.times.append(move.done)
            history.nodes.append(run.node_of[move.target])
    return histories


def _living(run: Run, begins: float, ends: float) -> list[Object]:
    """Returns the objects that live throughout, without stacks: the auditor skips them, as their pages come and
    go."""
    return [
        one
        for one in run.objects
        if one.kind != "stack" and one.born + MARGIN < begins and (one.died is None or one.died - MARGIN > ends)
    ]


def compare(account: Account, near: int) -> Residence:
    """Compares each page of each living object in each sample; `near` is the near node."""
    found = Residence()
    histories = _histories(account.run)
    for sample in account.samples:
        begins, ends = sample.before * 1e-9 - account.zero, sample.end * 1e-9 - account.zero
        living = _living(account.run, begins, ends)
        found.samples += bool(living)
        for one in living:
            for chunk in range(one.chunks):
                _compare_chunk(found, sample, one, chunk, histories[one.id, chunk], (begins, ends))
        alive = {one.id: one for one in living}
        for plan in account.plans:
            if plan.begins < begins and ends < plan.ends and {object_ for object_, _ in plan.near} <= set(alive):
                _compare_plan(found, sample, plan, histories, alive, begins, near)
    return found


def _compare_chunk(
    found: Residence, sample: Sample, one: Object, chunk: int, history: _History, times: tuple[float, float]
) -> None:
    """Compares a chunk's pages in one sample of the kernel with the node that its history states."""
    pages = sample.nodes(*one.range(chunk))
    low, high = one.range(chunk)
    node = history.node(times[0])
    if history.is_moving(*times) or node is None:
        found.moving += pages.total()
        return
    found.absent += (high - low) // PAGE - pages.total()
    found.compared += pages.total()
    wrong = pages.total() - pages[node]
    found.elsewhere += wrong
    if pages[node]:
        found.nodes.add(node)
    if wrong:
        where = f"at {times[0]:.2f} s {one.name} chunk {chunk}"
        found.problems.append(f"{where} has pages by node {dict(pages)}, the journal says {node}")


def _compare_plan(
    found: Residence,
    sample: Sample,
    plan: Plan,
    histories: dict[Chunk, _History],
    alive: dict[int, Object],
    begins: float,
    near: int,
) -> None:
    """Compares the chunks that a plan wants in near memory with the pages that a sample finds there."""
    if not plan.near:
        return
    found.in_force += 1
    for object_, chunk in plan.near:
        low, high = alive[object_].range(chunk)
        pages = sample.nodes(low, high)
        elsewhere = pages.total() - pages[near]
        found.wanted += (high - low) // PAGE
        found.near += pages[near]
        found.far += elsewhere
        if elsewhere and histories[object_, chunk].is_refused(begins):
            found.refused += elsewhere
