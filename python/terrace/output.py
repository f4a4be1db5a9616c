# SPDX-License-Identifier: Apache-2.0
"""Prints the output of the subcommands: tables and JSON on standard output, progress on standard error.

If standard output is not a terminal, tables have no colour, no box and no wrapping: one row is one line.
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
    """Returns the console of standard output."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=_PIPE_WIDTH, color_system=None, force_terminal=False, soft_wrap=True)


def table(*headings: str, title: str | None = None, left: Sequence[int] = (0,)) -> Table:
    """Returns a table whose columns are right-aligned, except those in `left`."""
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
    """Prints one JSON document with the schema version."""
    json.dump({"schema": SCHEMA, **document}, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator["Steps"]:
    """Shows a progress bar on standard error if that is a terminal and the work takes more than two seconds."""
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
    """Counter that `progress` displays."""

    def __init__(self, bar: Progress, what: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total)

    def done(self, count: int = 1) -> None:
        """Advances the progress bar by `count` steps."""
        self._bar.advance(self._task, count)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file atomically, also against concurrent writers. Raises TerraceError."""
    raw = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # write to a device such as /dev/stdout instead of replacing it
            path.write_bytes(raw)
            return
        target = path.resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary.write_bytes(raw)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise TerraceError(f"{path}: cannot be written: {error.strerror}") from error


def warn(text: str) -> None:
    """Prints one line to standard error; the exit status stays as it is."""
    print(f"terrace: {text}", file=sys.stderr)


def bars(title: str, rows: Sequence[tuple[str, float]], encoding: str | None = None) -> str:
    """Draws the rows (label, seconds) as horizontal bars proportional to their times.

    Uses block characters if the terminal's encoding has them, else number signs. Raises ValueError without rows.
    """
    longest = max(seconds for _, seconds in rows)
    width = max(len(label) for label, _ in rows)
    block = "█" if "utf" in (encoding or sys.stdout.encoding or "").lower() else "#"
    lines = [title]
    for label, seconds in rows:
        bar = block * max(1, round(_BAR_WIDTH * seconds / longest))
        lines.append(f"  {label:>{width}}  {bar} {units.seconds(seconds)}")
    return "\n".join(lines)
