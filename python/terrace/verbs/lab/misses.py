# SPDX-License-Identifier: Apache-2.0
"""`terrace lab misses`: count a trace's misses in the caches of a machine, by object and by code."""

from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.describe import former_options
from terrace.errors import core_errors
from terrace.lab.miss_trace import CODES, Line, read
from terrace.output import console, print_json, table
from terrace.units import size

_EPILOG = """\b
Example:
  terrace lab misses cg.trace --machine unimem-lat4 --cache l3=128KiB
"""

_SHOWN = 30


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    settings = former_options({"whole": "whole-run"})
    app.command("misses", epilog=_EPILOG, context_settings=settings)(misses)


def misses(
    trace: Annotated[Path, typer.Argument(metavar="FILE.trace", help="Trace of `terrace lab trace`.")],
    machine: Annotated[str, typer.Option("--machine", "-m", help="Machine file or name of a shipped machine.")],
    cache: Annotated[
        list[str] | None, typer.Option(help="Change the size of a cache: l3=640KiB. Repeatable.")
    ] = None,
    domain: Annotated[int, typer.Option(help="Domain in which the program runs.")] = 0,
    whole: Annotated[bool, typer.Option("--whole-run", help="Count outside of main loops as well.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count last-level misses of a trace by object and by place in the code."""
    with core_errors():
        about = _core.Machine.read(machine)
        initiator = about.initiator(domain)
    found = read(trace, about, initiator, cache or [], whole)
    objects = sorted((o for o in found.objects if sum(o.lines) > 0), key=lambda o: -sum(o.lines))
    places = [Line(found.objects[p.object].name, CODES[p.code], p.site, p.lines) for p in found.places]
    if json:
        print_json(
            {
                "machine": about.name,
                "loops_only": found.loops_only,
                "whole": found.whole and not found.limited,
                "accesses": dict(zip(CODES, found.accesses, strict=True)),
                "objects": [
                    {
                        "name": o.name,
                        "kind": o.kind,
                        "size": o.size,
                        "lines": dict(zip(CODES, o.lines, strict=True)),
                    }
                    for o in objects
                ],
                "places": [vars(place) for place in places],
            }
        )
        return
    total = sum(sum(o.lines) for o in objects)
    shown = table("object", "kind", "size", *CODES, "share", left=(0, 1))
    for o in objects:
        row = [o.name, o.kind, size(o.size) if o.size else "", *(str(n) for n in o.lines)]
        shown.add_row(*row, f"{sum(o.lines) / total:.1%}")
    console().print(shown)
    shown = table("lines", "object", "code", "where", left=(1, 2, 3))
    for place in places[:_SHOWN]:
        shown.add_row(str(place.lines), place.object, place.code, place.site)
    console().print(shown)
    if len(places) > _SHOWN:
        print(f"and {sum(p.lines for p in places[_SHOWN:])} lines at {len(places) - _SHOWN} other places")
    part = "the main loops" if found.loops_only else "the whole run"
    print(f"{total} lines from memory in {sum(found.accesses)} accesses of {part}")
