# SPDX-License-Identifier: Apache-2.0
"""`terrace lab pim`: replay allocations in processing-in-memory (PIM) devices; map occupancy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import units
from terrace.errors import WrongCallError
from terrace.output import console, print_json, table, warn
from terrace.report import pim_page
from terrace.report.pim_facts import Facts, fragmentation, replay

_EPILOG = """\b
Examples:
  terrace lab pim app.pim
  terrace lab pim app.pim --machine imi-ddr4 --output out/app
"""


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command("pim", epilog=_EPILOG)(pim)


def pim(
    trace: Annotated[Path, typer.Argument(help="Trace of an allocation recorder.")],
    machine: Annotated[
        str, typer.Option("--machine", "-m", help="Machine whose device replaces the trace's: file or name.")
    ] = "",
    place: Annotated[str, typer.Option(help="PIM place of the machine, if it has several.")] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the page; default: TRACE-replay."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Replay allocations in processing-in-memory (PIM) devices: maps, occupancy, fragmentation."""
    if place and not machine:
        raise WrongCallError(f"--place {place}: give the --machine that has it as well")
    facts = replay(trace, machine, place)
    folder = output or Path(f"{trace.stem}-replay")
    page = _write(facts, folder)
    if as_json:
        print_json({"trace": str(trace), **document(facts), "files": [str(page)]})
    else:
        _print(facts, page)


def document(facts: Facts) -> dict[str, Any]:
    """Returns the figures as JSON. Sizes in bytes."""
    whole, row = facts.whole, facts.whole.geometry.row_bytes
    return {
        "device": facts.device,
        "capacity": whole.geometry.capacity,
        "operations": whole.operations,
        "allocations": whole.allocations,
        "releases": whole.releases,
        "no_room": whole.failures,
        "compared": whole.compared,
        "differ": whole.differ,
        **{
            moment: {
                "operations": at.operations,
                "horizontal": at.used[0] * row,
                "vertical": at.used[1] * row,
                "blocks": at.blocks,
                "fragmentation": dict(
                    zip(("rectangle", "horizontal", "vertical"), fragmentation(at), strict=True)
                ),
            }
            for moment, at in (("fullest", facts.fullest), ("end", whole))
        },
    }


def _write(facts: Facts, folder: Path) -> Path:
    """Writes the page and returns its path."""
    page = folder / "replay.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(pim_page.render(facts), encoding="utf-8")
    except OSError as error:
        raise WrongCallError(f"--output {folder}: {error.strerror}; name a writable folder") from error
    return page


def _print(facts: Facts, page: Path) -> None:
    whole = facts.whole
    row = whole.geometry.row_bytes
    shown = table(facts.device, "fullest", "end")
    moments = (facts.fullest, whole)
    shown.add_row("after operations", *(f"{at.operations:,}" for at in moments))
    for name, used in (
        ("in use", [sum(at.used) for at in moments]),
        ("  by horizontal blocks", [at.used[0] for at in moments]),
        ("  by vertical blocks", [at.used[1] for at in moments]),
    ):
        shown.add_row(name, *(f"{units.size(u * row)} ({units.percent(facts.share(u))})" for u in used))
    shown.add_row("blocks", *(f"{at.blocks:,}" for at in moments))
    for number, name in enumerate(("fragmentation", "  of horizontal runs", "  of vertical runs")):
        shown.add_row(name, *(units.percent(fragmentation(at)[number]) for at in moments))
    out = console()
    out.print(shown)
    out.print(describe_outcomes(facts))
    out.print(str(page))
    if whole.differ:
        line, block, recorded, replayed = whole.differences[0]
        warn(
            f"{facts.name}, line {line}: block {block}: {replayed} in the replay, {recorded} in the trace; "
            "to compare, replay a trace of one thread in its own device"
        )


def describe_outcomes(facts: Facts) -> str:
    """Returns a sentence on failed requests and on differences between replay and recording."""
    whole = facts.whole
    failures = "no request failed" if whole.failures == 0 else f"{whole.failures:,} requests failed"
    text = f"{_counted(whole.allocations, 'request')}, {_counted(whole.releases, 'release')}: {failures}"
    if whole.compared == 0:
        return text + "; the trace holds no outcomes to compare with"
    if whole.differ == 0:
        return text + "; all outcomes are as recorded"
    return text + f"; {whole.differ:,} of {whole.compared:,} outcomes are not as recorded"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
