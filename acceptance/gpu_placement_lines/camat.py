"""Checks C-AMAT (concurrent average memory access time): its identities in every run, and the two programs of the
paper. Criteria of acceptance/gpu-placement; camat_test has the examples by hand."""

from __future__ import annotations

import math

from harness import Criterion, Measured
from terrace import _core
from terrace.lab.experiment import ccnuma

from gpu_placement_lines.common import answers, size, trace

LEVELS = ("l1", "l1_parts", "l2", "dram")
# Zhang et al., MCHPC 2017: L1 C-AMAT of 15 SMs, about what its figure shows: the middle, the least, the most.
PUBLISHED = {"btree": (10, 9, 11.5), "particlefilter": (40, 38, 48)}


def identities() -> Measured:
    """Checks that C-AMAT times accesses are the active cycles, by both forms; the second one has five
    quotients."""
    runs, cycles, broken = 0, 0, []
    for program, rule, answer in answers():
        runs += 1
        for level in LEVELS:
            of = answer["camat"][level]
            active = of["hit_cycles"] + of["pure_miss_cycles"]
            cycles += active
            five = of["hit_time"] / of["hit_concurrency"] if of["hit_concurrency"] else 0.0
            if of["miss_concurrency"]:
                five += of["pure_miss_ratio"] * of["pure_miss_penalty"] / of["miss_concurrency"]
            counted = [of["value"] * of["accesses"], five * of["accesses"]]
            if any(round(each) != active for each in counted):
                broken.append(f"{program} under {rule.name}, {level}: {active}, {counted}")
    first = f"{runs} runs at {len(LEVELS)} levels: {cycles} active cycles, {len(broken)} levels differ"
    return Measured("\n".join([first, *broken[:5]]), runs > 0 and not broken)


def two_programs() -> Measured:
    """Measures C-AMAT with all pages in the GPU's own memory and an L1 cache of one cycle of latency."""
    about = _core.Machine.read(ccnuma.MACHINE)
    lines, rows, holds = [], [], True
    for name, (middle, least, most) in PUBLISHED.items():
        l1 = _core.simulate_gpu_share(about, trace(name, size()), 1.0)["camat"]["l1"]
        by_sm = [of_sm["value"] for of_sm in l1["each"]]
        mean = sum(by_sm) / len(by_sm)
        holds = holds and all(map(math.isfinite, by_sm)) and mean > 0
        lines.append(
            f"{name}, {len(by_sm)} SMs: {mean:.1f} on average, {min(by_sm):.1f} to {max(by_sm):.1f}; "
            f"published about {middle} ({least} to {most})"
        )
        rows.append({"program": name, "mean": round(mean, 2), "least": round(min(by_sm), 2),
                     "most": round(max(by_sm), 2), "published": f"{middle} ({least} to {most})"})  # fmt: skip
    return Measured("\n".join(lines), holds, rows)


CRITERIA = [
    Criterion(
        "C-AMAT",
        "hit cycles + pure-miss cycles = active cycles, as integers, at every level of every run",
        identities,
    ),
    Criterion(
        "C-AMAT of two programs",
        "L1 over 15 SMs beside about 10 (btree) and about 40 (particle filter)",
        two_programs,
    ),
]
