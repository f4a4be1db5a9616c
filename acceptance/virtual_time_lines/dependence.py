"""Checks by pattern which misses the profiler counts as dependent on an earlier one. A criterion of
acceptance/virtual-time.

Recorded on a machine on which nothing but a dependent miss exposes any latency, and each of them a whole one: it
has one miss register, and any number of other lines in flight. Then latencies exposed are dependent misses, and
the exact counters have both, by phase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, Criterion, Measured, fresh, query, workloads

from virtual_time_lines.common import OWN, Words, program, simulate, workload

CHASES, OTHERS = 0.99, 0.01  # at least, at most
LINES_OF_PATTERNS = "65536"  # 4 MiB
CACHE = ["--cache", "l2=32KiB", "--cache", "l3=256KiB"]
ENDLESS = "1000000000.0"


@dataclass(frozen=True)
class Pattern:
    name: str
    phase: str
    command: tuple[str, ...]  # a workload, or what patterns.c calls it


CHASING = [
    Pattern("pointer chase", "chase", ("chase", "--size", "4MiB", "--steps", "200000")),
    Pattern("4 pointer chases", "chase", ("chase", "--size", "4MiB", "--steps", "50000", "--chains", "4")),
    Pattern("index chase, 4 bytes", "index", ("index4", LINES_OF_PATTERNS)),
    Pattern("index chase, 8 bytes", "index", ("index8", LINES_OF_PATTERNS)),
    Pattern("index chase, 16 bytes", "index", ("index16", LINES_OF_PATTERNS)),
    # An index is recognised by scales of 4, 8 and 16 only (docs/explanation/virtual-time.md): of records this
    # falls short.
    Pattern("index chase, 64 bytes", "index", ("index64", LINES_OF_PATTERNS)),
]
WAITING_FOR_NONE = [
    Pattern("GUPS", "update", ("gups", "--size", "4MiB", "--iterations", "4")),
    Pattern("gather", "gather", ("gather", LINES_OF_PATTERNS)),
    Pattern("row sweep", "rows", ("rows", LINES_OF_PATTERNS)),
    Pattern("row sweep through pointers", "rows", ("pointers", LINES_OF_PATTERNS)),
]


def _machine(folder: Path) -> Path:
    """Writes a machine file on which only dependent misses expose latency; returns its path."""
    text = (ROOT / "machines" / "unimem-lat4.toml").read_text()
    for key, value in (("mlp", ENDLESS), ("prefetch_mlp", ENDLESS), ("miss_registers", "1")):
        text, found = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.M)
        if found != 1:
            raise RuntimeError(f"machines/unimem-lat4.toml does not say its {key} once")
    path = folder / "dependent-only.toml"
    path.write_text(text)
    return path


def _share(pattern: Pattern, folder: Path, machine: Path) -> tuple[float, float]:
    """Returns dependent misses over misses, and the number of misses."""
    name, *words = pattern.command
    shipped = name in workloads()
    made = workload(name, True) if shipped else program(OWN / "patterns.c", "-fopenmp")
    command: Words = [made, *words] if shipped else [made, name, *words]
    store = folder / "pattern.terrace"
    options: Words = ["--machine", machine, *CACHE, "--exact"]
    simulate(store, options, command, verb="record", OMP_SCHEDULE="static")
    ((exposed, misses),) = query(
        store,
        "SELECT sum(cell.exposure), sum(cell.read_lines) FROM cell "
        "JOIN iteration ON iteration.id = cell.iteration "
        "JOIN phase ON phase.iteration = cell.iteration AND phase.phase = cell.phase "
        "WHERE iteration.exact AND (phase.name = ?1 OR phase.name LIKE ?1 || '@%')",  # a long one is in segments
        pattern.phase,
    )
    if not misses:
        raise RuntimeError(f"{pattern.name}: no misses in phase {pattern.phase}")
    return exposed / misses, misses


def dependence() -> Measured:
    """Judges the share of misses counted as dependent, for patterns that chase and patterns that do not."""
    folder = fresh("dependence")
    machine = _machine(folder)
    lines, holds = [], True
    for patterns, goal in ((CHASING, CHASES), (WAITING_FOR_NONE, OTHERS)):
        for pattern in patterns:
            share, misses = _share(pattern, folder, machine)
            fine = share >= CHASES if patterns is CHASING else share <= OTHERS
            holds = holds and fine
            lines.append(f"{pattern.name}: {share:.2%} of {misses:.0f}" + ("" if fine else f": goal {goal:.0%}"))
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion(
        "dependent misses",
        f"pointer and index chases at least {CHASES:.0%}; GUPS, gather and row sweeps at most {OTHERS:.0%}",
        dependence,
    )
]
