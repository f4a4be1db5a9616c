"""Intervals of benefit: what `show` states with 90 %, against the benefit from exact counters.

A recording observes some of the iterations, so its truth is that of another one, of the same program on the same
machine, which keeps the exact counters of all. Where a plan moves data the truth is that of the same run.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work
from others_tool.build import WORK, NotBuilt, build
from others_tool.cost import SMALL_CACHES, observed
from others_tool.execute import WrongResult
from others_tool.fetch import NoArchive
from others_tool.recipe import Recipe, read_all

from others_lines.own import programs
from others_lines.programs import PROGRAMS, Row, failures

# Slow memory of four times the latency, of an eighth of the bandwidth, and CXL; and while a plan moves data.
SETTINGS = {
    "latency": ["record", "-m", "unimem-lat4"],
    "bandwidth": ["record", "-m", "unimem-bw8"],
    "cxl": ["record", "-m", "ddr5-cxl"],
    "moving": ["simulate", "-m", "unimem-lat4", "--fast", "100KiB", "--exact"],
}
LEAST, MOST = 0.80, 0.97


Counts = dict[str, int]


def _own(setting: str, name: str, words: list[str]) -> Counts:
    file = work("others") / f"interval-{setting}-{name}.terrace"
    file.unlink(missing_ok=True)
    first, *more = SETTINGS[setting]
    call: list[str | Path] = [programs(marked=True) / name, *words]
    run([TERRACE, first, "-q", *more, *SMALL_CACHES, "-o", file, "--", *call])
    if "--exact" in more:
        return _held(file, file)
    exact = file.with_suffix(".exact.terrace")
    exact.unlink(missing_ok=True)
    run([TERRACE, first, "-q", "--exact", *more, *SMALL_CACHES, "-o", exact, "--", *call])
    return _held(file, exact)


def _public(recipe: Recipe) -> Row:
    """Its counts, or why it cannot be run."""
    try:
        built = build(recipe, "hooked", WORK)
        _, exact = observed(recipe, built, "small", WORK, "record", "--exact", *SMALL_CACHES)
        exact = exact.replace(exact.with_suffix(".exact.terrace"))
        _, file = observed(recipe, built, "small", WORK, "record", *SMALL_CACHES)
    except (NoArchive, NotBuilt, WrongResult) as error:
        return {"failed": str(error)}
    return {**_held(file, exact)}


def _held(file: Path, with_truth: Path) -> Counts:
    """Of the objects that `show` ranks, in how many intervals the benefit from exact counters is, and their own;
    none where it has no main loop to show."""
    shown = run([TERRACE, "show", "--json", file], check=False)
    exact = run([TERRACE, "show", "--json", "--exact", with_truth], check=False)
    if shown.returncode != 0 or exact.returncode != 0:
        return {"objects": 0, "true": 0, "own": 0}
    truth = {one["name"]: one["benefit_s"] for one in json.loads(exact.stdout)["objects"]}
    ranked = [one for one in json.loads(shown.stdout)["objects"] if one["rank"] is not None]
    return {
        "objects": len(ranked),
        "true": sum(
            one["benefit_low_s"] <= truth.get(one["name"], 0.0) <= one["benefit_high_s"] for one in ranked
        ),
        "own": sum(one["benefit_low_s"] <= one["benefit_s"] <= one["benefit_high_s"] for one in ranked),
    }


def _own_workloads(setting: str) -> list[Counts]:
    return [
        keep_part(f"interval-{setting}-{name}", functools.partial(_own, setting, name, words))
        for name, words in every_workload("small").items()
    ]


def _public_programs() -> dict[str, Row]:
    return {
        name: keep_part(f"interval-public-{name}", functools.partial(_public, recipe))
        for name, recipe in read_all().items()
    }


def _share(each: list[Counts]) -> tuple[float, int]:
    """Of the intervals that hold the truth, and how many there are."""
    objects = sum(counts["objects"] for counts in each)
    return sum(counts["true"] for counts in each) / max(objects, 1), objects


def intervals_hold_the_truth() -> Measured:
    """Judged are the objects of all programs together; each group's share is said."""
    public = _public_programs()
    measured = [row for row in public.values() if "failed" not in row]
    groups = {**{setting: _own_workloads(setting) for setting in SETTINGS}, "public programs": measured}
    each = [counts for group in groups.values() for counts in group]
    share, objects = _share(each)
    own = sum(counts["own"] for counts in each)
    ranking = sum(row["objects"] > 0 for row in measured)
    shares = {name: _share(group) for name, group in groups.items()}
    text = [
        f"{share:.1%} of {objects} objects; the estimate: {own} of {objects}",
        "; ".join(f"{name} {part:.1%} of {of_group}" for name, (part, of_group) in shares.items()),
        f"{len(measured)} public programs were measured, {ranking} have a main loop with objects to rank",
        *failures(public),
    ]
    holds = LEAST <= share <= MOST and own == objects and len(measured) >= PROGRAMS
    return Measured("\n".join(text), holds)


LINES = [
    Line(
        "intervals of benefit",
        "the benefit from exact counters is in 80 to 97 % of the intervals that show states with 90 % for a "
        "recording as it is by default, the estimate in all; over "
        "the objects of this project's own workloads in four settings and of at least "
        f"{PROGRAMS} public programs, size small",
        intervals_hold_the_truth,
    ),
]
