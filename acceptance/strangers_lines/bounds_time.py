"""Measures the processor time of `terrace bounds` on recordings of public programs, size small. A criterion of
acceptance/strangers."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from harness import TERRACE, Criterion, Measured, run
from others_lines.programs import failures, of_recipes
from others_tool.build import WORK, build
from others_tool.cost import MACHINE, SMALL_CACHES, observed
from others_tool.profiles import Profile
from others_tool.recipe import Recipe

MAX_SECONDS = 2.0  # of processor time, with Python's start
MAX_OBJECTS = 40
MIN_PROGRAMS = 5  # whose recording has a main loop and at most so many objects
RUNS = 3  # the least counts: other load only adds

Row = dict[str, Any]


def _processor_seconds(words: list[str]) -> float:
    """Returns the least processor time of RUNS runs. Raises RuntimeError if one fails."""
    least = float("inf")
    for _ in range(RUNS):
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} ended with {child.returncode}")
        least = min(least, used.ru_utime + used.ru_stime)
    return least


def _timed(recipe: Recipe) -> Row:
    """Its objects and seconds; no seconds where the recording has no main loop."""
    _, store = observed(recipe, build(recipe, "hooked", WORK), "small", WORK, "record", *SMALL_CACHES)
    shown = run([TERRACE, "show", "--json", store], check=False)
    if shown.returncode != 0 or not Profile(store).loop().name:
        return {"objects": 0}
    file = store.replace(store.with_suffix(".bounds.terrace"))
    objects = sum(one["rank"] is not None for one in json.loads(shown.stdout)["objects"])
    words = [str(TERRACE), "bounds", str(file)]
    half = max(Profile(file).footprint() // 2, 1)
    return {
        "objects": objects,
        "seconds": _processor_seconds(words),
        "seconds with --fast": _processor_seconds([*words, "--fast", str(half)]),
    }


def judge(found: dict[str, Row]) -> Measured:
    """Judges the programs with few objects; the table has a row for each program with a main loop."""
    rows = [{"program": name, **row} for name, row in found.items() if "seconds" in row]
    judged = [row for row in rows if 0 < row["objects"] <= MAX_OBJECTS]
    longest = {row["program"]: max(row["seconds"], row["seconds with --fast"]) for row in judged}
    over = sorted(((seconds, name) for name, seconds in longest.items() if seconds > MAX_SECONDS), reverse=True)
    most = max(longest.values(), default=0.0)
    text = (
        f"{len(judged) - len(over)} of {len(judged)} recordings, {most:.1f} s at most; "
        f"not judged: {len(rows) - len(judged)} with no object or more than {MAX_OBJECTS}"
    )
    lines = [f"{name}: {seconds:.1f} s" for seconds, name in over]
    failed = failures(found)
    fine = len(judged) >= MIN_PROGRAMS and not over and not failed
    return Measured("\n".join([text, *lines, *failed]), fine, rows)


CRITERIA = [
    Criterion(
        "time of bounds",
        f"terrace bounds takes at most {MAX_SECONDS:.0f} s of processor time, with and without --fast, for each "
        f"recording of a public program with a main loop and at most {MAX_OBJECTS} ranked objects, of which there "
        f"are at least {MIN_PROGRAMS}; size small, on {MACHINE}, the least of {RUNS} runs",
        lambda: judge(of_recipes("bounds-time", _timed, timed=True)),
    )
]
