"""A trace followed through a machine's caches."""

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError, core_errors
from terrace.output import warn
from terrace.outputs import is_trace

CODES = ("program", "memory functions", "libraries")


@dataclass(frozen=True)
class Line:
    """Lines that an object's misses fetched from memory at one place in the code."""

    object: str
    code: str
    site: str
    lines: int


def read(
    trace: Path, machine: _core.Machine, initiator: int, caches: list[str], whole_run: bool
) -> _core.TraceMisses:
    """Follows a trace through a machine's caches; says so when it is not whole."""
    if not trace.is_file():
        raise WrongCallError(f"{trace}: no such trace")
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
        warn(f"{trace}: the tracer stopped at its limit, before the program ended")
    return found
