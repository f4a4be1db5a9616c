# SPDX-License-Identifier: Apache-2.0
"""Writes the report of `terrace lab experiment unimem`: sections, pictures, and differences with reasons."""

from __future__ import annotations

from collections.abc import Sequence

from terrace.lab.experiment import gap_parts, pictures, published, unimem
from terrace.lab.experiment.cells import Answers
from terrace.lab.experiment.page import Picture, Report, Section
from terrace.lab.experiment.pictures import CYCLE, Level, Series
from terrace.lab.experiment.setting import Reader, Setting, baselines
from terrace.lab.experiment.tables import Row, Table
from terrace.units import percent

_NAMES = {"unimem-bw2": "half the bandwidth", "unimem-lat4": "four times the latency"}
_AXIS = "slower than fast-only, %"
_FIGURE = {"unimem-bw2": 9, "unimem-lat4": 10}


def report(setting: Setting, answers: Answers) -> Report:
    """Returns the report of `terrace lab experiment unimem`, from all answers."""
    managed = unimem.managed(setting, answers)
    averages = unimem.averages(managed.rows)
    sections = [
        _averages(averages),
        _slowdowns(setting, answers),
        *([_arrays(answers)] if "sp" in setting.workloads else []),
        *(_managed(setting, answers, managed, machine) for machine in unimem.MANAGED),
        gap_parts.section(setting, answers),
        *([] if setting.small else [_sizes(setting, managed)]),
        _baselines(setting, answers),
        _techniques(setting, answers),
        _moves(setting, answers),
    ]
    return Report(
        "Unimem's evaluation, SC'17: simulated and published",
        _headline(averages),
        f"Programs: {', '.join(setting.workloads)}, in class {setting.problem_class} with class C's numbers of "
        "iterations, each recorded once with one thread and replayed in virtual time. The ratio of the last cache "
        "to the program's footprint is that of 20 MB to a rank's data in class C on 4 ranks; the cache "
        "before it has at most a quarter of that; fast memory of 256 MB is scaled in the same ratio; "
        "programs that the study lacks count as 1,024 MB. Fast memory: 16 GB/s, 86 ns.",
        sections,
    )


def _headline(averages: Table) -> str:
    """Returns the report's headline: the average gaps, next to the published ones."""
    parts = []
    for row in averages.rows:
        if row["fast_memory"] == unimem.STUDY and row["planned_gap"] is not None:
            live, planned, said = (
                percent(float(row[column] or 0.0)) for column in ("live_gap", "planned_gap", "published_gap")
            )
            parts.append(f"{_NAMES[str(row['machine'])]}: {live} live, {planned} planned (published: {said})")
    return (
        f"On average over fast-only, at {'; at '.join(parts)}."
        if parts
        else "No program is slowed down by 5 % or more."
    )


def _averages(table: Table) -> Section:
    """Returns the summary, with the meaning of the columns."""
    return Section(
        "Summary",
        "Live: learned in the first iteration, including moves. Steady: the later half of that run's iterations, "
        "relative to the same ones of fast-only. Planned: an unmodified plan from an earlier profile, for the "
        "whole run. Gaps are relative to fast-only; no placement by software can be "
        "below the bound, which may be below fast-only: it excludes the runtime's overhead and the first "
        "iterations' extra work, and two memories together have more bandwidth than the fast one.",
        tables=[table],
    )


def _series(rows: Sequence[Row], column: str, names: Sequence[str], word: str, colour: str) -> Series:
    """Returns gaps in per cent, by program."""
    found = {str(row["workload"]): _float(row[column]) for row in rows}
    values = [None if (gap := found.get(name)) is None else 100 * gap for name in names]
    return Series(word, values, colour)


def _slowdowns(setting: Setting, answers: Answers) -> Section:
    """Returns the section on slow-only by bandwidth and latency (figures 2 and 3)."""
    table = unimem.slowdowns(setting, answers)
    shown = []
    for number, kind, machines in (("2", "bandwidth", unimem.BANDWIDTHS), ("3", "latency", unimem.LATENCIES)):
        series = []
        for colour, machine in zip((CYCLE[6], CYCLE[0], CYCLE[5]), machines, strict=True):
            by_name = {str(row["workload"]): row["slowdown"] for row in table.rows if row["machine"] == machine}
            values = [by_name.get(name) for name in setting.workloads]
            if any(by_name):
                series.append(Series(_SLOWER[machine], [_float(value) for value in values], colour))
        title = f"Figure {number}: all data in slow memory, by {kind}"
        chart = pictures.bars(setting.workloads, series, "time relative to fast-only")
        shown.append(Picture(f"figure-{number}", title, chart))
    return Section(
        "Figures 2 and 3: all data in slow memory",
        "The paper's text gives LU in class D (2.19 at half the bandwidth, 2.14 at twice the latency) and a "
        "range of 1.09 to 8.4 over all configurations.",
        [
            "Class D on four nodes with four ranks each shares a node's memory among four; here one core has it "
            "to itself. A core keeps ten misses and fifteen prefetched lines in flight, which is 11 GB/s at 86 "
            "ns, so half the bandwidth, 8 GB/s, slows a stream down by 1.4 at most.",
            "Longer latency costs more here than in the published programs: with as many lines in flight a stream "
            "reaches 2.8 GB/s at 344 ns. The study's emulator delays a program by the stalls that counters "
            "report, of which prefetched streams have few (an inference: its measurements by program are not in "
            "the text).",
        ],
        shown,
        [table],
    )


