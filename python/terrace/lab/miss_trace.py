# SPDX-License-Identifier: Apache-2.0
"""Replays a memory trace through the caches of a machine, for `terrace lab misses` and `terrace lab coverage`."""

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError, core_errors
from terrace.output import warn
from terrace.output_files import is_trace

CODES = ("program", "memory functions", "libraries")


@dataclass(frozen=True)
class Line:
    """Cache lines that an object's misses fetched from memory at one place in the code."""

    object: str
    code: str
    site: str
    lines: int


def read(
    trace: Path, machine: _core.Machine, initiator: int, caches: list[str], whole_run: bool
) -> _core.TraceMisses:
    """Replays a trace through a machine's caches; warns if the trace is truncated."""
    if not trace.is_file():
        raise WrongCallError(f"{trace}: trace file not found; `terrace lab trace -- PROGRAM` writes one")
    with trace.open("rb") as file:
        is_other_kind = not is_trace(file.read(16))
    try:
        with core_errors():
            found = _core.trace_misses(str(trace), machine, initiator, caches, whole_run=whole_run)
    except TerraceError as error:
        raise WrongCallError(str(error)) if is_other_kind else error from None
    if not found.whole:
        warn(f"{trace}: {found.reason}")
    elif found.limited:
        warn(
            f"{trace}: truncated: the tracer reached its size limit before the program ended; "
            "trace with a larger --limit"
        )
    return found
