"""Runs bench/pim and returns its results. Each part runs once, for all criteria that need it; if the result pages
have a run of their own, its results are used."""

from __future__ import annotations

import functools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, Unavailable, keep_part, run, step_document

BUILD = ROOT / "build" / "release"
BENCH = BUILD / "bench" / "bin" / "pim_bench"


@dataclass(frozen=True)
class Figure:
    """One measure of one contender in one series: median, quartiles and the least over the rounds."""

    section: str
    series: str
    threads: int
    contender: str
    measure: str
    unit: str
    median: float
    low: float
    high: float
    least: float


def built(program: Path) -> Path:
    if not program.exists():
        raise Unavailable(f"{program.relative_to(ROOT)} is not built; `make build` does it")
    return program


@functools.cache
def _section(name: str) -> tuple[Figure, ...]:
    rows = step_document(BENCH.name).get("benchmarks") or keep_part(
        f"pim-{name}", lambda: _measured(name), timed=True
    )
    return tuple(Figure(**row) for row in rows if row["section"] == name)


def _measured(name: str) -> list[dict[str, Any]]:
    """Runs one part of bench/pim and returns the rows of its JSON file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        quick = ["--quick"] if SETTINGS.quick else []
        run([built(BENCH), "--only", name, f"--benchmark_out={out}", *quick], timeout=3600)
        rows: list[dict[str, Any]] = json.loads(out.read_text())["benchmarks"]
    return rows


def figures(section: str, measure: str, contender: str = "terrace") -> list[Figure]:
    return [row for row in _section(section) if row.measure == measure and row.contender == contender]