_SLOWER = {
    "unimem-bw2": "1/2 bandwidth", "unimem-bw4": "1/4 bandwidth", "unimem-bw8": "1/8 bandwidth",
    "unimem-lat2": "2x latency", "unimem-lat4": "4x latency", "unimem-lat8": "8x latency",
}  # fmt: skip


def _arrays(answers: Answers) -> Section:
    """Returns the section on SP with one array each in fast memory (figure 4)."""
    table = unimem.sp_arrays(answers)
    names = ["none", *unimem.ARRAYS]
    series = []
    for colour, machine in zip((CYCLE[2], CYCLE[0]), unimem.MANAGED, strict=True):
        ours = {row["in_fast_memory"]: _float(row["relative"]) for row in table.rows if row["machine"] == machine}
        said = {row["in_fast_memory"]: _float(row["published"]) for row in table.rows if row["machine"] == machine}
        series.append(Series(f"ours, {_NAMES[machine]}", [ours[name] for name in names], colour))
        series.append(
            Series(f"published, {_NAMES[machine]}", [said.get(name) for name in names], pictures.PALE[colour])
        )
    title = "Figure 4: SP with one array in fast memory"
    return Section(
        title,
        "Published for class D: lhs gains much at four times the latency (1.71 instead of 2.15) and little at "
        "half the bandwidth (1.21 instead of 1.25). The buffers of its messages (2.10 and 1.14) have no "
        "counterpart in one process.",
        [
            "Here SP streams lhs along lines, which the prefetcher follows: longer latency slows a prefetched "
            "stream in proportion as well (docs/explanation/virtual-time.md), so every streamed array matters in "
            "both configurations.",
        ],
        [Picture("figure-4", title, pictures.bars(names, series, "time relative to fast-only"))],
        [table],
    )


def _managed(setting: Setting, answers: Answers, managed: Table, machine: str) -> Section:
    """Returns the section of a machine: gaps by program with data placed by Terrace."""
    rows = [r for r in managed.rows if (r["machine"], r["fast_memory"]) == (machine, unimem.STUDY)]
    names = setting.workloads
    series = [
        _series(rows, "slow_only_gap", names, "slow-only", pictures.SLOW),
        *_xmem(setting, answers, machine),
        _series(rows, "live_gap", names, "live", pictures.FAST),
        _series(rows, "planned_gap", names, "planned", pictures.GOOD),
        _series(rows, "bound_gap", names, "bound", pictures.BOUND),
    ]
    slow, unimems, _ = published.AVERAGES[machine]
    levels = [
        Level(100 * (slow - 1), f"slow-only,\npublished: {slow - 1:.0%}"),
        Level(100 * (unimems - 1), f"Unimem: {unimems - 1:.0%}"),
    ]
    title = f"Figure {_FIGURE[machine]}: {_NAMES[machine]}, fast memory in the study's ratio (256 MB)"
    tables = [managed] if machine == unimem.HALF else []
    picture = Picture(f"figure-{_FIGURE[machine]}", title, pictures.bars(names, series, _AXIS, levels))
    return Section(title, "By program; dashed: the published averages.", _REASONS[machine], [picture], tables)


_REASONS = {
    "unimem-bw2": [
        "Half the bandwidth slows programs down less than published: one core requests at most 11 GB/s, and less "
        "where it computes; it cannot use a whole node's bandwidth.",
        "X-Mem, as published, moves nothing and places whole arrays: those larger than fast memory stay in slow "
        "memory.",
    ],
    "unimem-lat4": [
        "Four times the latency slows programs down more than published, as in Figure 3, and so does an iteration "
        "that is learned in slow memory: of MG's twenty that is one.",
    ],
}


def _xmem(setting: Setting, answers: Answers, machine: str) -> list[Series]:
    """Returns the series of X-Mem, the baseline of the paper's figures."""
    method = baselines().get("xmem")
    if method is None:
        return []
    found = [Reader(answers, name, machine).relative(method, unimem.STUDY) for name in setting.workloads]
    gaps = [None if relative is None else 100 * (relative - 1) for relative in found]
    return [Series("X-Mem", gaps, pictures.SOFT)]


