# SPDX-License-Identifier: Apache-2.0
"""Lists the cells (recorded programs to simulate) of Unimem's evaluation (SC'17), and makes tables of their
answers, for `terrace lab experiment unimem`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from terrace.lab.experiment import published
from terrace.lab.experiment.cells import Answers, Cell, unique
from terrace.lab.experiment.setting import Reader, Setting, baselines
from terrace.lab.experiment.tables import PRICE, Row, Table, mean
from terrace.solve.figures import overlap

BANDWIDTHS = ("unimem-bw2", "unimem-bw4", "unimem-bw8")
LATENCIES = ("unimem-lat2", "unimem-lat4", "unimem-lat8")
MANAGED = ("unimem-bw2", "unimem-lat4")
HALF = "unimem-bw2"  # machine of Figures 11 and 13 and Table 4
STUDY = "256MB"
WHOLE = "1/1"  # of the footprint: each single array fits, and no placement beats its bound
ARRAYS = ("lhs", "rhs", "u", "forcing")  # in SP
_SLOWED = 1.05  # minimum slowdown of programs in averages; others are only listed


@dataclass(frozen=True)
class Step:
    """A step of Figure 11, or a disabled technique, with the formula of its time."""

    name: str
    methods: tuple[str, ...]
    seconds: Callable[[Reader], float]


def _read(method: str) -> Step:
    return Step("", (method,), lambda reader: reader.get(method, STUDY).loop_s)


def _unlearned(planner: str) -> Step:
    """Returns a step for whole objects, learned during the run.

    The runtime divides objects into chunks. So the time is that of the plan that moves whole objects, plus the
    cost of learning of the same planner with chunks: the first iteration, and fetching data.
    """
    live, planned, objects = f"live {planner}", f"planned {planner}", f"planned {planner} objects"

    def seconds(reader: Reader) -> float:
        learning = reader.get(live, STUDY).loop_s - reader.get(planned, STUDY).loop_s
        return reader.get(objects, STUDY).loop_s + learning

    return Step("", (live, planned, objects), seconds)


def _named(name: str, step: Step) -> Step:
    return Step(name, step.methods, step.seconds)


# Figure 11's order; the paper's techniques first.
STEPS = (
    _named("global", _unlearned("global")),
    _named("+ local", _unlearned("unimem")),
    _named("+ partition", _read("live unimem")),
    _named("+ initial", _read("planned unimem")),
    _named("+ stream", _read("planned auto")),
)
SWITCHES = (
    _named("all on", _read("planned auto")),
    _named("without stream", _read("planned unimem")),
    _named("without moves", _read("planned global")),
    _named("without global", _read("planned local")),
    _named("without partition", _read("planned auto objects")),
    _named("without initial", _read("live auto")),
)


def sizes(setting: Setting, workload: str) -> tuple[str, ...]:
    """Returns the sizes of fast memory.

    For programs that the study lacks, its ratio is a quarter of the footprint.
    """
    if setting.small:
        return (STUDY,)
    return (STUDY, "128MB", "512MB", *(("1/4",) if setting.program(workload).study.published else ()))


def machines(setting: Setting) -> tuple[str, ...]:
    """Returns the machines whose slow memory is evaluated alone."""
    return MANAGED if setting.small else BANDWIDTHS + LATENCIES


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells, the most important ones first."""
    asked: list[Cell] = []
    for name in setting.workloads:
        asked += [Cell(name, m, method) for m in machines(setting) for method in ("slow-only", "fast-only")]
        for machine in MANAGED:
            for size in sizes(setting, name):
                columns = ("live auto", "planned auto", "oracle auto", "bound", "live unimem")
                asked += [Cell(name, machine, method, size) for method in columns]
            asked += [Cell(name, machine, method, STUDY) for method in baselines().values()]
        asked += [Cell(name, HALF, method, STUDY) for step in STEPS + SWITCHES for method in step.methods]
        asked += [Cell(name, m, f"{how} auto free", STUDY) for m in MANAGED for how in ("live", "planned")]
        if name == "sp":
            methods = ("bound", *(f"alone {array}" for array in ARRAYS))
            asked += [Cell(name, machine, method, WHOLE) for machine in MANAGED for method in methods]
    return unique(asked)


