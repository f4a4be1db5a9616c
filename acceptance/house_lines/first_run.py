"""Measures how long `make demo` and `make test` take in a fresh clone without a compiler cache. Criteria of
acceptance/house."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from harness import ROOT, SETTINGS, Criterion, Measured

BUILD_MINUTES = 4
RUN_SECONDS = 60
TEST_MINUTES = 15
ROWS = {("cg", "unimem-lat4", ratio) for ratio in ("half", "quarter")}
MIN_REPORT_BYTES = 10_000
JOBS = 2  # of make: the goals are those of two cores, however many this machine has


def _make(tree: Path, target: str) -> tuple[float, str]:
    """Returns the seconds of `make TARGET JOBS=2` and its output; raises with its last lines when it fails."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    begun = time.monotonic()
    words = ["make", target, f"JOBS={JOBS}"]
    done = subprocess.run(words, cwd=tree, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"make {target}: " + " | ".join((done.stdout + done.stderr).splitlines()[-6:]))
    return time.monotonic() - begun, done.stdout


@cache
def clone() -> tuple[Path, float]:
    """Returns a fresh clone with set-up done, and the seconds of the clone. Downloads of packages are not
    counted."""
    tree = Path(tempfile.mkdtemp(prefix="terrace-first-run.")) / "terrace"
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    return tree, _make(tree, "setup")[0]


@cache
def built() -> tuple[Path, float]:
    """Returns the clone with the build for the demo, and the seconds of the build."""
    tree, _ = clone()
    return tree, _make(tree, "demo-build")[0]


def demo() -> Measured:
    """Measures set-up, build and `make demo` in the clone, and checks the report and its rows."""
    _, setup = clone()
    tree, build = built()
    whole, output = _make(tree, "demo")
    report, found = (tree / "out" / "demo" / name for name in ("report.html", "results.json"))
    results, size = json.loads(found.read_text()), report.stat().st_size
    there = {(row["workload"], row["machine"], row["ratio"]) for row in results["rows"]}
    text = (
        f"set-up {setup:.0f} s, build {build:.0f} s, `make demo` after it {whole:.0f} s "
        f"({results['run_seconds']} s of it the demo); {len(there & ROWS)} of {len(ROWS)} rows, a report "
        f"of {size / 1e6:.2f} MB"
    )
    complete = there == ROWS and size > MIN_REPORT_BYTES and report.name in output
    return Measured(text, complete and build <= BUILD_MINUTES * 60 and whole <= RUN_SECONDS)


def tests() -> Measured:
    tree, _ = built()
    seconds, _ = _make(tree, "test")
    if not SETTINGS.keep:
        shutil.rmtree(tree.parent, ignore_errors=True)
    return Measured(f"{seconds / 60:.1f} minutes, the rest of the build included", seconds <= TEST_MINUTES * 60)


CRITERIA = [
    Criterion(
        "first run",
        f"`make demo` builds in at most {BUILD_MINUTES} minutes and runs in at most {RUN_SECONDS} s: class S, on "
        "two cores, packages fetched before; its table has all rows, and it names its report",
        demo,
    ),
    Criterion("tests", f"`make test` after it takes at most {TEST_MINUTES} minutes, on two cores", tests),
]
