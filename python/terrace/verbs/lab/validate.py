# SPDX-License-Identifier: Apache-2.0
"""`terrace lab validate`: compare virtual time with this machine's clock.

Programs run natively, built by the plain compiler, and in virtual time on the machine file that
`terrace machine measure` wrote for this machine. The compared time is the one that a program prints, so its timed
section decides what is measured, and both runs read the same clock: under `simulate` it shows virtual time. If the
printed time has too few digits, the time of the whole process is compared.

The core time per instruction depends on the program. It is fitted for each program and each of its phases at a
size that fits into the caches, from native runs with one thread, and then used at the compared sizes with any
number of threads (calibrating.py). A program without such a size, or with too little information in these runs,
uses the machine's. The result states the constant of each program, and its basis.

The programs are the workloads whose manifests state the size `measure`, or those of a file.
"""

from __future__ import annotations

import json
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import units
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import calibrating, validation, workloads
from terrace.lab import native as natively
from terrace.lab.calibrating import Program, Words
from terrace.lab.validation import Case, Constants, Row
from terrace.output import console, progress, table
from terrace.solve import calibration
from terrace.solve.calibration import Sample

SCHEMA = 3

_EPILOG = """\b
Without a file of cases: the workloads in workloads/ that state the size `measure`.
A case of a file, where {threads} is replaced by the number of threads:
  [[program]]
  name = "cg"                                       # in both folders
  measure = ["--class", "A", "--threads", "{threads}"]
  calibrate = ["--class", "S"]                      # a size that fits into the caches; optional
  time = "Time in seconds = +([0-9.]+)"                      # pattern of its printed time; optional
\b
Example:
  terrace machine measure -o here.toml
  terrace lab validate --native native/ --hooked hooked/ -m here.toml --plot error.html
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command("validate", epilog=_EPILOG)(validate)


def validate(
    native: Annotated[Path, typer.Option(help="Folder of the uninstrumented programs.")],
    hooked: Annotated[Path, typer.Option(help="Folder of the same programs, instrumented.")],
    machine: Annotated[str, typer.Option("--machine", "-m", help="Measured file of this machine.")],
    cases: Annotated[Path | None, typer.Argument(help="TOML file of programs; default: the workloads.")] = None,
    threads: Annotated[str, typer.Option(help="Thread counts, separated by commas.")] = "1,2",
    only: Annotated[list[str] | None, typer.Option(help="Restrict to this program. Repeatable.")] = None,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Native runs of each program, interleaved; minimum for calibration.")
    ] = 9,
    plot: Annotated[Path | None, typer.Option(help="Also write a chart of the errors: .html.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the table to this file.")] = None,
    source: Annotated[Path, typer.Option(help="Terrace's source tree, which contains the workloads.")] = Path(),
) -> None:
    """Compare virtual time with the clock on this machine, for any programs."""
    programs = of_workloads(source / "workloads") if cases is None else read_cases(cases)
    chosen = _named(programs, only or [], cases or source / "workloads")
    constants = calibrated(chosen, native, hooked, machine, repetitions)
    found = compare(chosen, native, hooked, machine, _numbers(threads), repetitions, constants)
    document = summary(found, constants, machine, repetitions)
    if output is not None:
        output.write_text(json.dumps({"schema": SCHEMA, **document}, indent=1) + "\n")
    if plot is not None:
        plot.write_text(validation.page(found, constants), encoding="utf-8")
    _print(found, constants, document)


def of_workloads(folder: Path) -> list[Case]:
    """Returns the workloads of the folder whose manifests state the size `measure`."""
    return [
        Case(
            one.name,
            [*one.words("measure"), *(["--threads", "{threads}"] if one.openmp else [])],
            one.words("calibrate") if one.has("calibrate") else None,
            one.time or calibrating.TIME,
        )
        for one in workloads.read_all(folder).values()
        if one.has("measure")
    ]


def read_cases(path: Path) -> list[Case]:
    """Reads the programs of a file. Raises WrongCallError that names the error."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise WrongCallError(f"{path}: {error}") from error
    cases: list[Case] = []
    for entry in content.get("program", []):
        unknown = set(entry) - {"name", "measure", "calibrate", "time"}
        if unknown or "name" not in entry or "measure" not in entry:
            what = f"has the unknown key '{min(unknown)}'" if unknown else "requires the keys name and measure"
            raise WrongCallError(f"{path}: program {len(cases) + 1} {what}")
        cases.append(
            Case(entry["name"], entry["measure"], entry.get("calibrate"), entry.get("time", calibrating.TIME))
        )
    if not cases:
        raise WrongCallError(f"{path}: it contains no [[program]]; add one with the keys name and measure")
    return cases


def _named(cases: Sequence[Case], only: Sequence[str], where: Path) -> list[Case]:
    """Returns the cases that --only names, or all."""
    if missing := set(only) - {case.name for case in cases}:
        raise WrongCallError(
            f"--only {min(missing)}: {where} has no program of that name; "
            f"it has {', '.join(case.name for case in cases)}"
        )
    return [case for case in cases if not only or case.name in only]


