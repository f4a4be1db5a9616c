"""`terrace import`: make a profile of what perf mem or valgrind's DHAT measured."""

# ruff: noqa: N999  (the verb's name is Python's word, and nobody imports this by its name)

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
    """Adds the verb."""
    app.command("import", epilog=_EPILOG)(import_file)


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Of `perf mem record`, or of DHAT.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.terrace",
            help="Profile; one that is there is replaced. Default: a new FILE.terrace.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            help="Machine file or shipped machine that the program ran on; default: this machine.",
        ),
    ] = None,
    process: Annotated[
        int | None, typer.Option(help="perf: which process; default: that with the most samples.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(min=1e-6, help="perf: seconds of a phase; default: a twentieth of the sampled time."),
    ] = None,
) -> None:
    """Make a profile of what perf mem or valgrind's DHAT measured."""
    if not file.is_file():
        raise WrongCallError(f"{file}: there is no such file")
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
            raise WrongCallError("--process and --interval are for perf's files: DHAT has one process and no time")
        found = dhat.measured(dhat.read(file), line, bandwidth)
    else:
        memory = perf_mem.Memory(line, latency, frequency)
        found = perf_mem.measured(perf_data.read(file), memory, process, interval)
    if not found.objects:
        raise TerraceError(
            f"{file}: no sample is of memory that perf saw being mapped: record with `perf mem record` or "
            "`perf record -d`, from the program's start"
        )
    path = measured.write(found, on, name)
    typer.echo(f"terrace: {len(found.objects)} objects, {len(found.phases)} phases; profile in {path}", err=True)
