"""`terrace lab validate`: virtual time against this machine's own clock.

Programs are run natively, as the compiler alone makes them, and in virtual time on the machine file that
`terrace machine measure` wrote of the machine at hand. What a program prints as its time is compared, so its timed
section decides what is measured, and the same clock is read in both: under `simulate` it shows virtual time.

The core time of an instruction is no property of a machine alone: it is fitted for each program and each of its
phases at a size that the caches hold, by the same program's native times there with one thread, and then used at
the sizes that are compared, with any number of threads (core_times.py). A program without such a size gets the
machine's, and is marked as uncalibrated.

The programs are the workloads whose manifests state the size `measure`, or those of a file.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import units
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import study, workloads
from terrace.output import console, progress, table
from terrace.report import charts, parts
from terrace.solve import core_times
from terrace.solve.core_times import Fit, PhaseFit
from terrace.store.reader import Store
from terrace.store.values import PhaseInstance

SCHEMA = 2

_EPILOG = """\b
Without a file of cases: the workloads in workloads/ that state the size `measure`.
A case of a file, where {threads} stands for the number of threads:
  [[program]]
  name = "cg"                                       # in both folders
  measure = ["--class", "A", "--threads", "{threads}"]
  calibrate = ["--class", "S"]                      # a size that the caches hold; may be left out
  time = "Time in seconds = +([0-9.]+)"                      # how it prints its time; may be left out
\b
Example:
  terrace machine measure -o here.toml
  terrace lab validate --native native/ --hooked hooked/ -m here.toml --plot error.html
"""

# "Time   0.25 s", "Time in seconds =   0.25"
_TIME = r"^\s*[Tt]ime(?: in seconds)?\s*[=:]?\s*([0-9][0-9.eE+-]*)"
_PROBE = 1e-9  # seconds of core time for an instruction, in the second of the runs that a fit needs


@dataclass(frozen=True)
class Case:
    """A program, what it is called with, and how it says its time."""

    name: str
    measure: list[str]
    calibrate: list[str] | None
    time: str = _TIME


@dataclass(frozen=True)
class Row:
    """Seconds of the timed section, native (median and spread of the repetitions) and virtual."""

    workload: str
    threads: int
    native: float
    spread: float  # largest less least
    virtual: float
    error: float  # (virtual - native) / native
    core_time: float | None  # seconds an instruction, fitted; None where nothing was
    phases: list[PhaseFit] = field(default_factory=list)


@dataclass(frozen=True)
class Took:
    """What a run under `terrace` took: the time that the program printed, and each of its phases."""

    time: float
    phases: list[PhaseInstance]


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    app.command("validate", epilog=_EPILOG)(validate)


def validate(
    native: Annotated[Path, typer.Option(help="Folder of the programs as the compiler alone makes them.")],
    hooked: Annotated[Path, typer.Option(help="Folder of the same programs built with the wrappers.")],
    machine: Annotated[str, typer.Option("--machine", "-m", help="File of this machine, as measured.")],
    cases: Annotated[Path | None, typer.Argument(help="TOML file of programs; default: the workloads.")] = None,
    threads: Annotated[str, typer.Option(help="Numbers of threads, with commas between them.")] = "1,2",
    only: Annotated[list[str] | None, typer.Option(help="Only this program. May be repeated.")] = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Native runs of each, interleaved.")] = 9,
    plot: Annotated[Path | None, typer.Option(help="Also draw the errors there: .html.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the table there.")] = None,
    source: Annotated[Path, typer.Option(help="Terrace's source tree, for the workloads.")] = Path(),
) -> None:
    """Compare virtual time with the clock, on this machine, for programs of any kind."""
    programs = of_workloads(source / "workloads") if cases is None else read_cases(cases)
    chosen = _named(programs, only or [], cases or source / "workloads")
    found = compare(chosen, native, hooked, machine, _numbers(threads), repetitions)
    document = summary(found, machine, repetitions)
    if output is not None:
        output.write_text(json.dumps({"schema": SCHEMA, **document}, indent=1) + "\n")
    if plot is not None:
        _draw(found, plot)
    _print(found, document)


def of_workloads(folder: Path) -> list[Case]:
    """Those of the folder whose manifests state the size `measure`."""
    return [
        Case(
            one.name,
            [*one.words("measure"), *(["--threads", "{threads}"] if one.openmp else [])],
            one.words("calibrate") if one.has("calibrate") else None,
            one.time or _TIME,
        )
        for one in workloads.read_all(folder).values()
        if one.has("measure")
    ]


def read_cases(path: Path) -> list[Case]:
    """The programs of a file. Raises WrongCallError naming what is wrong in it."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise WrongCallError(f"{path}: {error}") from error
    cases: list[Case] = []
    for entry in content.get("program", []):
        unknown = set(entry) - {"name", "measure", "calibrate", "time"}
        if unknown or "name" not in entry or "measure" not in entry:
            what = f"has no use for '{min(unknown)}'" if unknown else "needs a name and what to measure"
            raise WrongCallError(f"{path}: program {len(cases) + 1} {what}")
        cases.append(Case(entry["name"], entry["measure"], entry.get("calibrate"), entry.get("time", _TIME)))
    if not cases:
        raise WrongCallError(f"{path}: there is no [[program]] in it")
    return cases


