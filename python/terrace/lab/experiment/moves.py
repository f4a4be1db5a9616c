# SPDX-License-Identifier: Apache-2.0
"""Repeats Unimem's study at its original size (class C), at three costs of moves, for `terrace lab experiment
moves`: lists the cells to simulate, and makes tables and the report of their answers.

`swap` is Terrace's: pages are exchanged concurrently with the program. `user-copy` is the paper's: a helper thread
copies objects. `ideal` has only the cost of bytes, and no copier achieves it. Planners and policies have equal
costs.

Live runs learn and move as they go; steady is their later half. Planned runs follow a plan from an earlier
profile. Segments of plans begin by sentinel, a protected page whose fault reports the program's progress.
"""

from __future__ import annotations

from collections.abc import Sequence

from terrace.lab.experiment import pictures, published
from terrace.lab.experiment.cells import Answer, Answers, Cell, unique
from terrace.lab.experiment.page import Picture, Report, Section
from terrace.lab.experiment.pictures import Level, Series
from terrace.lab.experiment.setting import Reader, Setting, baselines
from terrace.lab.experiment.tables import Row, Table, geometric_mean, mean
from terrace.units import percent

MACHINES = ("unimem-bw2", "unimem-lat4")
COPIERS = ("swap", "user-copy", "ideal")
HEADLINE = "swap"
STUDY = "256MB"  # per rank
PROGRESS = "sentinel"  # most reliable method in real runs
OBJECTS = f"planned auto objects {PROGRESS}"  # moves whole objects like the paper
_COLUMNS = (f"live auto {PROGRESS}", f"planned auto {PROGRESS}", "bound")
# At the headline's cost: segments by time; by counts, which require instrumentation; from all misses.
_OTHERS = {
    "timer_gap": "planned auto timer",
    "counted_gap": "planned auto",
    "hooks_gap": f"oracle auto {PROGRESS}",
}
_NAMES = {"unimem-bw2": "half the bandwidth", "unimem-lat4": "four times the latency"}
_AVERAGED = (
    "slow_only_gap", "live_gap", "steady_gap", "planned_gap", "objects_gap", *_OTHERS, "bound_gap",
    "planned_over_bound",
)  # fmt: skip
_FAR = 0.05  # over fast-only: gap of a bound that is mentioned


def _baselines() -> dict[str, str]:
    """Returns all baselines but the cache of lines, because a replay does not separate the lines of chunks."""
    return {name: method for name, method in baselines().items() if name != "cache-mode"}


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells (simulations to run), the most important ones first."""
    asked: list[Cell] = []
    for name in setting.workloads:
        for machine in MACHINES:
            asked += [Cell(name, machine, method) for method in ("slow-only", "fast-only")]
            for copier in COPIERS:
                asked += [Cell(name, f"{machine}@{copier}", method, STUDY) for method in _COLUMNS]
            asked.append(Cell(name, f"{machine}@user-copy", OBJECTS, STUDY))
            asked += [Cell(name, f"{machine}@{HEADLINE}", method, STUDY) for method in _OTHERS.values()]
            if also := setting.program(name).study.also:
                asked += [Cell(name, f"{machine}@{HEADLINE}", method, also) for method in _COLUMNS]
    for name in setting.workloads:
        for machine in MACHINES:
            asked += [Cell(name, f"{machine}@{HEADLINE}", method, STUDY) for method in _baselines().values()]
    return unique(asked)


class _ProgramAnswers:
    """The answers about a program on a machine."""

    def __init__(self, answers: Answers, workload: str, machine: str) -> None:
        self._answers, self._workload, self._machine = answers, workload, machine
        self._plain = Reader(answers, workload, machine)
        self.fast = self._plain.get("fast-only")
        self.slow = answers.get(Cell(workload, machine, "slow-only"))

    def get(self, copier: str, method: str, size: str = STUDY) -> Answer:
        """Returns an answer at a copier's cost. Raises TerraceError if it beats the bound."""
        return Reader(self._answers, self._workload, f"{self._machine}@{copier}").get(method, size)

    def gap(self, seconds: float) -> float:
        """Returns the gap to fast-only."""
        return seconds / self.fast.loop_s - 1


