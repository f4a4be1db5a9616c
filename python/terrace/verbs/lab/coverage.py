"""`terrace lab coverage`: how many of a program's last-level misses the hooks see.

The same program twice on one machine's caches: built with the wrappers and recorded with exact counters, and as
any compiler makes it, traced by QEMU, which knows nothing of the hooks. Compared are lines fetched from memory
in the main loops, not accesses: the two builds do not execute the same instructions. User code is the program's
own, and the C library's memory functions on its behalf; other libraries are listed apart.
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
_SMALL = 0.001  # of all misses: rows below go together
_SHOWN = 12
_PLACES = 3
# Objects that are many things together, by kind; static variables of at least a page go by their names.
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
    """One object: lines fetched from memory by user code as the tracer met them, and as the hooks saw them."""

    name: str
    traced: int
    hooked: int

    @property
    def seen(self) -> int:
        """Of the traced ones, those that the hooks saw too: what they have beyond makes up for nothing."""
        return min(self.traced, self.hooked)


@dataclass(frozen=True)
class Unseen:
    """Misses of user code on an object that the hooks do not have, and where in the code it misses, most first."""

    object: str
    lines: int
    where: list[Line] = field(repr=False)


@dataclass(frozen=True)
class Coverage:
    """What a comparison came to."""

    rows: list[Row]  # most misses first
    rest: list[Unseen]
    libraries: list[Line]  # what libraries fetched: no user code, not seen

    @property
    def traced(self) -> int:
        """Misses of user code."""
        return sum(row.traced for row in self.rows)

    @property
    def seen_share(self) -> float:
        """The share of them that the hooks see."""
        return sum(row.seen for row in self.rows) / max(self.traced, 1)

    @property
    def beyond_share(self) -> float:
        """Misses that only the hooks have, as a share of the traced ones."""
        return sum(row.hooked - row.seen for row in self.rows) / max(self.traced, 1)


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    app.command("coverage", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})(coverage)


def coverage(
    program: Annotated[
        list[str], typer.Argument(metavar="HOOKED [ARGUMENTS]", help="The program built with the wrappers.")
    ],
    native: Annotated[Path, typer.Option(help="The same program as the compiler alone makes it.")],
    machine: Annotated[str, typer.Option("--machine", "-m", help="Machine file or name of a shipped one.")],
    cache: Annotated[
        list[str] | None, typer.Option(help="Another size for a cache: l3=640KiB. May be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare what the hooks see of a program's misses with what an independent tracer sees."""
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
    """Runs both. Raises TerraceError when a run fails or the program marks no main loop."""
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
            raise TerraceError(f"{native} marks no main loop that the tracer could see: is it linked statically?")
        return _compare(store.objects(run), store.fetched_lines(run), found)


def _compare(objects: list[Object], fetched: dict[int, int], traced: _core.TraceMisses) -> Coverage:
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
    """Whether the hooks' object is a block of its own, as the tracer's of the kind heap."""
    return item.kind in ("heap", "mapping") and not item.name.startswith("(")


def _match(ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
    """Blocks of one run and of the other: in the order of allocation, by their sizes in pages."""

    def pages(sizes: list[int]) -> list[int]:
        return [-(-size // _PAGE) for size in sizes]

    matcher = SequenceMatcher(None, pages(ours), pages(theirs), autojunk=False)
    return [(block.a + i, block.b + i) for block in matcher.get_matching_blocks() for i in range(block.size)]


def _plain(name: str) -> str:
    """Without what tells apart objects of one name."""
    return re.sub(r"#\d+$", "", name)


def _together(kind: str, name: str) -> str:
    if name.startswith("(") or kind in ("small", "stack"):
        return _TOGETHER.get(kind, _plain(name))
    return _plain(name)


def _print(found: Coverage) -> None:
    shown = table("object", "traced", "seen by hooks", "share", "of all", left=(0,))
    total = max(found.traced, 1)
    small = [row for row in found.rows if max(row.traced, row.hooked) < _SMALL * total]
    rows = [row for row in found.rows if row not in small]
    if small:
        rows.append(Row(f"({len(small)} others)", sum(r.traced for r in small), sum(r.hooked for r in small)))
    for row in rows:
        share = f"{row.hooked / row.traced:.2%}" if row.traced else "only hooks"
        shown.add_row(row.name, str(row.traced), str(row.hooked), share, f"{row.traced / total:.1%}")
    console().print(shown)
    if found.rest:
        print("What the hooks do not see, and where these objects miss most:")
        shown = table("unseen", "object", "where", left=(1, 2))
        for unseen in found.rest[:_SHOWN]:
            places = ", ".join(f"{line.site} ({line.lines})" for line in unseen.where[:_PLACES])
            shown.add_row(str(unseen.lines), unseen.object, places)
        console().print(shown)
        others = found.rest[_SHOWN:]
        if others:
            print(f"and {sum(unseen.lines for unseen in others)} lines of {len(others)} other objects")
    print(
        f"{found.seen_share:.2%} of the {found.traced} last-level misses of user code are seen; "
        f"only the hooks have {found.beyond_share:.2%} more; libraries have "
        f"{sum(line.lines for line in found.libraries)}"
    )
