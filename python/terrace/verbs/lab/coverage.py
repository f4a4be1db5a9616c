# SPDX-License-Identifier: Apache-2.0
"""`terrace lab coverage`: measure which share of last-level misses the instrumentation observes.

Runs the program twice on the caches of one machine: instrumented, recorded with exact counters; and
uninstrumented, traced by QEMU independently of the instrumentation. Compares the lines fetched from memory in the
main loops rather than accesses, because the two builds execute different instructions. User code is the program's
own and the C library's memory functions called by it; other libraries are listed separately.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import TerraceError
from terrace.lab import study, tracing
from terrace.lab.miss_trace import CODES, Line, read
from terrace.output import console, print_json, table
from terrace.store.reader import Store
from terrace.store.values import Object

_EPILOG = """\b
Example:
  terrace lab coverage --machine unimem-lat4 --cache l2=32KiB --cache l3=128KiB \\
    --native native/cg -- hooked/cg --class S
"""

_PAGE = 4096
_SMALL = 0.001  # share of all misses; smaller rows are merged
_SHOWN = 12
_PLACES = 3
# Groups of objects by kind. Static variables of at least a page keep their names.
_TOGETHER = {
    "small": "(small blocks)",
    "stack": "(stacks)",
    "mapping": "(other mappings)",
    "constant": "(constants)",
    "library": "(data of libraries)",
    "fixed": "(small static data)",
}


@dataclass(frozen=True)
class Row:
    """An object: lines that user code fetched from memory, according to the tracer and to the instrumentation."""

    name: str
    traced: int
    hooked: int

    @property
    def seen(self) -> int:
        """Returns the traced lines that the instrumentation observed; an excess does not compensate for others."""
        return min(self.traced, self.hooked)


@dataclass(frozen=True)
class Unseen:
    """Misses of user code on an object that the instrumentation lacks, with their places in the code,
    most first.
    """

    object: str
    lines: int
    where: list[Line] = field(repr=False)


@dataclass(frozen=True)
class Coverage:
    """Result of a comparison."""

    rows: list[Row]  # most misses first
    rest: list[Unseen]
    libraries: list[Line]  # fetched by libraries: neither user code nor observed

    @property
    def traced(self) -> int:
        """Returns the number of misses of user code."""
        return sum(row.traced for row in self.rows)

    @property
    def seen_share(self) -> float:
        """Returns the share of them that the instrumentation observes."""
        return sum(row.seen for row in self.rows) / max(self.traced, 1)

    @property
    def beyond_share(self) -> float:
        """Returns the misses that only the instrumentation has, relative to the traced ones."""
        return sum(row.hooked - row.seen for row in self.rows) / max(self.traced, 1)


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command("coverage", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})(coverage)


def coverage(
    program: Annotated[list[str], typer.Argument(metavar="HOOKED [ARGUMENTS]", help="Instrumented program.")],
    native: Annotated[Path, typer.Option(help="Same program without instrumentation.")],
    machine: Annotated[str, typer.Option("--machine", "-m", help="Machine file or name of a shipped machine.")],
    cache: Annotated[
        list[str] | None, typer.Option(help="Change the size of a cache: l3=640KiB. Repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the last-level misses that the instrumentation observes with those of an independent tracer."""
    found = compare(program, str(native), machine, cache or [])
    if json:
        print_json(
            {
                "machine": machine,
                "caches": cache or [],
                "seen_share": found.seen_share,
                "beyond_share": found.beyond_share,
                "traced": found.traced,
                "objects": [{**asdict(row), "seen": row.seen} for row in found.rows],
                "rest": [asdict(unseen) for unseen in found.rest],
                "libraries": [asdict(line) for line in found.libraries],
            }
        )
    else:
        _print(found)


def compare(program: list[str], native: str, machine: str, caches: list[str]) -> Coverage:
    """Runs both builds. Raises TerraceError if a run fails or the program marks no main loop."""
    with tempfile.TemporaryDirectory(prefix="terrace-coverage-") as name:
        store_file, trace_file = Path(name) / "hooked.terrace", Path(name) / "native.trace"
        words = ["record", "--exact", "--quiet", "--machine", machine, "--output", str(store_file)]
        for one in caches:
            words += ["--cache", one]
        study.run_terrace([*words, "--", *program])
        store = Store(store_file)
        run = store.run()
        if not store.has_profile(run, exact=True):
            raise TerraceError(f"{program[0]} marks no main loop: call terrace_loop_begin and terrace_phase")
        status = tracing.record([native, *program[1:]], trace_file, quiet=True)
        if status != 0:
            raise TerraceError(f"{native} ended with {status} under QEMU")
        about = _core.Machine.from_bytes(store.machine(run).blob)
        found = read(trace_file, about, run.initiator, [], False)
        if not found.loops_only:
            raise TerraceError(
                f"{native} marks no main loop that the tracer could see; if it is linked statically, "
                "link it dynamically"
            )
        return _compare(store.objects(run), store.fetched_lines(run), found)


