"""Compares plans made from detected phases with plans made from a program's own markers. A gap is a plan's time
over that of fast memory alone, less 1. A criterion of acceptance/others."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from statistics import mean

from harness import TERRACE, Criterion, Measured, every_workload, keep_part, run, work
from others_tool.cost import FAST, SMALL_CACHES
from others_tool.pricing import observed_in, words_of
from others_tool.profiles import Profile

from others_lines.own import programs

# Machines by the limiting factor, as in the planning criteria: four times the latency, or half of the bandwidth.
MACHINES = {"latency": "unimem-lat4", "bandwidth": "unimem-bw2"}
MEAN, WORST = 2.0, 6.0  # points that found phases may be behind marked ones

Gaps = dict[str, float]  # by the limiting factor: planned time over fast-only time, less 1


def _loops(program: Path, words: list[str], name: str, configurations: dict[str, str]) -> dict[str, float]:
    """Simulates one run in several configurations; returns the main loop's seconds in each."""
    file = work("others") / f"{name}.terrace"
    for label in configurations:
        file.with_suffix(f".{label}.terrace").unlink(missing_ok=True)
    options: list[str | Path] = [*SMALL_CACHES, *words_of(configurations), "-o", file]
    done = run([TERRACE, "simulate", "--json", *options, "--", program, *words])
    said = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return {one["label"]: one["loop_s"] for one in said}


def gaps(name: str, words: list[str], *, marked: bool) -> Gaps:
    """Measures the gaps that a user gets: records the program, plans, and runs it with the plan and with fast
    memory alone."""
    program = programs(marked=marked) / name
    stem = f"gap-{program.parent.name}-{name}"
    file = work("others") / f"{stem}.terrace"
    machines = {limit: f"machine={machine}" for limit, machine in MACHINES.items()}
    recorded = observed_in(lambda before: run([*before, program, *words]), "record", file, machines, *SMALL_CACHES)
    plans = {limit: file.with_suffix(f".{limit}.toml") for limit in MACHINES}
    fast = max(Profile(recorded["latency"]).footprint() // FAST, 1)
    configurations = {}
    for limit, machine in MACHINES.items():
        run([TERRACE, "plan", recorded[limit], "--confidence", "0", "--fast", str(fast), "-o", plans[limit]])
        configurations[limit] = f"machine={machine} fast={fast} plan={plans[limit]}"
        configurations[f"{limit}-fast"] = f"machine={machine} planner=fast-only"
    seconds = _loops(program, words, f"{stem}-run", configurations)
    return {limit: seconds[limit] / seconds[f"{limit}-fast"] - 1 for limit in MACHINES}


def _both(name: str, words: list[str]) -> dict[str, Gaps]:
    return {way: gaps(name, words, marked=way == "marked") for way in ("marked", "found")}


def gaps_are_alike() -> Measured:
    """Judges how many points plans from detected phases are behind plans from markers."""
    behind = {}
    for name, words in every_workload("small").items():
        both = keep_part(f"gap-{name}", functools.partial(_both, name, words))
        for limit in MACHINES:
            behind[f"{name} ({limit})"] = 100 * (both["found"][limit] - both["marked"][limit])
    average = mean(behind.values())
    worst = {case: points for case, points in behind.items() if points > WORST}
    apart = mean(map(abs, behind.values()))
    text = (
        f"{average:+.2f} points on average over {len(behind)} cases ({apart:.2f} without their signs), "
        f"{max(behind.values()):+.2f} at most"
    )
    lines = [f"{case}: {points:+.1f} points" for case, points in sorted(worst.items(), key=lambda one: -one[1])]
    return Measured("\n".join([text, *lines]), average <= MEAN and not worst)


CRITERIA = [
    Criterion(
        "planned gaps with found phases",
        f"a plan's time over that of fast memory alone is at most {MEAN:.0f} points more with found phases than "
        f"with markers on average, in none more than {WORST:.0f}; 1/{FAST} of the footprint is fast",
        gaps_are_alike,
    ),
]
