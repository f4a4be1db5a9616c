# SPDX-License-Identifier: Apache-2.0
"""`terrace lab demo`: show what out-of-core paging and data placement gain.

By the clock, a program whose data are twice its memory limit is paged by Terrace and by the kernel. In virtual
time, CG (with --study also MG) is profiled, planned and run on a machine with two memories.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import study, workloads
from terrace.lab.control_group import NoLimitError
from terrace.lab.demo_table import Row, print_rows
from terrace.lab.paging import PagingGain, measure_paging
from terrace.lab.study import MACHINES, STUDY_CACHE, STUDY_FAST, Configuration, Outcome
from terrace.lab.workers import workers
from terrace.lab.workloads import CLASSES, Workload
from terrace.output import bars, console, table
from terrace.report.gather import gather
from terrace.report.page import render
from terrace.solve import figures
from terrace.solve.certificate import certificate

_MARKER_FILE = ".terrace-demo"  # marker file of a folder that a demo created
_BASELINES = ("first-touch", "interleave")
_EPILOG = """\b
Example:
  terrace lab demo --output out/demo
"""


@dataclass(frozen=True)
class Ran:
    """Outcomes of a workload by label of the configuration, and whether its results are correct."""

    by_label: Mapping[str, Outcome]
    verified: bool


@dataclass(frozen=True)
class Cell:
    """A workload's profile on a machine with a size of fast memory; input of a plan and of a bound."""

    workload: str
    machine: str
    ratio: str
    fast: int  # bytes
    profile: Path
    plan: Path

    @property
    def label(self) -> str:
        """Returns the prefix of the configurations' labels, from machine and size."""
        return f"{self.machine}-{self.ratio}"


