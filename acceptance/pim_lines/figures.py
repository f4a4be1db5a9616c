"""What bench/pim measured: run once for each of its parts, however many lines ask."""

from __future__ import annotations

import functools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, SETTINGS, Unavailable, run

BUILD = ROOT / "build" / "release"
BENCH = BUILD / "bench" / "bin" / "pim_bench"


@dataclass(frozen=True)
class Figure:
    """One measure of one contender in one series: median and quartiles over the rounds."""

    section: str
    series: str
    threads: int
    contender: str
    measure: str
    unit: str
    median: float
    low: float
    high: float
    samples: tuple[float, ...]


def built(program: Path) -> Path:
    if not program.exists():
        raise Unavailable(f"{program.relative_to(ROOT)} is not built; `make build` does it")
    return program


@functools.cache
def _section(name: str) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        quick = ["--quick"] if SETTINGS.quick else []
        run([built(BENCH), "--only", name, f"--benchmark_out={out}", *quick], timeout=3600)
        rows = json.loads(out.read_text())["benchmarks"]
    for row in rows:
        del row["name"]
    return tuple(Figure(**row | {"samples": tuple(row["samples"])}) for row in rows)


def figures(section: str, measure: str, contender: str = "terrace") -> list[Figure]:
    return [row for row in _section(section) if row.measure == measure and row.contender == contender]
