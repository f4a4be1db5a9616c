# SPDX-License-Identifier: Apache-2.0
"""`terrace lab calibrate`: fit the core time per instruction of a program and its functions.

`terrace simulate --native FILE` and `terrace record --native FILE` call this subcommand and use its result.
"""

from __future__ import annotations

import mmap
import shlex
from pathlib import Path
from typing import Annotated

import typer

from terrace.errors import WrongCallError
from terrace.lab import calibrating, own_size
from terrace.lab.calibrating import TIME, Calibrated, Program
from terrace.lab.surroundings import Surroundings
from terrace.output import print_json, write_whole
from terrace.solve.core_times import PhaseFits
from terrace.solve.function_times import FunctionFits

_EPILOG = """\b
The native program is the same source built with the plain compiler and the same options: PROGRAM.native in the
folder of the program, or the file or folder that --native names.
By default both run with the given arguments, and functions get core times of their own. With --calibrate both run
with other arguments, and the program gets a single core time: for programs that would take too long.
Both run with OMP_NUM_THREADS=1, in this folder or in a copy of --calibrate-in.
\b
Examples:
  terrace lab calibrate --native native/cg -o cg.core-times -- ./cg --class A
  terrace simulate --machine ddr5-cxl --core-time @cg.core-times -- ./cg --class A
  terrace simulate --machine ddr5-cxl --native native/cg -- ./cg --class A
  terrace lab calibrate --calibrate '' --calibrate-stdin small.inp --native packmol.plain -- ./packmol
"""

_HOOK = b"__tsan_"  # prefix of the instrumentation calls


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    settings = {"ignore_unknown_options": False, "allow_interspersed_args": False}
    app.command("calibrate", epilog=_EPILOG, context_settings=settings)(calibrate)


def calibrate(
    program: Annotated[
        list[str], typer.Argument(metavar="PROGRAM", help="Instrumented program, and its arguments.")
    ],
    size: Annotated[
        str | None,
        typer.Option(
            "--calibrate", help="Arguments of a size that fits into the caches; default: the given ones."
        ),
    ] = None,
    native: Annotated[
        Path | None, typer.Option(help="Uninstrumented program, or its folder; default: PROGRAM.native.")
    ] = None,
    here: Annotated[
        str,
        typer.Option("--calibrate-on", help="Measured file of this machine; default: its built-in description."),
    ] = "",
    stdin: Annotated[
        Path | None, typer.Option("--calibrate-stdin", help="Standard input of the runs; default: empty.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--calibrate-in",
            help="Run each time in a new folder with a copy of these files; default: the current folder.",
        ),
    ] = None,
    status: Annotated[int, typer.Option("--calibrate-status", min=0, max=255, help="Expected exit status.")] = 0,
    time: Annotated[
        str, typer.Option(help="Pattern of its printed time; default: 'Time 0.25 s' and similar.")
    ] = TIME,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of core times to write, for --core-time @FILE.")
    ] = None,
) -> None:
    """Fit the core time per instruction of a program, or explain why this is impossible."""
    hooked = find_hooked(program[0])
    plain = find_native(hooked, native)
    words = program[1:] if size is None else split(size)
    around = surroundings(stdin, folder, status)
    subject = Program(hooked.name, [plain, *words], [hooked, *words], time, around)
    found: Calibrated[FunctionFits] | Calibrated[PhaseFits]
    if size is None:
        found = own_size.calibrate(subject, here)
    else:
        (found,) = calibrating.calibrate([subject], here)
    default = calibrating.describe(here).instruction_time
    read = f", with standard input {stdin}" if stdin is not None else ""
    said = f"{found.constant.describe(default)}; {shlex.join(words)!r} of {plain}{read}"
    options = found.options()
    if output is not None and options:
        lines = [f"# {said}", *(option.removeprefix("--core-time=") for option in options)]
        write_whole(output, "\n".join([*lines, ""]))
    if json:
        interval = found.constant.interval
        print_json(
            {
                "calibrated": found.constant.calibrated,
                "core_times": [option.removeprefix("--core-time=") for option in options],
                "core_time": found.constant.core_time,
                "interval": None if interval is None else [interval.low, interval.high],
                "runs": found.constant.runs,
                "clock": found.constant.clock,
                "why": found.constant.why,
                "said": said,
            }
        )
    elif options:
        print(f"calibrated: {said}\n{shlex.join(options)}")
    else:
        print(f"not calibrated: {said}")


def find_hooked(name: str) -> Path:
    """Returns the program, if it is instrumented. Raises WrongCallError."""
    path = Path(name)
    if not path.is_file():
        raise WrongCallError(f"--calibrate: {name} is not a file; give the path of the program itself")
    if not has_hooks(path):
        raise WrongCallError(
            f"--calibrate: {name} is not instrumented, so nothing can be fitted; build it with terrace-cc, or, if "
            "it launches the program, fit that with `terrace lab calibrate` and pass --core-time"
        )
    return path.resolve()


def find_native(hooked: Path, given: Path | None) -> Path:
    """Returns the uninstrumented program. Raises WrongCallError that states where it was expected."""
    default_native = hooked.with_name(f"{hooked.name}.native")
    path = default_native if given is None else given / hooked.name if given.is_dir() else given
    if not path.is_file():
        if given is not None:
            raise WrongCallError(
                f"--native {given}: file {path} not found; name {hooked.name} built with the plain compiler"
            )
        raise WrongCallError(
            f"--calibrate: native program {path} not found; build {hooked.name} with the plain compiler and the "
            f"same options, and pass it with --native FILE (or as {default_native.name} in the same folder)"
        )
    if has_hooks(path):
        raise WrongCallError(f"--native {path}: it is instrumented; build it with the plain compiler")
    return path.resolve()


def has_hooks(path: Path) -> bool:
    """Returns whether a program calls Terrace's instrumentation."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_HOOK) >= 0


def surroundings(stdin: Path | None, folder: Path | None, status: int) -> Surroundings:
    """Returns the environment of the runs. Raises WrongCallError."""
    if stdin is not None and not stdin.is_file():
        raise WrongCallError(f"--calibrate-stdin: {stdin} is not a file; name the file of standard input")
    if folder is not None and not folder.is_dir():
        raise WrongCallError(
            f"--calibrate-in: {folder} is not a folder; name the folder with the program's input files"
        )
    return Surroundings(stdin, folder, status)


def split(size: str) -> list[str]:
    """Splits into words as a shell does. Raises WrongCallError."""
    try:
        return shlex.split(size)
    except ValueError as error:
        raise WrongCallError(f"--calibrate {size!r}: {error}") from error