def _compare(objects: list[Object], fetched: dict[int, int], traced: _core.TraceMisses) -> Coverage:
    """Matches objects of both builds, and sets the lines that hooks counted against those traced."""
    blocks = sorted((o for o in objects if _is_block(o)), key=lambda o: o.id)
    theirs = [i for i, o in enumerate(traced.objects) if o.kind == "heap"]
    names = [_together(o.kind, o.name) for o in traced.objects]
    for ours, other in _match([o.size for o in blocks], [traced.objects[i].size for i in theirs]):
        names[theirs[other]] = _plain(blocks[ours].name)
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, about in zip(names, traced.objects, strict=True):
        lines[name][0] += about.lines[0] + about.lines[1]
    for item in objects:
        name = _plain(item.name) if _is_block(item) else _together(item.kind, item.name)
        lines[name][1] += fetched.get(item.id, 0)
    rows = [Row(name, *both) for name, both in lines.items() if any(both)]
    rows.sort(key=lambda row: (-row.traced, row.name))
    where = [Line(names[p.object], CODES[p.code], p.site, p.lines) for p in traced.places]
    user = [line for line in where if line.code != "libraries"]
    rest = [
        Unseen(row.name, row.traced - row.seen, [line for line in user if line.object == row.name])
        for row in rows
        if row.seen < row.traced
    ]
    rest.sort(key=lambda unseen: -unseen.lines)
    return Coverage(rows, rest, [line for line in where if line.code == "libraries"])


def _is_block(item: Object) -> bool:
    """Returns whether the object is a single block, like the tracer's kind heap."""
    return item.kind in ("heap", "mapping") and not item.name.startswith("(")


def _match(ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
    """Pairs the blocks of both runs in allocation order, by their sizes in pages."""

    def pages(sizes: list[int]) -> list[int]:
        return [-(-size // _PAGE) for size in sizes]

    matcher = SequenceMatcher(None, pages(ours), pages(theirs), autojunk=False)
    return [(block.a + i, block.b + i) for block in matcher.get_matching_blocks() for i in range(block.size)]


def _plain(name: str) -> str:
    """Returns the name without the number of equal names."""
    return re.sub(r"#\d+$", "", name)


def _together(kind: str, name: str) -> str:
    if name.startswith("(") or kind in ("small", "stack"):
        return _TOGETHER.get(kind, _plain(name))
    return _plain(name)


def _print(found: Coverage) -> None:
    shown = table("object", "traced", "instrumented", "share", "of all", left=(0,))
    total = max(found.traced, 1)
    small = [row for row in found.rows if max(row.traced, row.hooked) < _SMALL * total]
    rows = [row for row in found.rows if row not in small]
    if small:
        rows.append(Row(f"({len(small)} others)", sum(r.traced for r in small), sum(r.hooked for r in small)))
    for row in rows:
        share = f"{row.hooked / row.traced:.2%}" if row.traced else "instrumented only"
        shown.add_row(row.name, str(row.traced), str(row.hooked), share, f"{row.traced / total:.1%}")
    console().print(shown)
    if found.rest:
        print("Misses that the instrumentation does not observe, and their main places:")
        shown = table("unseen", "object", "where", left=(1, 2))
        for unseen in found.rest[:_SHOWN]:
            places = ", ".join(f"{line.site} ({line.lines})" for line in unseen.where[:_PLACES])
            shown.add_row(str(unseen.lines), unseen.object, places)
        console().print(shown)
        others = found.rest[_SHOWN:]
        if others:
            print(f"and {sum(unseen.lines for unseen in others)} lines of {len(others)} other objects")
    print(
        f"{found.seen_share:.2%} of the {found.traced} last-level misses of user code are observed; "
        f"the instrumentation has {found.beyond_share:.2%} more; libraries have "
        f"{sum(line.lines for line in found.libraries)}"
    )
