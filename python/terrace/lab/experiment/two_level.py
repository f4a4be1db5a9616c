# SPDX-License-Identifier: Apache-2.0
"""Lists the cells (recorded programs to simulate) of the two-level-memory study, and makes tables of their
answers, for `terrace lab experiment two-level`."""

from __future__ import annotations

from terrace.lab.experiment import published
from terrace.lab.experiment.cells import Answers, Cell, unique
from terrace.lab.experiment.metrics import METRICS
from terrace.lab.experiment.setting import Reader, Setting, baselines
from terrace.lab.experiment.tables import PRICE, Row, Table, mean

MACHINES = ("two-level-sandy-bridge", "knl-7210-flat")
CODE = "hydro"  # substitute of LULESH
QUARTER = "1/4"
SHARES = ("1/16", "1/8", "1/4", "1/2", "1/1")
GRAINS = ("chunks", "objects")
BY_METRIC = "metric benefit-a-byte objects"
_STREAMED = {"copy": 2, "scale": 2, "add": 3, "triad": 3}  # arrays, as STREAM counts bytes
_WORTHWHILE = 1.02  # minimum slowdown of programs in averages


def shares(setting: Setting) -> tuple[str, ...]:
    """Returns the sizes of fast memory relative to the footprint."""
    return ("1/4", "1/1") if setting.small else SHARES


def studied(setting: Setting) -> list[str]:
    """Returns the programs of the metric study."""
    return [name for name in setting.workloads if name != "stream"]


def placements() -> dict[str, Cell]:
    """Returns the cells of the code by name, with fast memory for a quarter of its data; without machine."""
    named = {
        "all in slow": Cell(CODE, "", "slow-only"),
        "by metric": Cell(CODE, "", BY_METRIC, QUARTER),
        "guided": Cell(CODE, "", "planned auto", QUARTER),
        "cache mode": Cell(CODE, "", baselines().get("cache-mode", ""), QUARTER),
        "all in fast": Cell(CODE, "", "fast-only"),
    }
    return {name: cell for name, cell in named.items() if cell.method}


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells (simulations to run): slow, fast, placements of the code, metrics."""
    asked: list[Cell] = []
    for machine in MACHINES:
        for name in setting.workloads:
            asked += [Cell(name, machine, method) for method in ("slow-only", "fast-only")]
        if CODE in setting.workloads:
            asked += [Cell(CODE, machine, cell.method, cell.size) for cell in placements().values()]
        for name in studied(setting):
            for size in shares(setting):
                asked += [Cell(name, machine, method, size) for method in ("bound", "planned auto", *_metrics())]
    return unique(asked)


def _metrics() -> list[str]:
    return [f"metric {metric} {grain}" for grain in GRAINS for metric in METRICS]


def stream(answers: Answers) -> Table:
    """Returns Table I: GB/s of STREAM's kernels; each array is a third of the footprint."""
    rows: list[Row] = []
    for machine in MACHINES:
        reader = Reader(answers, "stream", machine)
        slow, fast = reader.get("slow-only"), reader.get("fast-only")
        for kernel, arrays in _STREAMED.items():
            moved = arrays * slow.footprint_bytes / 3 * slow.iterations / 1e9
            ours = moved / slow.phases[kernel], moved / fast.phases[kernel]
            said = published.STREAM[machine][kernel]
            rows.append(
                {
                    "machine": machine, "kernel": kernel, "slow_rate": ours[0], "fast_rate": ours[1],
                    "ratio": ours[1] / ours[0], "published_slow": said[0], "published_fast": said[1],
                    "published_ratio": said[1] / said[0],
                }
            )  # fmt: skip
    return Table("stream", "STREAM by memory, GB/s", rows)


def overall(answers: Answers) -> Table:
    """Returns Figure 1: speed of each placement relative to all data in slow memory."""
    rows: list[Row] = []
    for machine in MACHINES:
        reader = Reader(answers, CODE, machine)
        said = published.SPEEDUPS[machine]
        for name, cell in placements().items():
            seconds = reader.get(cell.method, cell.size).loop_s
            rows.append(
                {
                    "machine": machine, "placement": name, "loop_s": seconds, "speedup": reader.slow / seconds,
                    "published": {"all in slow": 1.0, "guided": said[1], "all in fast": said[0]}.get(name),
                }
            )  # fmt: skip
    return Table("overall", f"The hydrodynamics code, over all data in slow memory{PRICE}", rows)


def by_region(answers: Answers) -> Table:
    """Returns Figure 2: the same by region of the code."""
    rows: list[Row] = []
    for machine in MACHINES:
        reader = Reader(answers, CODE, machine)
        slow = reader.get("slow-only")
        for region, seconds in slow.phases.items():
            row: Row = {"machine": machine, "region": region, "of_all_share": seconds / slow.loop_s}
            for name, cell in placements().items():
                here = reader.get(cell.method, cell.size).phases[region]
                row[name.replace(" ", "_")] = seconds / here
            rows.append(row)
    return Table("by_region", f"Speed of each region over all data in slow memory{PRICE}", rows)


def metrics(setting: Setting, answers: Answers) -> Table:
    """Returns the share of the gap between slow-only and the bound that each metric's choice closes."""
    rows: list[Row] = []
    for machine in MACHINES:
        for name in studied(setting):
            reader = Reader(answers, name, machine)
            for size in shares(setting):
                bound = reader.get("bound", size).loop_s
                for chooser, method, grain in _choosers():
                    seconds = reader.get(method, size).loop_s
                    rows.append(
                        {
                            "machine": machine, "workload": name, "fast_memory": size, "chosen_by": chooser,
                            "grain": grain, "slow_only_s": reader.checked("slow-only", size, reader.slow),
                            "loop_s": seconds, "bound_s": bound,
                            "gain_share": (reader.slow - seconds) / (reader.slow - bound)
                            if reader.slow > _WORTHWHILE * bound
                            else None,
                        }
                    )  # fmt: skip
    return Table("metrics", "Share of the possible gain by each metric's choice", rows)


def _choosers() -> list[tuple[str, str, str]]:
    """Returns selectors, their methods, and their granularity."""
    by_metric = [(metric, f"metric {metric} {grain}", grain) for grain in GRAINS for metric in METRICS]
    return [*by_metric, ("the planner", "planned auto", "chunks")]


def metric_means(rows: list[Row]) -> Table:
    """Returns means over the programs that gain at least 2 %."""
    result: list[Row] = []
    sizes = list(dict.fromkeys(str(row["fast_memory"]) for row in rows))
    for machine in MACHINES:
        for chooser, _, grain in _choosers():
            row: Row = {"machine": machine, "chosen_by": chooser, "grain": grain}
            for size in sizes:
                key = (machine, chooser, grain, size)
                found = [
                    float(r["gain_share"])
                    for r in rows
                    if (r["machine"], r["chosen_by"], r["grain"], r["fast_memory"]) == key
                    and r["gain_share"] is not None
                ]
                row[f"{size} gain_share"] = mean(found)
            result.append(row)
    return Table("metric_means", "The same, means over programs with a slowdown of at least 2 %", result)