@dataclass(frozen=True)
class Setting:
    """Settings of the demo: a class on machines with sizes of fast memory."""

    problem_class: str
    is_study: bool  # sizes, machines and iterations of Unimem's study; else the machine with slow latency alone

    @property
    def machines(self) -> Sequence[str]:
        """Returns the names of the machine files."""
        return MACHINES if self.is_study else MACHINES[-1:]

    def sizes(self, footprint: int, scale: float) -> Mapping[str, int]:
        """Returns the bytes of fast memory by label."""
        first = {"study": int(STUDY_FAST * scale)} if self.is_study else {"half": footprint // 2}
        return {**first, "quarter": footprint // 4}

    @property
    def chart_shares(self) -> Mapping[float, str]:
        """Returns labels of fast-memory sizes in the chart besides those of cells, by share of the footprint."""
        return {1 / 16: "sixteenth", 1 / 8: "eighth"} if self.is_study else {1 / 8: "eighth"}

    def words(self, workload: Workload) -> Sequence[str]:
        """Returns the program's arguments: class C's number of iterations in the study, else the class's own."""
        return workload.study.words[self.problem_class] if self.is_study else workload.words(self.problem_class)


@dataclass(frozen=True)
class Program:
    """A workload, built and profiled on each machine at its official length."""

    workload: Workload
    binary: Path
    folder: Path
    footprint: int
    caches: tuple[str, ...]  # options: the last-level cache scaled with the footprint
    cells: tuple[Cell, ...]


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command("demo", epilog=_EPILOG)(demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results, profiles and report.")
    ] = Path("out/demo"),
    problem_class: Annotated[
        str, typer.Option("--class", help="Problem class of the workloads: S, W or A.")
    ] = "W",
    source: Annotated[Path, typer.Option(help="Terrace's source tree, which contains the workloads.")] = Path(),
    study_sizes: Annotated[
        bool,
        typer.Option("--study", help="Run sizes, machines and iterations of Unimem's study; skip the paging."),
    ] = False,
) -> None:
    """Show two gains: out-of-core paging by the clock, and data placement in virtual time; write a report."""
    begun = time.monotonic()
    if problem_class not in CLASSES:
        raise WrongCallError(f"--class {problem_class}: known classes: {', '.join(CLASSES)}")
    setting = Setting(problem_class, study_sizes)
    chosen = workloads.of_study(workloads.read_all(source / "workloads"), "demo", small=not study_sizes)
    _prepare_folder(output)
    paging = None if study_sizes else _show_paging(source, output)
    report = output / "report.html"
    # Uses all cores: programs, then plans, then runs concurrently with bounds and the last program's report.
    with workers() as pool:
        programs = list(pool.map(_prepare, chosen, repeat(source), repeat(output), repeat(setting)))
        cells = [cell for program in programs for cell in program.cells]
        moving = [cell for cell, moves in zip(cells, pool.map(_plan, cells), strict=True) if moves]
        ran = [pool.submit(_run, program, moving, setting) for program in programs]
        ran[-1].result()
        reported = pool.submit(
            _report, output / f"{chosen[-1].name}-live.{MACHINES[-1]}-quarter-live.terrace", report
        )
        longest_first = sorted(cells, key=lambda cell: cell.profile.stat().st_size, reverse=True)
        bounds = dict(zip(longest_first, pool.map(_bound, longest_first), strict=True))
        reported.result()
        outcomes = {program.workload.name: run.result() for program, run in zip(programs, ran, strict=True)}
    rows = [
        _row(cell, program, outcomes[cell.workload], bounds[cell])
        for program in programs
        for cell in program.cells
    ]
    seconds = time.monotonic() - begun
    document = {
        "schema": 2, "class": problem_class, "run_seconds": round(seconds, 1),
        "paging": asdict(paging) | {"speedup": paging.speedup} if paging else None,
        "rows": [asdict(r) for r in rows],
    }  # fmt: skip
    (output / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    print_rows(rows, setting.problem_class, setting.is_study)
    for program in programs:
        print(f"\n{_chart(program, outcomes[program.workload.name].by_label, setting)}")
    print()
    print(f"{seconds:.0f} s; {output / 'results.json'}; report: {report}")
    if not all(row.verified for row in rows):
        wrong = ", ".join(sorted({row.workload for row in rows if not row.verified}))
        raise TerraceError(
            f"{wrong}: wrong results in a run under Terrace; "
            "report this error of Terrace with the output of `terrace machine check`"
        )


def _show_paging(source: Path, output: Path) -> PagingGain | None:
    """Measures and prints the first gain; prints why if the kernel grants no memory limit."""
    try:
        gain = measure_paging(source, output / "paging")
    except NoLimitError as error:
        print(f"Out of core, by the clock: not shown, as {error}. Root may set a limit.\n")
        return None
    stopped = ", where at least one run was stopped" if gain.kernel_stopped else ""
    print(
        f"Out of core, by the clock of this machine: {gain.program} has {gain.data_bytes / 1e6:.0f} MB of data\n"
        f"and is limited to {gain.limit_bytes / 1e6:.0f} MB of memory (medians of three interleaved runs).\n"
    )
    shown = table("paged by", "time", left=(0,))
    shown.add_row("nothing: without a limit", f"{gain.in_memory_s:.1f} s")
    shown.add_row("terrace run --memory", f"{gain.terrace_s:.1f} s")
    shown.add_row("the kernel, a mapped file", f"{gain.kernel_s:.1f} s{stopped}")
    console().print(shown)
    print(
        f"Terrace is {gain.speedup:.1f} times as fast as the kernel's paging: it reads in large chunks what the "
        "program's regular sweeps\nuse next. Random accesses gain little (docs/results/memory.md).\n"
    )
    return gain


def _prepare_folder(folder: Path) -> None:
    """Creates the folder, or empties that of an earlier demo."""
    try:
        if folder.exists() and not (folder / _MARKER_FILE).exists() and any(folder.iterdir()):
            raise WrongCallError(
                f"--output {folder}: it contains files that no demo wrote; name a new or empty folder"
            )
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        (folder / _MARKER_FILE).touch()
    except OSError as error:
        raise WrongCallError(f"--output {folder}: {error.strerror}; name a writable folder") from error


def _prepare(workload: Workload, source: Path, folder: Path, setting: Setting) -> Program:
    """Builds the program and profiles a run of its official length on each machine."""
    name = workload.name
    binary = study.build(source, name, folder / "bin")
    command: Sequence[str | Path] = [binary, *workload.words(setting.problem_class)]
    footprint = study.footprint(command, folder, name)
    scale = footprint / workload.study.footprint
    caches = ("--cache", f"l3={int(STUDY_CACHE * scale)}")
    study.record(command, list(setting.machines), folder, f"{name}-record", caches)
    cells = tuple(
        Cell(
            name, machine, ratio, fast, folder / f"{name}-record.{machine}.terrace",
            folder / f"{name}-{machine}-{ratio}.toml",
        )
        for machine in setting.machines
        for ratio, fast in setting.sizes(footprint, scale).items()
    )  # fmt: skip
    return Program(workload, binary, folder, footprint, caches, cells)


def _plan(cell: Cell) -> bool:
    """Writes the default planner's plan for the profile; returns whether it moves anything."""
    kept = _core.Store(str(cell.profile))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    problem = _core.Problem(kept.profile(run), machine, machine.fast_budget(cell.fast))
    made = _core.plan(problem, "auto", kept.calibration(run))
    made.write(str(cell.plan))
    return bool(made.moves)


def _bound(cell: Cell) -> float:
    """Returns the seconds of an iteration that no placement by software can beat."""
    return certificate(cell.profile, cell.fast).shortest


def _run(program: Program, moving: Sequence[Cell], setting: Setting) -> Ran:
    """Runs the program once in all configurations."""
    configurations = []
    for machine in setting.machines:
        configurations += [
            Configuration(f"{machine}-slow", machine, "slow-only"),
            Configuration(f"{machine}-fast", machine, "fast-only"),
        ]
    for cell in program.cells:
        configurations += [
            Configuration(f"{cell.label}-live", cell.machine, "auto", cell.fast),
            Configuration(f"{cell.label}-planned", cell.machine, plan=cell.plan),
            *(Configuration(f"{cell.label}-{name}", cell.machine, name, cell.fast) for name in _BASELINES),
        ]
        if cell in moving and setting.is_study:
            configurations.append(
                Configuration(f"{cell.label}-free", cell.machine, plan=cell.plan, free_moves=True)
            )
    configurations += [
        Configuration(label, MACHINES[-1], "auto", int(program.footprint * share))
        for share, label in setting.chart_shares.items()
    ]
    workload = program.workload
    command: Sequence[str | Path] = [program.binary, *setting.words(workload)]
    outcomes, printed = study.simulate(
        command, configurations, program.folder, f"{workload.name}-live", program.caches
    )
    return Ran(outcomes, workload.verified(printed))


def _report(store: Path, page: Path) -> None:
    page.write_text(render(gather(store)), encoding="utf-8")


def _chart(program: Program, outcomes: Mapping[str, Outcome], setting: Setting) -> str:
    """Returns a bar chart of the main loop's time by size of fast memory, on the last machine."""
    live = {share: outcomes[label].loop for share, label in setting.chart_shares.items()}
    for cell in program.cells:
        if cell.machine == MACHINES[-1]:
            live[cell.fast / program.footprint] = outcomes[f"{cell.label}-live"].loop
    return bars(
        f"{program.workload.name}.{setting.problem_class} on {MACHINES[-1]}: main loop's time over the share of"
        " the data that fast memory holds, placed live",
        [
            ("slow-only", outcomes[f"{MACHINES[-1]}-slow"].loop),
            *((f"{share:.0%}", seconds) for share, seconds in sorted(live.items())),
            ("fast-only", outcomes[f"{MACHINES[-1]}-fast"].loop),
        ],
    )


def _row(cell: Cell, program: Program, ran: Ran, bound: float) -> Row:
    """Returns a program's row, with each time checked against the bound."""
    outcomes, machine, label = ran.by_label, cell.machine, cell.label
    slow, best = outcomes[f"{machine}-slow"], outcomes[f"{machine}-fast"]
    live, planned = outcomes[f"{label}-live"], outcomes[f"{label}-planned"]
    free = outcomes.get(f"{label}-free")

    def held(column: str, seconds: float, iterations: Sequence[float]) -> float:
        where = f"{cell.workload} on {machine}, {cell.ratio}, {column}"
        return figures.check_bound(where, bound * len(iterations), seconds)

    first_touch, interleave = (
        held(name, one.loop, one.iterations) for name in _BASELINES for one in [outcomes[f"{label}-{name}"]]
    )
    return Row(
        workload=cell.workload, machine=machine, ratio=cell.ratio, fast_bytes=cell.fast,
        footprint_bytes=program.footprint,
        slow_only_s=held("slow-only", slow.loop, slow.iterations),
        first_touch_s=first_touch, interleave_s=interleave,
        managed_s=held("planned", planned.loop, planned.iterations),
        live_s=held("live", live.loop, live.iterations),
        steady_s=held("steady", live.steady, figures.later_half(live.iterations)),
        steady_fast_only_s=best.steady, fast_only_s=best.loop,
        lower_bound_s=bound * len(planned.iterations), gap=planned.loop / best.loop - 1,
        steady_gap=live.steady / best.steady - 1, moves=planned.moves, moved_bytes=planned.moved_bytes,
        live_moves=live.moves,
        overlap=figures.overlap(planned.loop, free.loop, planned.copying) if free else None,
        iterations=len(planned.iterations), verified=ran.verified,
    )  # fmt: skip
