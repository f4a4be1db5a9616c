"""A trace followed through a machine's caches."""

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import WrongCallError, core_errors
from terrace.output import warn

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
    with core_errors():
        found = _core.trace_misses(str(trace), machine, initiator, caches, whole_run=whole_run)
    if not found.whole:
        warn(f"{trace}: {found.reason}")
    elif found.limited:
        warn(f"{trace}: the tracer stopped at its limit, before the program ended")
    return found
