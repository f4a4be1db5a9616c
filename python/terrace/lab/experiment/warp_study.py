"""What studies on GPUs share: each program is run once for its results and its trace, each answer is a file.

The traces and the answers are in one folder, so that a run goes on where it stopped.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from terrace import _core
from terrace.lab.experiment import made
from terrace.lab.experiment.cells import write_whole
from terrace.lab.experiment.questions import chosen
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
    return chosen(only, [name for name, *_ in _core.gpu_programs()])
