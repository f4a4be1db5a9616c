# SPDX-License-Identifier: Apache-2.0
"""Predicts the slowdown with less memory, with the rest of the data in a file, for `terrace lab experiment
memory-size`."""

from __future__ import annotations

from terrace.lab.experiment.cells import Answer, Answers, Cell, unique
from terrace.lab.experiment.page import Picture, Report, Section
from terrace.lab.experiment.pictures import CYCLE, Series, lines
from terrace.lab.experiment.setting import Setting
from terrace.lab.experiment.tables import Row, Table
from terrace.solve.figures import check_bound

MACHINES = ("ddr5-nvme", "ddr5-nfs")
CORES = ("1", "8")
SIZES = ("4/5", "2/3", "1/2", "1/4")  # of the footprint
_FEW_CORES, _FEW_SIZES = CORES[:1], ("2/3", "1/2")


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells (simulations to run): in memory, and out of core at each size."""
    asked: list[Cell] = []
    for name in setting.workloads:
        for machine in MACHINES:
            for cores in _cores(setting):
                asked.append(Cell(name, machine, f"in-memory {cores}"))
                asked += [Cell(name, machine, f"over-file {cores}", size) for size in _sizes(setting)]
    return unique(asked)


def _cores(setting: Setting) -> tuple[str, ...]:
    return _FEW_CORES if setting.small else CORES


def _sizes(setting: Setting) -> tuple[str, ...]:
    return _FEW_SIZES if setting.small else SIZES


def losses(setting: Setting, answers: Answers, machine: str) -> Table:
    """Returns a row for each program, number of cores and size of memory."""
    rows: list[Row] = []
    for name in setting.workloads:
        for cores in _cores(setting):
            whole = answers.get(Cell(name, machine, f"in-memory {cores}"))
            rows += [_row(name, machine, cores, size, whole, answers) for size in _sizes(setting)]
    title = f"Loop times with less memory than data on {machine}, relative to all data in memory"
    return Table(f"losses-{machine}", title, rows)


def _row(name: str, machine: str, cores: str, size: str, whole: Answer, answers: Answers) -> Row:
    """Returns the slowdown with one size of memory, next to the bounds of its traffic and time."""
    over = answers.get(Cell(name, machine, f"over-file {cores}", size))
    bound = max(whole.loop_s, over.least_s)
    check_bound(f"{name} on {machine}, {size}, {cores} cores", bound, over.loop_s)
    for what, moved, least in (
        ("read", over.read_bytes, over.least_read_bytes),
        ("written", over.written_bytes, over.least_written_bytes),
    ):
        # Requests issued before the loop may end in it, and vice versa: at most sixteen chunks.
        check_bound(f"{name} on {machine}, {size}, bytes {what}", least - 16 * 2**21, moved)
    return {
        "program": name, "cores": cores, "memory": size, "memory_bytes": over.fast_bytes,
        "in_memory_s": whole.loop_s, "bound_s": bound, "loop_s": over.loop_s, "waited_s": over.waited_s,
        "loss_gap": over.loop_s / whole.loop_s - 1, "over_bound": over.loop_s / bound - 1,
        "read_bytes": over.read_bytes, "least_read_bytes": over.least_read_bytes,
        "written_bytes": over.written_bytes, "least_written_bytes": over.least_written_bytes,
    }  # fmt: skip


def _picture(setting: Setting, table: Table, machine: str, cores: str) -> Picture:
    """Draws time relative to in-memory, by size, with a dashed bound for each program's line."""
    series: list[Series] = []
    for what in ("loop_s", "bound_s"):
        for number, name in enumerate(setting.workloads):
            rows = [row for row in table.rows if row["program"] == name and row["cores"] == cores]
            values = [1.0, *(_ratio(row, what) for row in rows)]
            colour = CYCLE[number % len(CYCLE)]
            series.append(Series(name if what == "loop_s" else f"{name}, bound", values, colour))
    figure = lines(("all", *_sizes(setting)), series, "time relative to all data in memory")
    for trace in figure.data:
        if str(trace.name).endswith(", bound"):
            trace.line.dash = "dot"
    plural = "core" if cores == "1" else "cores"
    return Picture(f"{machine}-{cores}", f"{cores} {plural}: time by share of the data in memory", figure)


def _ratio(row: Row, what: str) -> float:
    seconds, whole = row[what], row["in_memory_s"]
    assert isinstance(seconds, float) and isinstance(whole, float)
    return seconds / whole


def report(setting: Setting, answers: Answers) -> Report:
    """Returns the report of `terrace lab experiment memory-size`, from all answers."""
    sections = []
    for machine in MACHINES:
        table = losses(setting, answers, machine)
        pictures = [_picture(setting, table, machine, cores) for cores in _cores(setting)]
        sections.append(
            Section(
                machine,
                "The bound is the larger of the loop with all data in memory and the device time for the "
                "bytes that any schedule must move, page by page.",
                pictures=pictures,
                tables=[table],
            )
        )
    return Report(
        "Slowdown with less memory",
        "Time of the main loop with memory for a part of the data, the rest in a file, relative to all data "
        "in memory.",
        f"Programs: {', '.join(setting.workloads)}, each recorded once with one thread and replayed in virtual "
        "time on machines that differ in the file; the last cache has the ratio to the footprint that it has in "
        "class C. The first iteration, in which the access order is learned, is included.",
        sections,
    )