def _sizes(setting: Setting, managed: Table) -> Section:
    """Returns the section on the size of fast memory (figure 13)."""
    series = []
    for colour, size in zip((CYCLE[0], CYCLE[2], CYCLE[3]), published.BY_SIZE, strict=True):
        rows = [r for r in managed.rows if (r["machine"], r["fast_memory"]) == (unimem.HALF, size)]
        series.append(_series(rows, "live_gap", setting.workloads, size, colour))
    title = "Figure 13: live, by the size of fast memory, half the bandwidth"
    levels = [Level(7, "published:\nat most 7 %"), Level(13, "MG, 128 MB: 13 %")]
    chart = pictures.bars(setting.workloads, series, _AXIS, levels)
    return Section(
        title,
        "Published: within 7 % everywhere, except MG with 128 MB, 13 %, because its arrays could not be divided.",
        ["Any array can be divided here: pages move and keep their addresses."],
        [Picture("figure-13", title, chart)],
    )


def _baselines(setting: Setting, answers: Answers) -> Section:
    """Returns the section on published planners and policies."""
    table = unimem.compared(setting, answers)
    names = list(baselines())
    shown = []
    for machine in unimem.MANAGED:
        series = []
        for number, name in enumerate(names):
            rows = [r for r in table.rows if (r["machine"], r["baseline"]) == (machine, name)]
            series.append(_series(rows, "gap", setting.workloads, name, CYCLE[number % len(CYCLE)]))
        title = f"Baselines: {_NAMES[machine]}, the study's fast memory"
        chart = pictures.bars(setting.workloads, series, _AXIS)
        shown.append(Picture(f"baselines-{machine.removeprefix('unimem-')}", title, chart))
    return Section(
        "Other planners and policies",
        "Planners that learn offline follow a plan from the same profile as Terrace's (planned); the others act "
        "during the run and are compared with Terrace's live run (live). docs/explanation/planning.md describes "
        "each and its source.",
        pictures=shown,
        tables=[table],
    )


def _techniques(setting: Setting, answers: Answers) -> Section:
    """Returns the section on the contribution of each technique (figure 11)."""
    table, off = unimem.contributions(setting, answers), unimem.switched_off(setting, answers)
    shown = []
    for name, of, steps in (("figure-11", table, unimem.STEPS), ("switched-off", off, unimem.SWITCHES)):
        series = []
        for number, step in enumerate(steps):
            rows = [row for row in of.rows if row["step"] == step.name]
            series.append(_series(rows, "gap", setting.workloads, step.name, CYCLE[number]))
        chart = pictures.bars(setting.workloads, series, _AXIS)
        shown.append(Picture(name, of.title, chart))
    return Section(
        "Figure 11: what each technique contributes",
        "In the paper's order: one placement for the loop, local search, partitioning, initial placement; then "
        "the default planner, which streams. Without initial placement a run learns in its first iteration. "
        "The runtime always divides objects into chunks, so the first two steps are plans that move whole "
        "objects, plus the cost of learning of the same planner with chunks.",
        [
            "Published: CG and LU have over 90 % of their gain from global search, BT and SP 19 % and 5 % from "
            "local search, FT 58 % from partitioning, SP 87 % from initial placement. Initial placement gains "
            "little here, because learning takes one iteration of up to 400, and data are then fetched "
            "concurrently.",
        ],
        shown,
        [table, off],
    )


def _moves(setting: Setting, answers: Answers) -> Section:
    """Returns the section on moves and their hidden share (table 4)."""
    table = unimem.moves(setting, answers)
    series = []
    for colour, how in ((pictures.FAST, "live"), (pictures.GOOD, "planned")):
        rows = {r["workload"]: r for r in table.rows if (r["machine"], r["how"]) == (unimem.HALF, how)}
        series.append(Series(how, [_float(rows[name]["overlap"]) for name in setting.workloads], colour))
    said = [published.MOVES[name][3] if name in published.MOVES else None for name in setting.workloads]
    series.append(Series("published", said, pictures.SOFT))
    title = "Table 4: hidden share of moves, half the bandwidth"
    return Section(
        "Table 4: moves",
        "Overlap is 1 - (T - T') / copying, where T' is the same run with moves that take neither time nor "
        "bandwidth, and copying is the moves' copying time. It is negative if moves delay the program "
        "for longer than their own copies take. Own cost is the runtime's overhead in the loop.",
        [
            "Terrace moves chunks, in every iteration where that pays off, so there are many more moves and "
            "bytes; published moves are few and of whole objects. Eddy is compared with Nek5000.",
        ],
        [Picture("table-4", title, pictures.bars(setting.workloads, series, "share hidden"))],
        [table],
    )


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) else None