def slowdowns(setting: Setting, answers: Answers) -> Table:
    """Returns the table of figures 2 and 3: slow-only by bandwidth and by latency."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in machines(setting):
            reader = Reader(answers, name, machine)
            rows.append(
                {
                    "workload": name, "machine": machine, "slow_only_s": reader.slow, "fast_only_s": reader.fast,
                    "slowdown": reader.slow / reader.fast,
                    "published": published.SLOW_ONLY.get((name, machine)),
                }
            )  # fmt: skip
    return Table("slowdowns", "All data in slow memory, relative to all data in fast memory", rows)


def sp_arrays(answers: Answers) -> Table:
    """Returns the table of figure 4: SP with one array each in fast memory."""
    rows: list[Row] = []
    for machine in MANAGED:
        reader = Reader(answers, "sp", machine)
        times = {"": reader.slow, **{array: reader.get(f"alone {array}", WHOLE).loop_s for array in ARRAYS}}
        for array, seconds in times.items():
            rows.append(
                {
                    "machine": machine, "in_fast_memory": array or "none", "loop_s": seconds,
                    "relative": seconds / reader.fast,
                    "gained_share": (reader.slow - seconds) / (reader.slow - reader.fast),
                    "published": published.SP_ARRAYS.get((array, machine)),
                }
            )  # fmt: skip
    return Table("sp_arrays", "SP with one array in fast memory, relative to all data in fast memory", rows)


def managed(setting: Setting, answers: Answers) -> Table:
    """Returns Figures 9, 10 and 13, in all columns."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MANAGED:
            reader = Reader(answers, name, machine)
            rows += [_managed(reader, size) for size in sizes(setting, name)]
    return Table(
        "managed", f"Every column, by program, machine and fast memory; gaps are to fast-only{PRICE}", rows
    )


def _managed(reader: Reader, size: str) -> Row:
    """Returns all columns of a program with data placed by Terrace, at one size of fast memory."""
    live, planned = reader.get("live auto", size), reader.get("planned auto", size)
    oracle, bound = reader.get("oracle auto", size).loop_s, reader.get("bound", size).loop_s
    paper = reader.get("live unimem", size).loop_s
    steady_fast = reader.get("fast-only").steady_s
    return {
        "workload": reader.workload, "machine": reader.machine, "fast_memory": size,
        "fast_bytes": live.fast_bytes, "footprint_bytes": live.footprint_bytes, "iterations": live.iterations,
        "slow_only_s": reader.checked("slow-only", size, reader.slow), "unimem_live_s": paper,
        "live_s": live.loop_s, "steady_s": live.steady_s, "steady_fast_only_s": steady_fast,
        "planned_s": planned.loop_s, "oracle_s": oracle, "bound_s": bound, "fast_only_s": reader.fast,
        "slow_only_gap": reader.slow / reader.fast - 1, "live_gap": live.loop_s / reader.fast - 1,
        "steady_gap": live.steady_s / steady_fast - 1, "planned_gap": planned.loop_s / reader.fast - 1,
        "bound_gap": bound / reader.fast - 1, "planned_over_bound": planned.loop_s / bound - 1,
    }  # fmt: skip


def averages(rows: list[Row]) -> Table:
    """Returns averages over programs with a slowdown of at least 5 %, with those published for 256 MB."""
    result: list[Row] = []
    for machine in MANAGED:
        for size in dict.fromkeys(row["fast_memory"] for row in rows):
            here = [row for row in rows if (row["machine"], row["fast_memory"]) == (machine, size)]
            slowed = [row for row in here if _number(row["slow_only_gap"]) >= _SLOWED - 1]
            said = published.AVERAGES[machine] if size == STUDY else None
            result.append(
                {
                    "machine": machine, "fast_memory": size, "programs": len(here), "averaged": len(slowed),
                    **{column: mean([_number(row[column]) for row in slowed]) for column in
                       ("slow_only_gap", "live_gap", "steady_gap", "planned_gap", "bound_gap")},
                    "worst_live_gap": max((_number(row["live_gap"]) for row in slowed), default=None),
                    "worst_planned_gap": max((_number(row["planned_gap"]) for row in slowed), default=None),
                    "published_slow_only_gap": said[0] - 1 if said else None,
                    "published_gap": said[1] - 1 if said else None,
                    "published_worst_gap": said[2] - 1 if said else None,
                }
            )  # fmt: skip
    return Table(
        "averages", f"Averages over programs with a slowdown of at least 5 % in slow memory{PRICE}", result
    )


