"""What the gap of a live run to fast-only is made of, by program and machine, at the study's size.

    learning    live less planned: the first iteration, planning beside the program, bringing data in
    sampling    planned less oracle: what plans from samples lose against plans from exact counters
    moves       planned less the same with free moves: late copies, their bandwidth, and waits (given beside it)
    search      the rest, down to the bound: plans that the search did not find, or that no whole chunks can make
    bound       less fast-only: what no placement by software gets

Their sum is the gap. A part may be negative: a plan from samples may happen to be the better one.
"""

from __future__ import annotations

from terrace.lab.experiment import unimem
from terrace.lab.experiment.cells import Answers
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.setting import Reader, Setting
from terrace.lab.experiment.tables import PRICE, Row, Table


def table(setting: Setting, answers: Answers) -> Table:
    """A row for each program and machine; all parts are shares of fast-only's time."""
    rows = [_row(Reader(answers, name, machine)) for name in setting.workloads for machine in unimem.MANAGED]
    return Table("gap_parts", f"What live runs lose to fast-only, in parts of fast-only's time{PRICE}", rows)


def _row(reader: Reader) -> Row:
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
    """Of the page."""
    return Section(
        "What the gaps are made of",
        "Learning: live less planned. Sampling: planned less a plan from exact counters. Moves: planned less the "
        "same with free moves. Search: the rest, down to the bound; plans that were not found, or that whole "
        "chunks cannot make. Bound: less fast-only. Their sum is the gap of the live run.",
        tables=[table(setting, answers)],
    )
