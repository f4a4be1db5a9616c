"""`terrace lab experiment ccnuma`: page placement on a GPU over a coherent link."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import WrongCallError
from terrace.lab.experiment import ccnuma, ccnuma_links, ccnuma_page
from terrace.lab.experiment.command import CORES, UNFINISHED, Jobs, Only, Output, StopAfter

_EPILOG = """\b
Traces of the programs' warps stay in the folder, up to 200 MB each; the same command goes on where it stopped.
\b
Examples:
  terrace lab experiment ccnuma --output out/ccnuma
  terrace lab experiment ccnuma --small
  terrace lab experiment ccnuma --only bfs,needle
"""


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab experiment`."""
    app.command("ccnuma", epilog=_EPILOG)(ccnuma_verb)


def ccnuma_verb(
    output: Output = None,
    small: Annotated[bool, typer.Option("--small", help="The programs' smallest sizes, and few rules.")] = False,
    only: Only = None,
    jobs: Jobs = CORES,
    stop_after: StopAfter = None,
) -> None:
    """Page placement on a GPU over a coherent link: thresholds, neighbours, balance of bandwidths."""
    known = [name for name, *_ in _core.gpu_programs()]
    programs = only.split(",") if only else known
    for name in programs:
        if name not in known:
            raise WrongCallError(f"--only {name}: there are {', '.join(known)}")
    folder = output or Path("out/ccnuma")
    size = ccnuma.FEW if small else "paper"
    study = ccnuma.Study(folder / size, programs, size, small)
    links = ccnuma_links.Links(study, small)
    missing = len(study.missing()) + len(links.missing())
    end = None if stop_after is None else time.monotonic() + 60 * stop_after
    is_done = study.run(jobs, _left(end)) and links.run(jobs, _left(end))
    left = len(study.missing()) + len(links.missing())
    count = len(programs) * len(study.rules) + links.count()
    print(f"{missing - left} runs answered, {count - missing} had been; {folder}")
    if not is_done:
        print(f"the time is up: {left} are left; the same command goes on")
        raise typer.Exit(UNFINISHED)
    ccnuma_page.report(study, links).write(folder)
    print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")


def _left(end: float | None) -> float | None:
    return None if end is None else max(end - time.monotonic(), 0)
