# SPDX-License-Identifier: Apache-2.0
"""`terrace report`: write a profile as one HTML page with charts."""

from pathlib import Path
from typing import Annotated

import typer

from terrace import options
from terrace.errors import WrongCallError
from terrace.output import write_whole
from terrace.output_files import check_output, is_report, is_tiles
from terrace.report import job_facts, job_page, stencil_facts, stencil_page
from terrace.report.gather import gather
from terrace.report.page import render
from terrace.store import stencil_plans
from terrace.store.job import rank_numbers
from terrace.store.reader import Store

_EPILOG = """\b
Examples:
  terrace report cg.4711.terrace
  terrace report cg.4711.terrace -o cg.html
  terrace report cfd.4711.terrace --rank 0
  terrace report heat.plans --chain 2
"""
_MANY_CHAINS = 4


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("report", epilog=_EPILOG)(report)


def report(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.terrace",
            help="Profile of `terrace record` or `simulate`, or the plans of a stencil program.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; default: FILE.html.")
    ] = None,
    process: options.Process = None,
    rank: Annotated[
        int | None, typer.Option(help="Rank of the MPI job; default: a page that compares all ranks.")
    ] = None,
    chain: Annotated[
        int | None, typer.Option(help=f"Chain of stencil plans, from 1; default: the {_MANY_CHAINS} longest.")
    ] = None,
) -> None:
    """Write a profile as one HTML page with charts. The page of an MPI job compares its ranks."""
    target = output or file.with_suffix(".html")
    if stencil_plans.is_plans(file):
        for option, given in (("--process", process), ("--rank", rank)):
            if given is not None:
                raise WrongCallError(f"{option}: {file} contains the plans of one process; omit the option")
        check_output(target, "page of tile plans", is_tiles)
        plans = stencil_plans.read(file)
        numbers = stencil_facts.chosen(file, plans, chain, _MANY_CHAINS)
        write_whole(target, stencil_page.render(plans, numbers, file.name))
        print(target)
        return
    if chain is not None:
        raise WrongCallError(f"--chain: {file} is a profile, which contains no stencil plans; omit the option")
    check_output(target, "report", is_report)
    is_job = process is None and rank is None and len(rank_numbers(Store(file))) > 1
    page = job_page.render(job_facts.gather(file)) if is_job else render(gather(file, process, rank))
    write_whole(target, page)
    print(target)