def _named(cases: Sequence[Case], only: Sequence[str], where: Path) -> list[Case]:
    """Those that --only names; all where it names none."""
    if missing := set(only) - {case.name for case in cases}:
        raise WrongCallError(f"{where}: there is no program '{min(missing)}' to validate")
    return [case for case in cases if not only or case.name in only]


def compare(
    cases: Sequence[Case], native: Path, hooked: Path, machine: str, threads: Sequence[int], repetitions: int
) -> list[Row]:
    """A row for each program and number of threads. Raises TerraceError when a run fails or prints no time."""
    points = [(case, count) for case in cases for count in threads]
    sizes = [(case, count, case.measure) for case, count in points]
    calibrated = [(case, case.calibrate) for case in cases if case.calibrate is not None]
    times: dict[tuple[str, int, tuple[str, ...]], list[float]] = {}
    phases: dict[str, list[list[PhaseInstance]]] = {}
    with progress("native runs", repetitions * (len(sizes) + 2 * len(calibrated))) as steps:
        for _ in range(repetitions):  # interleaved: what else the machine does meets all of them
            for case, count, words in [*sizes, *((case, 1, words) for case, words in calibrated)]:
                said = _run([native / case.name, *_words(words, count)])
                times.setdefault((case.name, count, tuple(words)), []).append(_time(case, said))
                steps.done()
            for case, words in calibrated:
                phases.setdefault(case.name, []).append(_native_phases(case, words, native, machine))
                steps.done()
    rows = []
    fits: dict[str, Fit] = {}
    with progress("virtual runs", len(points)) as steps:
        for case, count in points:
            if case.calibrate is not None and case.name not in fits:
                there = statistics.median(times[case.name, 1, tuple(case.calibrate)])
                fits[case.name] = _fit(case, hooked, machine, there, core_times.medians(phases[case.name]))
            fit = fits.get(case.name)
            virtual = _virtual(case, case.measure, count, hooked, machine, fit).time
            runs = times[case.name, count, tuple(case.measure)]
            middle = statistics.median(runs)
            error = (virtual - middle) / middle
            fitted = (fit.core_time, fit.phases) if fit is not None else (None, [])
            rows.append(Row(case.name, count, middle, max(runs) - min(runs), virtual, error, *fitted))
            steps.done()
    return rows


def summary(rows: Sequence[Row], machine: str, repetitions: int) -> dict[str, Any]:
    """What the comparison came to, as a document."""
    largest = max(rows, key=lambda row: abs(row.error))
    return {
        "machine": machine,
        "repetitions": repetitions,
        "mean_absolute_error": statistics.fmean(abs(row.error) for row in rows),
        "largest": {"workload": largest.workload, "threads": largest.threads, "error": largest.error},
        "rows": [asdict(row) for row in rows],
    }


def _fit(case: Case, hooked: Path, machine: str, native: float, phases: core_times.Times) -> Fit:
    """Core times with which virtual time is `native` at the size for calibration, and each phase's what `phases`
    says."""
    assert case.calibrate is not None
    without, with_probe = (
        _virtual(case, case.calibrate, 1, hooked, machine, Fit(core_time))
        for core_time in (core_times.LEAST, _PROBE)
    )
    if with_probe.time <= without.time:
        raise TerraceError(f"{case.name} {' '.join(case.calibrate)}: no instruction in the timed section is seen")
    program = core_times.of_program(native, without.time, with_probe.time, _PROBE)
    at_least, at_probe = (core_times.medians([took.phases]) for took in (without, with_probe))
    return Fit(program, core_times.of_phases(program, phases, at_least, at_probe, _PROBE))


def _virtual(case: Case, words: Sequence[str], threads: int, hooked: Path, machine: str, fit: Fit | None) -> Took:
    options = fit.options() if fit is not None else []
    return _under_terrace("simulate", case, hooked, _words(words, threads), machine, options)


def _native_phases(case: Case, words: Sequence[str], native: Path, machine: str) -> list[PhaseInstance]:
    """Of the program as the compiler alone makes it: it needs no hooks for its phases to be timed."""
    return _under_terrace("run", case, native, _words(words, 1), machine, []).phases


