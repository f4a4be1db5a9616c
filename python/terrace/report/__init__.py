"""`terrace report`: one self-contained page with the pictures. It reads profile, plan and journal, and draws them;
only the curve over sizes is asked of the model here."""

from pathlib import Path
from typing import Annotated

import typer

from terrace import confidence, model
from terrace.output import progress
from terrace.report.facts import Facts
from terrace.report.page import render
from terrace.store import Store
from terrace.summary import by_name, summarise_phases

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
    page = render(gather(file, process))
    target.write_text(page, encoding="utf-8")
    print(target)


def gather(file: Path, process: int | None = None) -> Facts:
    """Reads all that the page tells."""
    store = Store(file)
    run = store.run(process)
    machine = store.machine(run)
    profile = by_name(store.profile(run))
    with progress("pricing placements") as steps:
        pricing = model.price(store, run, profile, steps)
        sensitivity = model.sensitivities(store, run, profile)
        names = [item.name for item in profile.objects]
        certainty = confidence.benefits(model.Model(store, run, exact=profile.exact), names)
    plans = store.plans(run)
    return Facts(
        file=file,
        run=run,
        machine=machine,
        loop=store.loop(run),
        profile=profile,
        pricing=pricing,
        sensitivity=sensitivity,
        phases=summarise_phases(store, run),
        instances=store.phase_instances(run),
        moves=store.moves(run),
        plan=plans[-1] if plans else None,
        counters=store.counters(run),
        reach=store.reach(run),
        notes=store.notes(run),
        all_objects=store.objects(run),
        certainty=certainty,
    )
