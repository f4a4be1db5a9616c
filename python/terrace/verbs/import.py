# SPDX-License-Identifier: Apache-2.0
"""`terrace import`: convert measurements of perf mem or valgrind's DHAT into a profile."""

# ruff: noqa: N999  (the subcommand's name is a Python keyword; nothing imports this module by name)

from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.imports import dhat, measured, perf_data, perf_mem

_EPILOG = """\b
Examples:
  perf mem record -o app.perf -- ./app
  terrace import app.perf -o app.terrace
  valgrind --tool=dhat --dhat-out-file=app.dhat ./app
  terrace import app.dhat -o app.terrace
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("import", epilog=_EPILOG)(import_file)


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of `perf mem record` or of DHAT.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.terrace",
            help="Profile to write; overwrites an existing one. Default: a new FILE.terrace.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            help="Machine on which the program ran: file or name of a shipped one; default: this machine.",
        ),
    ] = None,
    process: Annotated[
        int | None, typer.Option(help="perf: process to import; default: the one with the most samples.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(min=1e-6, help="perf: duration of a phase in seconds; default: 1/20 of the sampled time."),
    ] = None,
) -> None:
    """Convert measurements of perf mem or valgrind's DHAT into a profile."""
    if not file.is_file():
        raise WrongCallError(f"{file}: file not found")
    name = (
        _core.ProfileName.given(str(output))
        if output
        else _core.ProfileName.next_free(str(file.with_name(f"{file.name}.terrace")))
    )
    on = _core.Machine.read(machine) if machine else _core.this_machine()
    line, latency, bandwidth, frequency = _core.memory_at_home(on)
    with file.open("rb") as opened:
        is_json = opened.read(64).lstrip()[:1] == b"{"
    if is_json:
        if process is not None or interval is not None:
            raise WrongCallError(
                f"--process and --interval apply to files of perf: {file} is from DHAT, "
                "with one process and no times; omit them"
            )
        found = dhat.measured(dhat.read(file), line, bandwidth)
    else:
        memory = perf_mem.Memory(line, latency, frequency)
        found = perf_mem.measured(perf_data.read(file), memory, process, interval)
    if not found.objects:
        raise TerraceError(
            f"{file}: no sample belongs to a mapping that perf recorded: record from the program's start with "
            "`perf mem record` or `perf record -d`"
        )
    path = measured.write(found, on, name)
    typer.echo(f"terrace: {len(found.objects)} objects, {len(found.phases)} phases; profile in {path}", err=True)
