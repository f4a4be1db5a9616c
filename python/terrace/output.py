"""How verbs speak: tables and JSON on standard output, progress on standard error.

When standard output is no terminal there is no colour, no box and no wrapping: one row a line.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from terrace import units
from terrace.errors import TerraceError

SCHEMA = 1
_BAR_WIDTH = 48  # characters of the longest bar
_SILENT_SECONDS = 2.0
_PIPE_WIDTH = 100_000


def console() -> Console:
    """The console of standard output."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=_PIPE_WIDTH, color_system=None, force_terminal=False, soft_wrap=True)


def table(*headings: str, title: str | None = None, left: Sequence[int] = (0,)) -> Table:
    """A table whose columns align right, but for those in `left`."""
    terminal = sys.stdout.isatty()
    result = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD if terminal else None,
        pad_edge=terminal,
        padding=(0, 1),
        header_style="bold",
    )
    for number, heading in enumerate(headings):
        result.add_column(heading, justify="left" if number in left else "right", no_wrap=number not in left)
    return result


def print_json(document: dict[str, Any]) -> None:
    """Prints one JSON document that says which schema it has."""
    json.dump({"schema": SCHEMA, **document}, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator["Steps"]:
    """Shows progress on standard error, if that is a terminal and it takes longer than two seconds."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *([MofNCompleteColumn()] if total is not None else []),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    steps = Steps(bar, what, total)
    timer = threading.Timer(_SILENT_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield steps
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


class Steps:
    """What `progress` counts."""

    def __init__(self, bar: Progress, what: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total)

    def done(self, count: int = 1) -> None:
        """So many steps more are done."""
        self._bar.advance(self._task, count)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file that is there whole or not at all, whoever else writes the same; raises TerraceError."""
    raw = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # a device, as /dev/stdout, is written to and not replaced
            path.write_bytes(raw)
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            beside.write_bytes(raw)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise TerraceError(f"{path}: cannot be written: {error.strerror}") from error


def warn(text: str) -> None:
    """One line on standard error that is no failure."""
    print(f"terrace: {text}", file=sys.stderr)


def bars(title: str, rows: Sequence[tuple[str, float]], encoding: str | None = None) -> str:
    """The rows (label, seconds) as bars in proportion to their times, the longest over the whole width.

    Blocks where the terminal can show them, number signs elsewhere. Raises ValueError without rows.
    """
    longest = max(seconds for _, seconds in rows)
    width = max(len(label) for label, _ in rows)
    block = "█" if "utf" in (encoding or sys.stdout.encoding or "").lower() else "#"
    lines = [title]
    for label, seconds in rows:
        bar = block * max(1, round(_BAR_WIDTH * seconds / longest))
        lines.append(f"  {label:>{width}}  {bar} {units.seconds(seconds)}")
    return "\n".join(lines)
