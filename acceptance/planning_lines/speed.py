"""Measures the processor time of planning, by bench/runtime/runtime_bench.cpp: as concurrently with a running
program. Criteria of acceptance/planning."""

from __future__ import annotations

import json

from harness import ROOT, Criterion, Measured, run

BENCH = ROOT / "build" / "release" / "bench" / "bin" / "runtime_bench"
SMALL_MS = 50.0
LARGE_MS = 1000.0
ROUNDS = 5


def _planned(benchmark: str) -> tuple[float, dict[str, float]]:
    """Returns the median milliseconds of the processor, and the benchmark's counters."""
    done = run([BENCH, f"--benchmark_filter=^{benchmark}", "--benchmark_format=json",
                f"--benchmark_repetitions={ROUNDS}"])  # fmt: skip
    rows = json.loads(done.stdout)["benchmarks"]
    (median,) = (row for row in rows if row.get("aggregate_name") == "median")
    return float(median["cpu_time"]), median


def small() -> Measured:
    """Measures a plan of 50 objects of 16 chunks each, 100 phases."""
    took, counters = _planned("plan/50/100")
    return Measured(f"{took:.1f} ms for 800 chunks, {counters['cells']:.0f} cells", took < SMALL_MS)


def large() -> Measured:
    """Measures a plan of 200 objects of 500 chunks each, 1,000 phases: from the profile to the plan in names."""
    took, counters = _planned("plan_large/200/1000")
    text = (
        f"{took:.0f} ms for {counters['chunks']:.0f} chunks, {counters['cells'] / 1e6:.1f} million cells; "
        f"{counters['gap']:.0%} between the plan and its bound"
    )
    return Measured(text, took < LARGE_MS)


CRITERIA = [
    Criterion("speed, 50 objects x 100 phases", f"planned in under {SMALL_MS:.0f} ms", small),
    Criterion("speed, 100,000 chunks x 1,000 phases", "10 million cells: planned in under 1 s", large),
]