def _under_terrace(
    verb: str, case: Case, programs: Path, words: Sequence[str], machine: str, options: Sequence[str]
) -> Took:
    with tempfile.TemporaryDirectory(prefix="terrace-validate-") as folder:
        path = Path(folder) / "store.terrace"
        whole: list[str | os.PathLike[str]] = [verb, "--quiet", "--planner", "slow-only", "--machine", machine]
        whole += ["--output", path, *options, "--", programs / case.name, *words]
        time = _time(case, study.run_terrace(whole))
        store = Store(path)
        return Took(time, store.phase_instances(store.run()))


def _run(words: Sequence[str | os.PathLike[str]]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise TerraceError(str(error)) from error
    if done.returncode != 0:
        tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        raise TerraceError(f"{' '.join(map(str, words))} ended with {done.returncode}: {tail}")
    return done.stdout


def _time(case: Case, said: str) -> float:
    found = re.search(case.time, said, re.MULTILINE)
    if found is None:
        raise TerraceError(f"{case.name} printed no time that looks like '{case.time}'")
    return float(found[1])


def _words(words: Sequence[str], threads: int) -> list[str]:
    return [word.replace("{threads}", str(threads)) for word in words]


def _numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",") if word.isdigit() and int(word) > 0]
    if len(numbers) != len(text.split(",")):
        raise WrongCallError(f"--threads {text}: numbers above 0, with commas between them")
    return numbers


def _print(rows: Sequence[Row], document: dict[str, Any]) -> None:
    shown = table("program", "threads", "native", "spread", "virtual", "error", "core time", left=(0,))
    for row in rows:
        fitted = "uncalibrated" if row.core_time is None else units.seconds(row.core_time)
        spread = f"{row.spread / row.native:.0%}"
        native, virtual = units.seconds(row.native), units.seconds(row.virtual)
        shown.add_row(row.workload, str(row.threads), native, spread, virtual, f"{row.error:+.1%}", fitted)
    console().print(shown)
    _print_phases(rows)
    largest = document["largest"]
    print(
        f"mean absolute error {document['mean_absolute_error']:.1%} of {len(rows)}; the largest is "
        f"{largest['error']:+.1%}, of {largest['workload']} with {largest['threads']} threads"
    )


def _print_phases(rows: Sequence[Row]) -> None:
    of_programs = {row.workload: row.phases for row in rows if row.phases}
    if not of_programs:
        return
    shown = table("program", "phase", "native", "core time", "fitted for", left=(0, 1, 4))
    for program, phases in of_programs.items():
        for fit in phases:
            native = units.seconds(fit.native) if fit.native is not None else ""
            fitted_for = "the phase" if fit.rests_on == "phase" else f"the program: {fit.rests_on}"
            shown.add_row(program, fit.pattern, native, units.seconds(fit.core_time), fitted_for)
    console().print(shown)


def _draw(rows: Sequence[Row], path: Path) -> None:
    """The error of each program, a line for each, a mark for each number of threads; whiskers are what the native
    runs' spread makes of it."""
    names = list(dict.fromkeys(row.workload for row in rows))
    counts = sorted({row.threads for row in rows})
    figure = charts.figure(120 + 44 * len(names), showlegend=len(counts) > 1)
    for index, threads in enumerate(counts):
        group = [row for row in rows if row.threads == threads]
        shift = (index - (len(counts) - 1) / 2) * 0.5 / len(counts)
        lowest = [row.virtual / (row.native + row.spread / 2) - 1 for row in group]
        highest = [row.virtual / max(row.native - row.spread / 2, row.native / 10) - 1 for row in group]
        figure.add_scatter(
            x=[row.error for row in group],
            y=[names.index(row.workload) + shift for row in group],
            customdata=[(row.workload, row.native, row.virtual) for row in group],
            hovertemplate="%{customdata[0]}: native %{customdata[1]:.4g} s, virtual %{customdata[2]:.4g} s",
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - row.error for row, high in zip(group, highest, strict=True)],
                "arrayminus": [row.error - low for row, low in zip(group, lowest, strict=True)],
                "thickness": 1,
            },
            mode="markers",
            marker={"size": 9, "color": (charts.FAST, charts.SLOW, charts.GOOD, charts.BOUND)[index % 4]},
            name=f"{threads} thread{'s' if threads > 1 else ''}",
        )
    figure.add_vrect(x0=-0.2, x1=0.2, fillcolor=charts.BAND, layer="below", line_width=0)
    figure.add_vline(x=0, line={"color": charts.SOFT, "width": 1})
    figure.update_xaxes(title="virtual less native time, of native time; grey: within 20 %", tickformat="+.0%")
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, autorange="reversed", automargin=True, ticks=""
    )
    mean = units.percent(statistics.fmean(abs(row.error) for row in rows))
    words = "Each program's error; whiskers are what the native runs' spread makes of it."
    title = f"Virtual time against the clock: mean absolute error {mean}"
    figures = (
        f"<header><h1>{title}</h1></header>\n<main><figure>{charts.embed('errors', words, figure)}</figure></main>"
    )
    path.write_text(parts.document(title, figures), encoding="utf-8")