def by_program(setting: Setting, answers: Answers) -> Table:
    """Returns all columns by program, machine and cost."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MACHINES:
            of = _ProgramAnswers(answers, name, machine)
            rows += [_row(of, name, machine, copier, STUDY) for copier in COPIERS]
            if also := setting.program(name).study.also:
                rows.append(_row(of, name, machine, HEADLINE, also))
    return Table("prices", "Every column, by program, machine and price of moves; gaps are to fast-only", rows)


def _row(of: _ProgramAnswers, name: str, machine: str, copier: str, size: str) -> Row:
    """Returns all columns of a program on a machine, at one cost of moves and size of fast memory."""
    live, planned, bound = (of.get(copier, method, size) for method in _COLUMNS)
    objects = of.get(copier, OBJECTS) if copier == "user-copy" else None
    others: Row = {
        column: of.gap(of.get(copier, method).loop_s) if (copier, size) == (HEADLINE, STUDY) else None
        for column, method in _OTHERS.items()
    }
    return {
        "workload": name, "machine": machine, "price": copier, "fast_memory": size, "fast_bytes": live.fast_bytes,
        "footprint_bytes": live.footprint_bytes, "iterations": live.iterations, "simulated": live.simulated,
        "slow_only_s": of.slow.loop_s, "live_s": live.loop_s, "steady_s": live.steady_s,
        "planned_s": planned.loop_s, "bound_s": bound.loop_s, "fast_only_s": of.fast.loop_s,
        "slow_only_gap": of.gap(of.slow.loop_s), "live_gap": of.gap(live.loop_s),
        "steady_gap": live.steady_s / of.fast.steady_s - 1, "planned_gap": of.gap(planned.loop_s),
        "objects_gap": of.gap(objects.loop_s) if objects else None, "bound_gap": of.gap(bound.loop_s),
        **others, "planned_over_bound": planned.loop_s / bound.loop_s - 1,
    }  # fmt: skip


def averages(rows: Sequence[Row]) -> Table:
    """Returns averages over programs with those published for 256 MB."""
    result: list[Row] = []
    for machine in MACHINES:
        for copier in COPIERS:
            here = [
                row
                for row in rows
                if (row["machine"], row["price"], row["fast_memory"]) == (machine, copier, STUDY)
            ]
            said = published.AVERAGES[machine]
            for which, of in (("all", here), ("too large", [row for row in here if _too_large(row)])):
                result.append(
                    {
                        "machine": machine, "price": copier, "which": which, "programs": len(of),
                        **{column: _mean_of(of, column) for column in _AVERAGED},
                        "published_slow_only_gap": said[0] - 1, "published_gap": said[1] - 1,
                    }
                )  # fmt: skip
    title = "Averages over all programs, and over those that do not fit into fast memory"
    return Table("averages", title, result)


def _too_large(row: Row) -> bool:
    return _number(row["footprint_bytes"]) > _number(row["fast_bytes"])


def _mean_of(rows: Sequence[Row], column: str) -> float | None:
    numbers = [_number(row[column]) for row in rows if row[column] is not None]
    return mean(numbers) if numbers else None


def where_it_goes(setting: Setting, answers: Answers) -> Table:
    """Returns what a program loses at the headline's cost, relative to fast-only's time.

    Columns: the bound, which none can beat; the loss of the plan (search and samples, stalls, waits, runtime
    overhead); and the additional loss of learning.
    """
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MACHINES:
            of = _ProgramAnswers(answers, name, machine)
            live, planned = of.get(HEADLINE, _COLUMNS[0]), of.get(HEADLINE, _COLUMNS[1])
            bound = of.get(HEADLINE, "bound").loop_s
            fast = of.fast.loop_s
            cost = planned.stalled_s + planned.waited_s + planned.charged_s
            rows.append(
                {
                    "workload": name, "machine": machine, "bound_gap": of.gap(bound),
                    "placement_share": (planned.loop_s - cost - bound) / fast,
                    "stalls_share": planned.stalled_s / fast, "waits_share": planned.waited_s / fast,
                    "own_work_share": planned.charged_s / fast, "planned_gap": of.gap(planned.loop_s),
                    "later_share": (live.steady_s - planned.steady_s) / of.fast.steady_s,
                    "learning_share": (live.loop_s - planned.loop_s - live.steady_s + planned.steady_s) / fast,
                    "live_gap": of.gap(live.loop_s), "moves": planned.moves, "moved_bytes": planned.moved_bytes,
                }
            )  # fmt: skip
    return Table("losses", "Where the time goes at the price of `swap`: shares of fast-only's time", rows)


def compared(setting: Setting, answers: Answers) -> Table:
    """Returns all baselines at the headline's cost, planned with planned and live with live."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MACHINES:
            of = _ProgramAnswers(answers, name, machine)
            for baseline, method in _baselines().items():
                how = method.partition(" ")[0]
                seconds, ours = of.get(HEADLINE, method).loop_s, of.get(HEADLINE, f"{how} auto {PROGRESS}").loop_s
                rows.append(
                    {
                        "workload": name, "machine": machine, "baseline": baseline, "how": how,
                        "loop_s": seconds, "ours_s": ours, "gap": of.gap(seconds), "over_ours": seconds / ours,
                    }
                )  # fmt: skip
    return Table("baselines", "Published planners and policies at the price of `swap`", rows)


def standing(rows: Sequence[Row]) -> Table:
    """Returns by baseline the geometric mean of its time relative to Terrace's, and where it is faster."""
    result: list[Row] = []
    for baseline in dict.fromkeys(row["baseline"] for row in rows):
        here = [row for row in rows if row["baseline"] == baseline]
        ahead = [f"{row['workload']} on {row['machine']}" for row in here if _number(row["over_ours"]) < 1]
        result.append(
            {
                "baseline": baseline, "how": here[0]["how"],
                "over_ours": geometric_mean([_number(row["over_ours"]) for row in here]),
                "ahead": len(ahead), "where": ", ".join(ahead),
            }
        )  # fmt: skip
    return Table("standing", "Time over ours: geometric means over programs and machines", result)


