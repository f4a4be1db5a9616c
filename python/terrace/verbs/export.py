# SPDX-License-Identifier: Apache-2.0
"""`terrace export`: convert a profile to Perfetto, CSV or JSON."""

import csv
import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from terrace.errors import WrongCallError
from terrace.output import SCHEMA
from terrace.output_files import check_output, whole_file
from terrace.report.perfetto import trace
from terrace.solve import confidence
from terrace.solve.model import Model
from terrace.store.reader import Store

_EPILOG = """\b
Examples:
  terrace export cg.4711.terrace --format perfetto -o cg.json     (open it at ui.perfetto.dev)
  terrace export cg.4711.terrace --format csv > objects.csv
  terrace export cg.4711.terrace --format csv --table move -o moves.csv
"""


class Format(StrEnum):
    """Output formats."""

    PERFETTO = "perfetto"
    CSV = "csv"
    JSON = "json"


# Tables that CSV and JSON contain, without columns of blobs.
TABLES = (
    "run", "object", "object_place", "loop", "loop_candidate", "phase_instance", "proof", "core_time",
    "iteration", "phase", "cell", "chunk_place", "move", "plan", "plan_object", "plan_part", "plan_move",
    "counters", "level", "mpi_call", "mpi_message", "mpi_object", "spill", "coverage", "coverage_code",
    "coverage_object", "note", "machine", "node", "place", "initiator", "cache", "domain", "path", "copy",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("export", epilog=_EPILOG)(export)


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE.terrace", help="Profile to convert.")],
    format: Annotated[Format, typer.Option("--format", "-F", help="Output format.")] = Format.PERFETTO,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: standard output.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="csv: a table of docs/reference/store.md, or benefit (gains, ranks); default: objects x phases"
        ),
    ] = None,
    process: Annotated[int | None, typer.Option(help="perfetto: process to export; default: all.")] = None,
) -> None:
    """Convert a profile to Perfetto (phases, moves and waits over time), CSV or JSON."""
    if table is not None and format is not Format.CSV:
        raise WrongCallError("--table requires --format csv")
    if table is not None and table not in (*TABLES, _BENEFIT):
        raise WrongCallError(f"--table {table}: unknown table; known: {', '.join((*TABLES, _BENEFIT))}")
    store = Store(file)
    if output is not None:
        check_output(output, "export", lambda head: _is_export(head, store))
    document: dict[str, Any] = {}
    if format is Format.PERFETTO:
        document = trace(store, [store.run(process)] if process is not None else store.runs())
    elif format is Format.JSON:
        document = {
            "schema": SCHEMA,
            "file": file.name,
            "tables": {name: _rows(store, name) for name in TABLES},
            "benefits": [dict(zip(_BENEFIT_COLUMNS, row, strict=True)) for row in _benefit_rows(store)],
        }
    if output is None:
        _write(sys.stdout, store, document, table)
        return
    with whole_file(output) as out:
        _write(out, store, document, table)


def _is_export(head: bytes, store: Store) -> bool:
    headings = [_OBJECT_COLUMNS, _BENEFIT_COLUMNS, *(store.table(name)[0] for name in TABLES)]
    first = head.split(b"\n")[0].decode(errors="replace")
    return head.startswith((b'{"traceEvents":', b'{"schema":')) or first in [",".join(each) for each in headings]


def _write(out: TextIO, store: Store, document: dict[str, Any], table: str | None) -> None:
    """Writes the requested format."""
    if document:
        json.dump(document, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")
    elif table == _BENEFIT:
        _write_csv(out, _BENEFIT_COLUMNS, _benefit_rows(store))
    elif table is not None:
        columns, rows = store.table(table)
        _write_csv(out, columns, rows)
    else:
        _write_csv(out, _OBJECT_COLUMNS, _object_rows(store))


def _write_csv(out: TextIO, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(("" if isinstance(value, bytes) else value for value in row) for row in rows)


def _rows(store: Store, name: str) -> list[dict[str, Any]]:
    columns, rows = store.table(name)
    return [
        {column: value for column, value in zip(columns, row, strict=True) if not isinstance(value, bytes)}
        for row in rows
    ]


_OBJECT_COLUMNS = (
    "process", "exact", "object", "kind", "size_bytes", "phase", "phase_name", "phase_s", "read_lines",
    "write_lines", "exposure", "samples",
)  # fmt: skip


_BENEFIT = "benefit"  # computed, not stored
_BENEFIT_COLUMNS = (
    "process", "exact", "object", "size_bytes", "benefit_s", "benefit_low_s", "benefit_high_s", "rank",
    "may_swap_with", "swap_probability",
)  # fmt: skip


def _benefit_rows(store: Store) -> Iterable[list[Any]]:
    """Yields a row for each process, profile and object with a gain, as `terrace show` prints them."""
    for run in store.runs():
        for exact in (False, True):
            if not store.has_profile(run, exact):
                continue
            objects = store.profile(run, exact).objects
            found = confidence.benefits(Model(store, run, exact=exact), [item.name for item in objects])
            for item, benefit in zip(objects, found, strict=True):
                if benefit.rank is not None:
                    yield [
                        run.process, int(exact), item.name, item.size, benefit.seconds, benefit.low, benefit.high,
                        benefit.rank, benefit.rival, benefit.swap,
                    ]  # fmt: skip


def _object_rows(store: Store) -> Iterable[list[Any]]:
    """Yields a row for each process and profile, and each object with accesses in a phase."""
    for run in store.runs():
        for exact in (False, True):
            if not store.has_profile(run, exact):
                continue
            profile = store.profile(run, exact)
            for o, item in enumerate(profile.objects):
                for p, phase in enumerate(profile.phases):
                    if profile.reads[o, p] + profile.writes[o, p] + profile.samples[o, p] > 0:
                        yield [
                            run.process, int(exact), item.name, item.kind, item.size, p, phase.name, phase.time,
                            profile.reads[o, p], profile.writes[o, p], profile.exposure[o, p],
                            profile.samples[o, p],
                        ]  # fmt: skip