def compared(setting: Setting, answers: Answers) -> Table:
    """Returns all baselines of the library at the study's size, planned with planned and live with live."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MANAGED:
            reader = Reader(answers, name, machine)
            for baseline, method in baselines().items():
                how = method.partition(" ")[0]
                seconds, ours = reader.get(method, STUDY).loop_s, reader.get(f"{how} auto", STUDY).loop_s
                rows.append(
                    {
                        "workload": name, "machine": machine, "baseline": baseline, "how": how,
                        "loop_s": seconds, "ours_s": ours, "gap": seconds / reader.fast - 1,
                        "over_ours_gap": seconds / ours - 1,
                    }
                )  # fmt: skip
    return Table("baselines", f"Published planners and policies with the study's fast memory{PRICE}", rows)


def contributions(setting: Setting, answers: Answers) -> Table:
    """Returns Figure 11: techniques added one by one."""
    return Table(
        "techniques",
        f"Figure 11's techniques added one by one, half the bandwidth{PRICE}",
        _stepwise(setting, answers, STEPS, "published", published.TECHNIQUES),
    )


def switched_off(setting: Setting, answers: Answers) -> Table:
    """Returns the effect of disabling each technique."""
    return Table(
        "switched_off", f"Each technique disabled in turn, half the bandwidth{PRICE}",
        _stepwise(setting, answers, SWITCHES, "", {}),
    )  # fmt: skip


def _stepwise(
    setting: Setting, answers: Answers, steps: tuple[Step, ...], said_as: str, said: dict[str, str]
) -> list[Row]:
    """Returns a row for each step: its time, and the share of the gap between slow-only and fast-only that is
    closed.
    """
    rows: list[Row] = []
    for name in setting.workloads:
        reader = Reader(answers, name, HALF)
        room = reader.slow - reader.fast
        for step in steps:
            seconds = reader.checked(step.name, STUDY, step.seconds(reader))
            rows.append(
                {
                    "workload": name, "step": step.name, "loop_s": seconds, "gap": seconds / reader.fast - 1,
                    "closed_share": (reader.slow - seconds) / room if room > 0 else None,
                    **({said_as: said.get(name)} if said_as else {}),
                }
            )  # fmt: skip
    return rows


def moves(setting: Setting, answers: Answers) -> Table:
    """Returns table 4 (number, bytes and hidden share of moves), on both machines."""
    rows: list[Row] = []
    for name in setting.workloads:
        for machine in MANAGED:
            reader = Reader(answers, name, machine)
            rows += [_moves(reader, how, setting.program(name).study.footprint) for how in ("live", "planned")]
    return Table("moves", f"Table 4: moves, their cost, and their hidden share{PRICE}", rows)


def _moves(reader: Reader, how: str, class_c: float) -> Row:
    """Returns the number, bytes and hidden share of a program's moves."""
    method = f"{how} auto"
    done, free = reader.get(method, STUDY), reader.get(f"{method} free", STUDY)
    said = published.MOVES.get(reader.workload) if reader.machine == HALF else None
    scale = class_c / done.footprint_bytes
    return {
        "workload": reader.workload, "machine": reader.machine, "how": how, "moves": done.moves,
        "moved_bytes": done.moved_bytes, "moved_in_class_c_bytes": done.moved_bytes * scale,
        "moved_an_iteration_share": done.moved_bytes / done.footprint_bytes / done.iterations,
        "own_cost_share": done.charged_s / done.loop_s, "loop_s": done.loop_s, "free_moves_s": free.loop_s,
        "copying_s": done.copying_s,
        "overlap": overlap(done.loop_s, free.loop_s, done.copying_s),
        "published_moves": said[0] if said else None, "published_moved_mb": said[1] if said else None,
        "published_own_cost_share": said[2] if said else None, "published_overlap": said[3] if said else None,
    }  # fmt: skip


def _number(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)
