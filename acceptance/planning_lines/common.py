"""Runs experiments and records workloads, once, for the criteria of acceptance/planning, moves and
gpu-placement."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from harness import TERRACE, Unfinished, fresh, run, seconds_left, work, workload, workloads
from terrace.lab import study
from terrace.lab.experiment.command import UNFINISHED

Dump = dict[str, Any]


MACHINES = ("unimem-bw2", "unimem-lat4")
CACHE = ["--cache", "l3=64KiB"]
_HOURS = 24


def experiment(name: str, problem_class: str) -> Path:
    """Returns the folder of `terrace lab experiment NAME` in a class, shared by all criteria and the result
    pages."""
    return work("experiments") / f"{name}-{problem_class}"


def experimented(name: str, problem_class: str, *options: str, folder: str = "") -> Path:
    """Runs the experiment, or resumes it; returns the folder of its complete tables."""
    where = experiment(folder or name, problem_class)
    command: list[str | Path] = [TERRACE, "lab", "experiment", name, *options, "--output", where]
    left = seconds_left()
    if left is not None:
        command += ["--stop-after", str(left / 60)]
    done = run(command, check=False, timeout=_HOURS * 3600)
    if done.returncode == UNFINISHED:
        raise Unfinished
    if done.returncode != 0:
        raise RuntimeError(f"the experiment ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return where


@functools.cache
def recorded(name: str) -> dict[str, Path]:
    """Returns a workload's profile on each machine, from samples and exact."""
    folder = fresh(f"recorded-{name}")
    study.record([str(workload(name)), *workloads()[name].words("small")], MACHINES, folder, name, CACHE)
    return {machine: folder / f"{name}.{machine}.terrace" for machine in MACHINES}