def calibrated(
    cases: Sequence[Case], native: Path, hooked: Path, machine: str, repetitions: int
) -> dict[str, Constants]:
    """Returns the constant of each program. Raises TerraceError if a run fails or prints no time."""
    with_size = [(case, case.calibrate) for case in cases if case.calibrate is not None]
    programs = []
    for case, size in with_size:
        words = _words(size, 1)
        programs.append(Program(case.name, [native / case.name, *words], [hooked / case.name, *words], case.time))
    default = calibrating.describe(machine).instruction_time
    found = {one.name: Constants(default, None) for one in cases}
    for (case, _), one in zip(with_size, calibrating.calibrate(programs, machine, repetitions), strict=True):
        found[case.name] = Constants(default, one)
    return found


def compare(
    cases: Sequence[Case],
    native: Path,
    hooked: Path,
    machine: str,
    threads: Sequence[int],
    repetitions: int,
    constants: Mapping[str, Constants],
) -> list[Row]:
    """Returns a row for each program and number of threads.

    Raises TerraceError if a run fails or prints no time.
    """
    points = [(case, count) for case in cases for count in threads]
    samples: dict[tuple[str, int], list[Sample]] = {}
    with progress("native runs", repetitions * len(points)) as steps:
        for _ in range(repetitions):  # interleaved, so that background load affects all alike
            for case, count in points:
                plain: Words = [native / case.name, *_words(case.measure, count)]
                said, sample = natively.run(plain, calibrating.one_thread(count))
                taken = calibration.with_printed(sample, _time(case, said))
                samples.setdefault((case.name, count), []).append(taken)
                steps.done()
    start = natively.start_up()
    rows = []
    with progress("virtual runs", len(points)) as steps:
        for case, count in points:
            words: Words = [hooked / case.name, *_words(case.measure, count)]
            options = constants[case.name].options()
            took = calibrating.under_terrace("simulate", words, case.time, machine, options, count).time
            core_time = constants[case.name].core_time
            rows.append(validation.row(case.name, count, samples[case.name, count], took, core_time, start))
            steps.done()
    return rows


def summary(
    rows: Sequence[Row], constants: Mapping[str, Constants], machine: str, repetitions: int
) -> dict[str, Any]:
    """Returns the result of the comparison as JSON."""
    largest = max(rows, key=lambda row: abs(row.error))
    return {
        "machine": machine,
        "repetitions": repetitions,
        "mean_absolute_error": statistics.fmean(abs(row.error) for row in rows),
        "largest": {"workload": largest.workload, "threads": largest.threads, "error": largest.error},
        "rows": [asdict(row) for row in rows],
        "constants": {name: one.document() for name, one in constants.items()},
    }


def _time(case: Case, said: str) -> str:
    found = calibrating.printed(said, case.time)
    if found is None:
        raise TerraceError(
            f"{case.name} printed no time that looks like '{case.time}'; correct the key time of its [[program]]"
        )
    return found


def _words(words: Sequence[str], threads: int) -> list[str]:
    return [word.replace("{threads}", str(threads)) for word in words]


def _numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",") if word.isdigit() and int(word) > 0]
    if len(numbers) != len(text.split(",")):
        raise WrongCallError(f"--threads {text}: give positive whole numbers, separated by commas")
    return numbers


def _print(rows: Sequence[Row], constants: Mapping[str, Constants], document: dict[str, Any]) -> None:
    shown = table("program", "threads", "clock", "native", "spread", "virtual", "error", left=(0, 2))
    for row in rows:
        spread = f"{row.spread / row.native:.0%}"
        native, virtual = units.seconds(row.native), units.seconds(row.virtual)
        shown.add_row(row.workload, str(row.threads), row.clock, native, spread, virtual, f"{row.error:+.1%}")
    console().print(shown)
    headings, lines = validation.constants_table(constants)
    shown = table(*headings, left=(0, 1, 4))
    for line in lines:
        shown.add_row(*line)
    console().print(shown)
    _print_phases(constants)
    largest = document["largest"]
    print(
        f"mean absolute error {document['mean_absolute_error']:.1%} of {len(rows)}; the largest is "
        f"{largest['error']:+.1%}, of {largest['workload']} with {largest['threads']} threads"
    )


def _print_phases(constants: Mapping[str, Constants]) -> None:
    of_programs = {name: one.phases for name, one in constants.items() if one.phases}
    if not of_programs:
        return
    shown = table("program", "phase", "native", "core time", "fitted for", left=(0, 1, 4))
    for program, phases in of_programs.items():
        for fit in phases:
            native = units.seconds(fit.native) if fit.native is not None else ""
            fitted_for = "the phase" if fit.rests_on == "phase" else f"the program: {fit.rests_on}"
            shown.add_row(program, fit.pattern, native, units.seconds(fit.core_time), fitted_for)
    console().print(shown)
