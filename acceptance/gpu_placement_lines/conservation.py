"""Checks conservation laws on the counters of every run of the study, level by level. Criteria of
acceptance/gpu-placement."""

from __future__ import annotations

from collections import Counter

from harness import Criterion, Measured
from terrace.lab.experiment.ccnuma import FIRST
from terrace.lab.experiment.gpu_laws import broken_laws

from gpu_placement_lines.common import answers


def conservation() -> Measured:
    """Checks the conservation laws again in the study's answers, of which one for each program has each page's
    traffic. The study itself ends with an error if a run breaks a law."""
    sums: Counter[str] = Counter()
    runs, broken = 0, []
    for program, rule, run in answers():
        runs += 1
        broken += [f"{program} under {rule.name}: {law}" for law in broken_laws(run, pages=rule.kind == FIRST)]
        sums.update(run["counts"])
        sums["dram_bytes"] += sum(run["demand_bytes"]) + sum(run["move_bytes"])
    missed = sums["l1_loads"] - sums["l1_hits"] - sums["l1_merges"] + sums["l1_atomics"]
    asked = sums["l2_fetched_bytes"] + sums["l2_written_bytes"] + 2 * sums["copied_bytes"]
    text = [
        f"{runs} runs, {len(broken)} break a law; summed over all:",
        f"L1 misses less merges {missed}, L2 reads {sums['l2_reads']}",
        f"L2 misses {sums['l2_fetched_bytes']} B, write-backs {sums['l2_written_bytes']} B, moves "
        f"{2 * sums['copied_bytes']} B, together {asked} B; DRAM {sums['dram_bytes']} B",
        f"pages in another's frame or in none: {sums['misplaced_pages']}",
        *broken[:5],
    ]
    return Measured("\n".join(text), runs > 0 and not broken)


CRITERIA = [
    Criterion(
        "conservation",
        "in every run: L1 misses less merges = L2 reads; L2 misses + write-backs + moves = DRAM bytes; every page "
        "in exactly one place",
        conservation,
    )
]
