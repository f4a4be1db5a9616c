# SPDX-License-Identifier: Apache-2.0
"""`terrace lab trace`: write a trace of a program's loads and stores."""

import os
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import TerraceError, core_errors
from terrace.lab import tracing
from terrace.output import warn
from terrace.output_files import check_output, is_trace
from terrace.units import size

_EPILOG = """\b
Examples:
  terrace lab trace -o cg.trace -- ./cg --class S
  terrace lab trace --sysroot /usr/aarch64-linux-gnu -- ./app-for-arm
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command(
        "trace",
        epilog=_EPILOG,
        context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    )(trace)


def trace(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGUMENTS]", help="Program to run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Trace to write; default: PROGRAM.PROCESS.trace.")
    ] = None,
    limit: Annotated[str, typer.Option(help="Maximum size of the trace; the program continues without.")] = "4GiB",
    loop: Annotated[bool, typer.Option("--loop", help="Trace only the main loop, as marked.")] = False,
    sysroot: Annotated[
        Path | None, typer.Option(help="Folder with the libraries of another instruction set.")
    ] = None,
) -> int:
    """Run a program under QEMU and write a trace of its accesses. Exits with the program's status."""
    with core_errors():
        most = _core.parse_size(limit)
    file = output or Path(f"{Path(program[0]).name}.{os.getpid()}.trace")
    if output:
        check_output(output, "trace", is_trace)
    status = tracing.record(program, file, limit=most, loop_only=loop, sysroot=sysroot)
    if not file.exists() or file.stat().st_size == 0:
        raise TerraceError(f"{file}: no trace was written; see the messages of the program and of QEMU above")
    warn(f"{file}: {size(file.stat().st_size)}")
    return status