def report(setting: Setting, answers: Answers) -> Report:
    """Returns the report of `terrace lab experiment moves`, from all answers."""
    programs = by_program(setting, answers)
    of_averages = averages(programs.rows)
    against = compared(setting, answers)
    return Report(
        "Unimem's study in class C, at three costs of moves",
        _headline(of_averages),
        _lead(setting, programs),
        [
            Section(
                "Summary",
                "Costs: swap exchanges pages concurrently, as measured; user-copy is the paper's helper "
                "that copies objects (objects: moved as a whole, as in the paper); ideal has only the cost of "
                "bytes, and no copier achieves it. Live: learned in the first iteration. Steady: the later half "
                "of that run. Planned: an unmodified plan from an earlier profile. Segments begin by sentinel; "
                "timer: by time; counted: by counts, which require instrumentation. Hooks: planned from all "
                "misses. Too large: programs that do not fit into fast memory.",
                tables=[of_averages],
            ),
            *(_machine(setting, programs, machine) for machine in MACHINES),
            Section(
                "Causes of the losses",
                "Bound: unreachable by any software placement at this cost. Placement: cost of the plan's choices "
                "relative to the bound, from samples and search. Stalls, waits, own work: cost of moves for the "
                "program. Later and learning: additional loss of a live run, after and during learning.",
                tables=[where_it_goes(setting, answers)],
            ),
            Section(
                "Other planners and policies",
                "At the same cost, in the same memory: planners from a profile relative to Terrace's plan, "
                "policies during the run relative to Terrace's live run.",
                tables=[standing(against.rows), against],
            ),
        ],
    )


def _headline(table: Table) -> str:
    """Returns the report's headline: the average gaps at the cost of exchanged pages."""
    said = []
    for row in table.rows:
        if (row["price"], row["which"]) == (HEADLINE, "all"):
            live, planned, bound, paper = (
                percent(_number(row[column]))
                for column in ("live_gap", "planned_gap", "bound_gap", "published_gap")
            )
            said.append(
                f"at {_NAMES[str(row['machine'])]}: {live} live, {planned} planned, bound {bound} "
                f"(published: {paper})"
            )
    return f"On average over fast-only, with exchanged pages: {'; '.join(said)}."


def _lead(setting: Setting, programs: Table) -> str:
    """Returns the report's introduction: programs, sizes, and where the bound itself is far from fast-only."""
    far = [
        f"{row['workload']} on {row['machine']} ({percent(_number(row['bound_gap']))})"
        for row in programs.rows
        if (row["price"], row["fast_memory"]) == (HEADLINE, STUDY) and _number(row["bound_gap"]) > _FAR
    ]
    where = f"The bound itself is far from fast-only for {', '.join(far)}. " if far else ""
    return (
        f"{where}Programs: {', '.join(setting.workloads)}, class C as one program with one thread, which has "
        "the resources of the study's four ranks: four times 256 MB of fast memory. Some iterations are recorded, "
        "and the last one is repeated up to the class's number; once iterations take the "
        f"same time, the remaining ones are not simulated individually. {_whole(programs)} whole; a separate row "
        "has CG at the share of the study's rank. Core time is the machine's, not "
        "calibrated. Fast memory: 16 GB/s, 86 ns."
    )


def _whole(programs: Table) -> str:
    """Returns which programs fit."""
    fit = dict.fromkeys(
        str(row["workload"]) for row in programs.rows if row["fast_memory"] == STUDY and not _too_large(row)
    )
    return f"That memory holds the data of {', '.join(fit)}" if fit else "That memory holds no program's data"


def _machine(setting: Setting, programs: Table, machine: str) -> Section:
    """Returns the section of a machine: planned gaps by program and cost of moves, and the bound."""
    shown: list[Series] = []
    rows = [row for row in programs.rows if row["machine"] == machine]
    of_study = [row for row in rows if row["fast_memory"] == STUDY]
    for colour, copier in zip((pictures.FAST, pictures.SLOW, pictures.SOFT), COPIERS, strict=True):
        planned = {str(row["workload"]): _number(row["planned_gap"]) for row in of_study if row["price"] == copier}
        shown.append(Series(f"planned, {copier}", [100 * planned[name] for name in setting.workloads], colour))
        if copier != HEADLINE:
            continue
        bound = {str(row["workload"]): _number(row["bound_gap"]) for row in of_study if row["price"] == copier}
        shown.append(Series(f"bound, {copier}", [100 * bound[name] for name in setting.workloads], pictures.BOUND))
    slow, paper, _ = published.AVERAGES[machine]
    levels = [Level(100 * (paper - 1), f"Unimem: {paper - 1:.0%}")]
    title = f"Planned and bound at {_NAMES[machine]}"
    chart = pictures.bars(setting.workloads, shown, "slower than fast-only, %", levels)
    return Section(
        title,
        f"By program and price; dashed: the published average (slow-only: {slow - 1:.0%}).",
        pictures=[Picture(f"planned-{machine.removeprefix('unimem-')}", title, chart)],
        tables=[Table(f"{programs.name}-{machine}", f"{programs.title}: {machine}", rows)],
    )


def _number(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)
