# SPDX-License-Identifier: Apache-2.0
"""Compares all published planners and policies on a few programs, at two sizes of fast memory, for `terrace lab
experiment baselines`."""

from __future__ import annotations

from terrace.lab.experiment.cells import Answers, Cell, unique
from terrace.lab.experiment.page import Report, Section
from terrace.lab.experiment.setting import Reader, Setting, baselines
from terrace.lab.experiment.tables import PRICE, Row, Table

MACHINES = ("unimem-lat4", "unimem-bw2")
SIZES = ("1/4", "1/2")
OURS = ("planned auto", "live auto", "live unimem")


def methods() -> list[str]:
    """Returns the compared methods, Terrace's first; they are compared with fast-only."""
    return ["slow-only", *OURS, *baselines().values()]


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells (simulations to run) of the comparison."""
    asked: list[Cell] = []
    for name in setting.workloads:
        for machine in MACHINES:
            asked += [Cell(name, machine, method) for method in ("slow-only", "fast-only")]
            asked += [Cell(name, machine, method, size) for size in SIZES for method in ("bound", *methods()[1:])]
    return unique(asked)


def relative(setting: Setting, answers: Answers) -> Table:
    """Returns a row for each method on each machine, with a column for each program and size."""
    rows: list[Row] = []
    for machine in MACHINES:
        readers = [Reader(answers, name, machine) for name in setting.workloads]
        for method in methods():
            how, _, name = method.partition(" ")
            rows.append(
                {
                    "machine": machine, "strategy": name or method, "how": how if name else "",
                    **{f"{r.workload} {size}": _over_fast(r, method, size) for r in readers for size in SIZES},
                }
            )  # fmt: skip
    return Table(
        "relative",
        f"Time of the main loop over that of fast-only, by program and share in fast memory{PRICE}",
        rows,
    )


def _over_fast(reader: Reader, method: str, size: str) -> float:
    if method == "slow-only":
        return reader.checked(method, size, reader.slow) / reader.fast
    return reader.get(method, size).loop_s / reader.fast


def report(setting: Setting, answers: Answers) -> Report:
    """Returns the report of `terrace lab experiment baselines`, from all answers."""
    table = relative(setting, answers)
    return Report(
        "Published planners and policies",
        "Time of the main loop over that of fast-only, which ignores the budget.",
        f"Programs: {', '.join(setting.workloads)}, in class {setting.problem_class} with class C's numbers of "
        "iterations, each recorded once with one thread and replayed in virtual time; the last cache has the "
        "ratio to the footprint that it has in class C.",
        [
            Section(
                "By program and share of the footprint in fast memory",
                "Planned: with a plan from an earlier profile. Live: decided during the run; planners "
                "learn in the first iteration and are charged for planning, policies decide at no cost.",
                tables=[table],
            )
        ],
    )
