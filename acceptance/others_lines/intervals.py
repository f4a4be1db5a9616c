"""Intervals of benefit: what `show` states with 90 %, against the benefit from exact counters of the same run."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work
from others_tool.build import WORK, NotBuilt, build
from others_tool.cost import observed
from others_tool.execute import WrongResult
from others_tool.fetch import NoArchive
from others_tool.recipe import Recipe, read_all

from others_lines.own import programs

# So small that data of size small does not fit into them: without misses nothing has a benefit.
CACHES = ["--cache", "l2=16KiB", "l3=60KiB"]
# Slow memory of four times the latency, of an eighth of the bandwidth, and CXL; and while a plan moves data.
SETTINGS = {
    "latency": ["record", "-m", "unimem-lat4"],
    "bandwidth": ["record", "-m", "unimem-bw8"],
    "cxl": ["record", "-m", "ddr5-cxl"],
    "moving": ["simulate", "-m", "unimem-lat4", "--fast", "100KiB"],
}
LEAST, MOST = 0.80, 0.97


Counts = dict[str, int]


def _own(setting: str, name: str, words: list[str]) -> Counts:
    file = work("others") / f"interval-{setting}-{name}.terrace"
    file.unlink(missing_ok=True)
    first, *more = SETTINGS[setting]
    program = programs(marked=True) / name
    run([TERRACE, first, "-q", "--exact", *more, *CACHES, "-o", file, "--", program, *words])
    return _held(file)


def _public(recipe: Recipe) -> Counts | None:
    """None where it cannot be run, which another line says."""
    try:
        built = build(recipe, "hooked", WORK)
        _, file = observed(recipe, built, "small", WORK, "record", "--exact", *CACHES)
    except (NoArchive, NotBuilt, WrongResult):
        return None
    return _held(file)


def _held(file: Path) -> Counts:
    """Of the objects that `show` ranks, in how many intervals the benefit from exact counters is, and their own;
    none where it has no main loop to show."""
    shown = run([TERRACE, "show", "--json", file], check=False)
    exact = run([TERRACE, "show", "--json", "--exact", file], check=False)
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


def _each() -> dict[str, list[Counts]]:
    """By setting, and of the public programs."""
    own = {
        setting: [
            keep_part(f"interval-{setting}-{name}", functools.partial(_own, setting, name, words))
            for name, words in every_workload("small").items()
        ]
        for setting in SETTINGS
    }
    public = [
        keep_part(f"interval-public-{name}", functools.partial(_public, recipe))
        for name, recipe in read_all().items()
    ]
    return {**own, "public programs": [counts for counts in public if counts]}


def intervals_hold_the_truth() -> Measured:
    own = objects = 0
    texts, fine = [], True
    for setting, each in _each().items():
        of_setting = sum(counts["objects"] for counts in each)
        share = sum(counts["true"] for counts in each) / max(of_setting, 1)
        texts.append(f"{setting} {100 * share:.1f} % of {of_setting}")
        fine = fine and LEAST <= share <= MOST
        own += sum(counts["own"] for counts in each)
        objects += of_setting
    return Measured(f"{'; '.join(texts)}; the estimate: {own} of {objects}", fine and own == objects)


LINES = [
    Line(
        "intervals of benefit",
        "the benefit from exact counters is in 80 to 97 % of the stated 90 % intervals, the estimate in all; of "
        "this project's own workloads and of the public programs, size small",
        intervals_hold_the_truth,
    ),
]
