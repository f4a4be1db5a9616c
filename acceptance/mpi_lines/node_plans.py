# SPDX-License-Identifier: Apache-2.0
"""Compares the kernel's account of ranks' pages with the plans that the ranks adopted, with their shares, and with
the memory that a killed rank had. node_memory.py reads the accounts.

The profile's table `plan_part` says which chunks a plan has in fast memory when an iteration begins. The journal
of moves is not used here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mpi_lines.node_samples import FAST_NODE, Report, Sample

SETTLING = 3.0  # s, from a decision until its moves are done: a rank may wait for other ranks' data to leave
MIN_AS_PLANNED = 0.95  # of the chunks of settled plans: a trial suspends a plan for some iterations
MAX_DELAY = 1.0  # s, from the end of a rank until the others have some of its memory
MAX_WHOLE = 10.0  # s, until they have MIN_RETURNED of it: the emulator's moves take seconds
MIN_RETURNED = 0.9  # of a killed rank's memory
ROUNDING = 1 << 20  # notes state shares in whole MiB


@dataclass
class Plan:
    """A plan in force. Times in s of CLOCK_MONOTONIC."""

    begin: float
    end: float
    fast: list[tuple[int, int]]  # ranges of addresses in fast memory
    slow: list[tuple[int, int]]  # the rest of the program's arrays
    is_compared: int = 0
    is_as_planned: int = 0


def _ranges(address: int, size: int, parts: int) -> list[tuple[int, int]]:
    """Divides an object into equal parts of whole bytes; the last one may be shorter."""
    step = -(-size // parts)
    return [(address + i * step, address + min((i + 1) * step, size)) for i in range(parts)]


def read_plans(profile: Path, rank: int, arrays: str, zero: float, ends: Sequence[float]) -> list[Plan]:
    """Returns the plans that a rank adopted, for the objects whose names are LIKE `arrays`. A plan ends with the
    next one, or at the first of `ends` after it. Parts that move within an iteration are in neither list."""
    found: list[Plan] = []
    with closing(sqlite3.connect(profile)) as database:
        begun = database.execute(
            "SELECT plan.id, run, at FROM plan JOIN run ON run.id = run WHERE rank = ? ORDER BY at", (rank,)
        ).fetchall()
        for number, (plan, run, at) in enumerate(begun):
            begin = at + zero
            later = [one for one in ends if one > begin]
            later += [begun[number + 1][2] + zero] if number + 1 < len(begun) else []
            one = Plan(begin, min(later, default=float("inf")), [], [])
            for index, name, size, parts in database.execute(
                "SELECT object, name, size, chunks FROM plan_object WHERE plan = ? AND name LIKE ?", (plan, arrays)
            ).fetchall():
                address = database.execute(
                    "SELECT address FROM object WHERE run = ? AND name = ?", (run, name)
                ).fetchone()
                wanted = {
                    chunk
                    for first, chunks in database.execute(
                        "SELECT first, chunks FROM plan_part WHERE plan = ? AND object = ? AND place LIKE 'hbm%'",
                        (plan, index),
                    )
                    for chunk in range(first, first + chunks)
                }
                moved = {
                    chunk
                    for first, chunks in database.execute(
                        "SELECT first, chunks FROM plan_move WHERE plan = ? AND object = ?", (plan, index)
                    )
                    for chunk in range(first, first + chunks)
                }
                for chunk, limits in enumerate(_ranges(address[0], size, parts)):
                    if chunk not in moved:
                        (one.fast if chunk in wanted else one.slow).append(limits)
            found.append(one)
    return found


def compare_plan(plan: Plan, samples: Sequence[Sample]) -> None:
    """Counts the chunks that the kernel has where the plan has them, once the plan is settled."""
    for sample in samples:
        if sample.begin < plan.begin + SETTLING or sample.end > plan.end:
            continue
        for is_fast, ranges in ((True, plan.fast), (False, plan.slow)):
            for low, high in ranges:
                nodes = set(sample.nodes(low, high))
                if not nodes:
                    continue  # on their way, or absent
                plan.is_compared += 1
                plan.is_as_planned += nodes == {FAST_NODE} if is_fast else FAST_NODE not in nodes


def undoing(notes: Iterable[tuple[float, str]]) -> list[float]:
    """Returns when plans were undone."""
    return [at for at, text in notes if text.startswith("the plan is undone")]


def exceeded_shares(
    number: int, divisions: list[tuple[float, int, int]], samples: Sequence[Sample]
) -> tuple[int, list[str]]:
    """Returns the number of samples that were compared with a settled share, and those above it."""
    compared, problems = 0, []
    limits = [*(at for at, _, _ in divisions[1:]), float("inf")]
    for (at, _, share), end in zip(divisions, limits, strict=False):
        for sample in samples:
            if at + SETTLING <= sample.begin and sample.end <= end:
                compared += 1
                if sample.fast_bytes() > (share << 20) + ROUNDING:
                    problems.append(
                        f"rank {number} has {sample.fast_bytes() / (1 << 20):.1f} MiB with a share of {share} MiB"
                    )
    return compared, problems


@dataclass
class Return:
    """Growth of the survivors' memory after a rank was killed."""

    killed: int  # bytes that the killed rank had
    grown: int  # bytes
    first: float | None  # s from its end until the first growth
    whole: float | None  # s until MIN_RETURNED of it

    def problems(self) -> list[str]:
        if self.killed < 1 << 20:
            return [f"the killed rank had {self.killed >> 10} KiB of the fast node: nothing to return"]
        found = []
        if self.first is None or self.first > MAX_DELAY:
            found.append(f"the others' first memory of the killed rank came after {self.first} s")
        if self.whole is None or self.whole > MAX_WHOLE:
            found.append(f"the others grew by {self.grown >> 10} KiB of the killed rank's {self.killed >> 10} KiB")
        return found


def returned_memory(reports: list[Report], killed: int) -> Return | None:
    """Compares the survivors' bytes on the fast node after the end of a rank with those before. A growth after
    another survivor's last sample does not count: that one's memory is free then."""
    died = reports[killed].killed
    survivors = [one for number, one in enumerate(reports) if number != killed]
    if died is None or not all(one.samples for one in reports):
        return None

    def last(report: Report, time: float) -> int:
        before = [sample for sample in report.samples if sample.end <= time]
        return before[-1].fast_bytes() if before else 0

    before = sum(last(one, died) for one in survivors)
    had = reports[killed].samples[-1].fast_bytes()
    limit = min(one.samples[-1].end for one in survivors)
    found = Return(had, 0, None, None)
    for time in sorted(sample.end for one in survivors for sample in one.samples if died < sample.end <= limit):
        grown = sum(last(one, time) for one in survivors) - before
        found.grown = max(found.grown, grown)
        if grown > 0 and found.first is None:
            found.first = round(time - died, 2)
        if grown >= MIN_RETURNED * had and found.whole is None:
            found.whole = round(time - died, 2)
    return found


def parse_divisions(notes: Iterable[tuple[float, str]]) -> list[tuple[float, int, int]]:
    """Returns the divisions that a rank noted: when, among how many, and its share in MiB."""
    found = []
    for at, text in notes:
        if words := re.search(r"divided among (\d+) rank.* gets (\d+) MiB", text):
            found.append((at, int(words[1]), int(words[2])))
    return found
