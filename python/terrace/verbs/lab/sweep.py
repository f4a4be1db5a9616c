# SPDX-License-Identifier: Apache-2.0
"""`terrace lab sweep`: replay one recording on many machines, with many budgets and planners.

Every point is a separate `terrace replay`, so points run in parallel and each equals a single replay exactly.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from terrace import units
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import study
from terrace.output import console, print_json, progress, table, warn, write_whole
from terrace.output_files import check_output, is_sweep, whole_file
from terrace.store.reader import Store

SCHEMA = 1  # of the JSON and CSV files

_EPILOG = """\b
Examples:
  terrace simulate --misses cg.misses -m unimem-bw2 -- ./cg --class W
  terrace lab sweep cg.misses --machines unimem-bw2,unimem-lat4 --budgets 1MiB,2MiB,4MiB
  terrace lab sweep app.misses --machines hbm-ddr-cxl-2domains --budgets hbm=1GiB+cxl=4GiB -o app.csv
"""


@dataclass(frozen=True)
class Point:
    """A configuration of the sweep."""

    machine: str
    budget: str  # value of --budget; "": all of every place
    planner: str

    def options(self) -> list[str]:
        """Returns the options of `terrace replay`."""
        words = ["--machine", self.machine, "--planner", self.planner]
        return [*words, "--budget", self.budget] if self.budget else words


@dataclass(frozen=True)
class Row:
    """Result of a point. Times are virtual seconds; `loop_s` is that of the last main loop."""

    machine: str
    budget: str
    planner: str
    total_s: float | None  # if None: the recording is truncated
    loop_s: float | None  # if None: no main loop ended
    iterations: int
    waited_s: float
    moves: int
    moved_bytes: int


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    app.command("sweep", epilog=_EPILOG)(sweep)


def sweep(
    recording: Annotated[Path, typer.Argument(help="Recording of record or simulate --misses.")],
    machines: Annotated[str, typer.Option(help="Machine files or names, separated by commas.")],
    budgets: Annotated[
        str, typer.Option(help="Budgets, separated by commas; + joins kinds: hbm=1GiB+cxl=4GiB.")
    ] = "",
    planners: Annotated[str, typer.Option(help="Planners, separated by commas.")] = "slow-only,auto,fast-only",
    cache: Annotated[list[str] | None, typer.Option(help="Change the size of a cache, as in replay.")] = None,
    cores: Annotated[str, typer.Option(help="Cores that the program's thread represents, as in replay.")] = "1",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Parallel replays.")] = os.cpu_count() or 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the table to this file: .json or .csv.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Replay one recording on many machines, with many budgets and planners, in parallel."""
    if output is not None and output.suffix not in (".json", ".csv"):
        raise WrongCallError(f"--output {output}: the name must end in .json or .csv")
    if output is not None:
        check_output(output, "table of lab sweep", is_sweep)
    points = [
        Point(*chosen)
        for chosen in itertools.product(
            _words(machines, "--machines"),
            [budget.replace("+", ",") for budget in _words(budgets, "--budgets")] if budgets else [""],
            _words(planners, "--planners"),
        )
    ]
    options = [word for size in cache or [] for word in ("--cache", size)] + ["--cores", cores]
    rows, said = replay_all(recording, points, options, jobs)
    document: dict[str, object] = {"recording": str(recording), "rows": [asdict(row) for row in rows]}
    if output is not None:
        _write(output, document, rows)
    if as_json:
        print_json(document)
    else:
        _print(rows)
    if said:
        raise typer.Exit(1)


def replay_all(
    recording: Path, points: Sequence[Point], options: Sequence[str], jobs: int
) -> tuple[list[Row], list[str]]:
    """Returns a row for each point in order, and why the recording is incomplete, if it is.

    Raises TerraceError with the message of the first replay that failed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="terrace-sweep-") as folder,
        progress("replays", len(points)) as steps,
        ThreadPoolExecutor(max_workers=jobs) as pool,
    ):

        def one(numbered: tuple[int, Point]) -> tuple[Row, str]:
            number, point = numbered
            done = _replay(recording, point, options, Path(folder) / f"{number}.terrace")
            steps.done()
            return done

        try:
            results = list(pool.map(one, enumerate(points)))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    why = list(dict.fromkeys(said for _, said in results if said))  # the same for every replay
    for said in why:
        warn(said.removeprefix("terrace: "))
    return [row for row, _ in results], why


def _words(text: str, option: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise WrongCallError(f"{option} {text!r}: a value between commas is missing")
    return words


def _replay(recording: Path, point: Point, options: Sequence[str], store: Path) -> tuple[Row, str]:
    """Replays the recording at one point; returns its row, and a message if the recording is truncated."""
    words = [study.terrace_program(), "replay", str(recording), "--quiet", "--output", str(store)]
    done = subprocess.run([*words, *point.options(), *options], capture_output=True, text=True)
    said = done.stderr.strip()
    is_partial = done.returncode == 1 and store.exists()  # replay of a truncated recording
    if done.returncode != 0 and not is_partial:
        kind = WrongCallError if done.returncode == 2 else TerraceError
        raise kind(said.removeprefix("terrace: ") or f"{' '.join(words)} ended with {done.returncode}")
    row = _row(point, store)
    store.unlink()
    return row, said if is_partial else ""


def _row(point: Point, path: Path) -> Row:
    """Returns the row of the process with the longest main loop, or with the longest run if none has one."""
    store = Store(path)
    rows = []
    for run in store.runs():
        loop = store.loop(run)
        ended = loop is not None and loop.ended is not None
        moved = store.moved(run)
        rows.append(
            Row(
                point.machine, point.budget, point.planner,
                total_s=run.ended,
                loop_s=loop.ended - loop.begun if loop is not None and loop.ended is not None else None,
                iterations=(loop.iterations or 0) if loop is not None and ended else 0,
                waited_s=sum(phase.waited for phase in store.phase_instances(run)),
                moves=sum(pair.moves for pair in moved),
                moved_bytes=sum(pair.size for pair in moved),
            )
        )  # fmt: skip
    return max(rows, key=lambda row: (row.loop_s or 0.0, row.total_s or 0.0))


def _write(path: Path, document: dict[str, object], rows: Sequence[Row]) -> None:
    """Writes the rows as JSON or CSV, by the file's name."""
    if path.suffix == ".json":
        write_whole(path, json.dumps({"schema": SCHEMA, **document}, indent=1) + "\n")
        return
    with whole_file(path) as file:
        names = [field.name for field in fields(Row)]
        writer = csv.writer(file)
        writer.writerow(["schema", *names])
        for row in rows:
            values = asdict(row)
            writer.writerow([SCHEMA, *("" if values[name] is None else values[name] for name in names)])


def _print(rows: Sequence[Row]) -> None:
    shown = table("machine", "budget", "planner", "loop", "total", "waited", "moves", "moved", left=(0, 1, 2))
    for row in rows:
        shown.add_row(
            row.machine,
            row.budget or "all",
            row.planner,
            "-" if row.loop_s is None else units.seconds(row.loop_s),
            "-" if row.total_s is None else units.seconds(row.total_s),
            units.seconds(row.waited_s),
            str(row.moves),
            units.size(row.moved_bytes),
        )
    console().print(shown)
