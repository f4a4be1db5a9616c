"""Compares core time's instruction counts with cachegrind's of the same programs without hooks and vectors: an
independent tool on another build. A criterion of acceptance/virtual-time."""

from __future__ import annotations

import re
import shutil
from statistics import geometric_mean

from harness import Criterion, Measured, Unavailable, every_workload, fresh, query, run

from virtual_time_lines.common import simulate, workload

WITHIN = 2.0  # a factor: hooked code keeps pointers and registers that native code does not


def _native(name: str, arguments: list[str]) -> int:
    """Returns the instructions of a native program, counted by cachegrind."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    said = run([*tool, workload(name, False, scalar=True), *arguments]).stderr
    found = re.search(r"I +refs: +([0-9,]+)", said)
    if found is None:
        raise RuntimeError(f"cachegrind does not say how many instructions it saw: {said[-300:]}")
    return int(found[1].replace(",", ""))


def beside_cachegrind() -> Measured:
    """Judges the ratio of the instructions that hooks count to cachegrind's, over all workloads."""
    if shutil.which("valgrind") is None:
        raise Unavailable("valgrind is not installed")
    folder = fresh("instructions")
    ratios, lines = [], []
    for name, arguments in every_workload("coverage").items():
        store = folder / f"{name}.terrace"
        simulate(store, ["--machine", "unimem-lat4"], [workload(name, True), *arguments])
        ((counted,),) = query(store, "SELECT instructions FROM counters")
        native = _native(name, arguments)
        ratios.append(counted / native)
        text = " ".join([name, *arguments])
        lines.append(f"{text}: {counted:,} counted, {native:,} of the native program, {ratios[-1]:.2f}")
    mean = geometric_mean(ratios)
    summary = f"{min(ratios):.2f} to {max(ratios):.2f} times the native program's, geometric mean {mean:.2f}"
    return Measured("\n".join([summary, *lines]), all(1 / WITHIN <= ratio <= WITHIN for ratio in ratios))


CRITERIA = [
    Criterion(
        "instructions",
        f"as cachegrind counts them in native programs without vectors, within a factor of {WITHIN:.0f}",
        beside_cachegrind,
    )
]
