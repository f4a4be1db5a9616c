# SPDX-License-Identifier: Apache-2.0
"""Splits the gap between a live run and fast-only into its causes, by program and machine, at the study's size. A
table of the unimem report.

    learning    live - planned: the first iteration, concurrent planning, fetching data
    sampling    planned - oracle: cost of planning from samples instead of exact counters
    moves       planned - planned with free moves: late copies, their bandwidth, and waits (also listed)
    search      the rest, down to the bound: plans that the search did not find, or that whole chunks prohibit
    bound       bound - fast-only: unreachable by any software placement

Their sum is the gap. Parts may be negative: a plan from samples can be better by chance.
"""

from __future__ import annotations

from terrace.lab.experiment import unimem
from terrace.lab.experiment.cells import Answers
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.setting import Reader, Setting
from terrace.lab.experiment.tables import PRICE, Row, Table


def table(setting: Setting, answers: Answers) -> Table:
    """Returns a row for each program and machine; parts are relative to fast-only's time."""
    rows = [_row(Reader(answers, name, machine)) for name in setting.workloads for machine in unimem.MANAGED]
    return Table("gap_parts", f"Gap of live runs to fast-only by cause, relative to fast-only's time{PRICE}", rows)


def _row(reader: Reader) -> Row:
    """Returns a program's gap and its parts, each relative to fast-only."""
    live, planned = reader.get("live auto", unimem.STUDY), reader.get("planned auto", unimem.STUDY)
    oracle = reader.get("oracle auto", unimem.STUDY).loop_s
    free = reader.get("planned auto free", unimem.STUDY).loop_s
    bound = reader.get("bound", unimem.STUDY).loop_s
    parts = {
        "learning": live.loop_s - planned.loop_s,
        "sampling": planned.loop_s - oracle,
        "moves": planned.loop_s - free,
        "search": free - (planned.loop_s - oracle) - bound,
        "bound": bound - reader.fast,
    }
    return {
        "workload": reader.workload, "machine": reader.machine, "live_gap": live.loop_s / reader.fast - 1,
        **{name: seconds / reader.fast for name, seconds in parts.items()},
        "waits_among_moves": planned.waited_s / reader.fast,
    }  # fmt: skip


def section(setting: Setting, answers: Answers) -> Section:
    """Returns the section of the unimem report on the parts of each gap."""
    return Section(
        "Causes of the gap",
        "Learning: live - planned. Sampling: planned - plan from exact counters. Moves: planned - the "
        "same with free moves. Search: the rest, down to the bound; plans that were not found, or that whole "
        "chunks prohibit. Bound: bound - fast-only. Their sum is the gap of the live run.",
        tables=[table(setting, answers)],
    )
