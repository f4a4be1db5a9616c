"""What studies on GPUs share: each program is run once for its results and its trace, each answer is a file.

The traces and the answers are in one folder, so that a run goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import typer

from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.lab.experiment import made
from terrace.lab.experiment.cells import SCHEMA, write_whole
from terrace.lab.experiment.command import UNFINISHED
from terrace.lab.experiment.page import Report
from terrace.lab.experiment.runner import Work, do_all
from terrace.lab.workers import workers

FEW = "test"  # the size of --small


class WarpStudy(ABC):
    """The answers in a folder. A program's name may have a size of its own, and how many times as many iterations
    as that has: "particlefilter@script", "hotspot@paper@3"."""

    def __init__(self, folder: Path, programs: Sequence[str], size: str) -> None:
        self.folder = folder
        self.programs = list(programs)
        self.size = size

    def trace(self, program: str) -> Path:
        """Of the program's warps."""
        return self.folder / "traces" / f"{program}.warps"

    def verdict(self, program: str) -> Path:
        """Of what its results were checked against."""
        return self.folder / "traces" / f"{program}.txt"

    def read(self, path: Path) -> dict[str, Any]:
        """An answer. Raises TerraceError where there is none."""
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TerraceError(f"{path} cannot be read ({error}): remove it and run again") from error
        if content.get("schema") != SCHEMA:
            raise TerraceError(f"{path} is of another version: name another folder with --output")
        return content

    @abstractmethod
    def machines(self) -> list[_core.Machine]:
        """On which the programs run."""

    def settle(self) -> None:
        """Raises WrongCallError where the folder has answers that were made with something else."""
        made.settle(self.folder, self.machines())

    @abstractmethod
    def count(self) -> int:
        """Of all questions."""

    @abstractmethod
    def left(self) -> int:
        """Of those without an answer."""

    @abstractmethod
    def stages(self) -> tuple[list[str], list[tuple[str, list[Work]]]]:
        """The programs that questions without an answer are of, and what has to be done once their traces are
        there, one stage after the other."""

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers what is missing; whether nothing is left. After so many seconds nothing more is begun."""
        deadline = None if seconds is None else time.monotonic() + seconds
        programs, stages = self.stages()
        traces = [(make_trace, (self, name)) for name in programs if not self.verdict(name).is_file()]
        with workers(jobs) as pool:
            return all(do_all(pool, what, work, deadline) for what, work in [("traces", traces), *stages])


def make_trace(study: WarpStudy, name: str) -> None:
    """Runs the program and checks its results. Raises TerraceError where they are wrong."""
    path = study.trace(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    program, *own = name.split("@")
    size, times = [*own, *(study.size, "1")[len(own) :]]
    verdict = _core.write_warps(program, size, str(beside), int(times))
    beside.rename(path)
    write_whole(study.verdict(name), verdict + "\n")


def chosen_programs(only: str | None) -> list[str]:
    """Those of --only, each once, or all. Raises WrongCallError for a name that there is not."""
    known = [name for name, *_ in _core.gpu_programs()]
    programs = known if only is None else list(dict.fromkeys(only.split(",")))
    for name in programs:
        if not name:
            raise WrongCallError(f"--only {only}: --only has an empty name; there are {', '.join(known)}")
        if name not in known:
            raise WrongCallError(f"--only {name}: there are {', '.join(known)}")
    return programs


class Questions(Protocol):
    """What has answers in a folder."""

    def settle(self) -> None:
        """Raises WrongCallError where the folder has answers that were made with something else."""

    def count(self) -> int:
        """Of all questions."""

    def left(self) -> int:
        """Of those without an answer."""

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers what is missing; whether nothing is left."""


def answer_and_report(
    parts: Sequence[Questions], folder: Path, jobs: int, stop_after: float | None, report: Callable[[], Report]
) -> None:
    """Answers what is missing, part by part; writes the report where all is answered, else exits by UNFINISHED."""
    end = None if stop_after is None else time.monotonic() + 60 * stop_after
    for part in parts:
        part.settle()
    before = sum(part.left() for part in parts)
    is_done = all(part.run(jobs, None if end is None else max(end - time.monotonic(), 0)) for part in parts)
    left = sum(part.left() for part in parts)
    count = sum(part.count() for part in parts)
    print(f"{before - left} runs answered, {count - before} had been; {folder}")
    if not is_done:
        print(f"the time is up: {left} are left; the same command goes on")
        raise typer.Exit(UNFINISHED)
    report().write(folder)
    print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")
