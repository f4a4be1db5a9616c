"""`terrace report`: write one HTML page with the pictures."""

from pathlib import Path
from typing import Annotated

import typer

from terrace.output import write_whole
from terrace.outputs import check_output, is_report
from terrace.report.gather import gather
from terrace.report.page import render

_EPILOG = """\b
Examples:
  terrace report cg.4711.terrace
  terrace report cg.4711.terrace -o cg.html
"""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("report", epilog=_EPILOG)(report)


def report(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.terrace", help="What `terrace record` or `simulate` wrote.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; default FILE.html.")
    ] = None,
    process: Annotated[int | None, typer.Option(help="Process of a parallel job; default: the slowest.")] = None,
) -> None:
    """Write one HTML page with the pictures."""
    target = output or file.with_suffix(".html")
    check_output(target, "report", is_report)
    page = render(gather(file, process))
    write_whole(target, page)
    print(target)
