"""`terrace lab calibrate`: what an instruction takes, by program and by function, fitted on this machine.

`terrace simulate --native FILE` and `terrace record --native FILE` call this and take its answer.
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
The native program is the same source built with the plain compiler and the same options. It is PROGRAM.native
beside the program, or what --native names: a file, or a folder that has one of the program's name.
Both run with the arguments that are given, and functions get core times of their own. With --calibrate both run
with other ones, and the program gets one core time: for programs that would take too long.
Both run with OMP_NUM_THREADS=1, in this folder or where --calibrate-in says.
\b
Examples:
  terrace lab calibrate --native native/cg -o cg.core-times -- ./cg --class A
  terrace simulate --machine ddr5-cxl --core-time @cg.core-times -- ./cg --class A
  terrace simulate --machine ddr5-cxl --native native/cg -- ./cg --class A
  terrace lab calibrate --calibrate '' --calibrate-stdin small.inp --native packmol.plain -- ./packmol
"""

_HOOK = b"__tsan_"  # how the names begin that programs with hooks call


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    settings = {"ignore_unknown_options": False, "allow_interspersed_args": False}
    app.command("calibrate", epilog=_EPILOG, context_settings=settings)(calibrate)


def calibrate(
    program: Annotated[
        list[str], typer.Argument(metavar="PROGRAM", help="Built with the wrappers, and its arguments.")
    ],
    size: Annotated[
        str | None,
        typer.Option(
            "--calibrate", help="Other arguments, for a size that the caches hold; default: those given."
        ),
    ] = None,
    native: Annotated[
        Path | None, typer.Option(help="The native program, or its folder; default: PROGRAM.native.")
    ] = None,
    here: Annotated[
        str,
        typer.Option("--calibrate-on", help="File of this machine, as measured; default: what it says of itself."),
    ] = "",
    stdin: Annotated[
        Path | None, typer.Option("--calibrate-stdin", help="What its runs read; default: nothing.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--calibrate-in",
            help="Each run gets a folder of its own with a copy of these files; default: the current folder.",
        ),
    ] = None,
    status: Annotated[
        int, typer.Option("--calibrate-status", min=0, max=255, help="Exit status of a run that ended well.")
    ] = 0,
    time: Annotated[str, typer.Option(help="How it prints its time; default: 'Time 0.25 s' and the like.")] = TIME,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the core times, for --core-time @FILE.")
    ] = None,
) -> None:
    """Fit what an instruction takes in a program, or say why that cannot be believed."""
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
    read = f", which read {stdin}" if stdin is not None else ""
    said = f"{found.constant.said(default)}; {shlex.join(words)!r} of {plain}{read}"
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
    """The program, if it has hooks. Raises WrongCallError."""
    path = Path(name)
    if not path.is_file():
        raise WrongCallError(f"--calibrate: {name} is no file; name the program itself, with its folder")
    if not has_hooks(path):
        raise WrongCallError(
            f"--calibrate: {name} has no hooks, so there is nothing to fit; build it with terrace-cc, and name it "
            "itself, not what launches it (terrace lab calibrate fits it alone, --core-time takes the outcome)"
        )
    return path.resolve()


def find_native(hooked: Path, given: Path | None) -> Path:
    """The same program without hooks. Raises WrongCallError that says where it was looked for."""
    beside = hooked.with_name(f"{hooked.name}.native")
    path = beside if given is None else given / hooked.name if given.is_dir() else given
    if not path.is_file():
        if given is not None:
            raise WrongCallError(f"--native {given}: there is no file {path}")
        raise WrongCallError(
            f"--calibrate: there is no native program {path}; build {hooked.name} with the plain compiler and the "
            f"same options, and name it with --native FILE (or as {beside.name} in the same folder)"
        )
    if has_hooks(path):
        raise WrongCallError(f"--native {path}: it is built with hooks; build it with the plain compiler")
    return path.resolve()


def has_hooks(path: Path) -> bool:
    """Whether a program calls Terrace's hooks."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_HOOK) >= 0


def surroundings(stdin: Path | None, folder: Path | None, status: int) -> Surroundings:
    """What its runs find. Raises WrongCallError."""
    if stdin is not None and not stdin.is_file():
        raise WrongCallError(f"--calibrate-stdin: {stdin} is no file")
    if folder is not None and not folder.is_dir():
        raise WrongCallError(f"--calibrate-in: {folder} is no folder")
    return Surroundings(stdin, folder, status)


def split(size: str) -> list[str]:
    """Words, as a shell splits them. Raises WrongCallError."""
    try:
        return shlex.split(size)
    except ValueError as error:
        raise WrongCallError(f"--calibrate {size!r}: {error}") from error
