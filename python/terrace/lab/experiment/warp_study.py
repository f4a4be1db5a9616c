# SPDX-License-Identifier: Apache-2.0
"""Runs GPU studies (camat, ccnuma): each program runs once for its results and its trace, each answer is a file.

Traces and answers are in one folder, so that an interrupted run can resume.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from terrace import _core
from terrace.lab.experiment import provenance
from terrace.lab.experiment.cells import write_whole
from terrace.lab.experiment.questions import chosen
from terrace.lab.experiment.runner import Work, do_all
from terrace.lab.workers import workers

FEW = "test"  # problem size of --small


class WarpStudy(ABC):
    """The answers in a folder.

    A program's name may have a size and a factor on its iterations: "particlefilter@script", "hotspot@paper@3".
    """

    def __init__(self, folder: Path, programs: Sequence[str], size: str) -> None:
        self.folder = folder
        self.programs = list(programs)
        self.size = size

    def trace(self, program: str) -> Path:
        """Returns the path of the trace of the program's warps."""
        return self.folder / "traces" / f"{program}.warps"

    def verdict(self, program: str) -> Path:
        """Returns the path of the verification of its results."""
        return self.folder / "traces" / f"{program}.txt"

    @abstractmethod
    def machines(self) -> list[_core.Machine]:
        """Returns the machines of the study."""

    def check_provenance(self) -> None:
        """Raises WrongCallError if the folder has answers of another version."""
        provenance.ensure(self.folder, self.machines())

    @abstractmethod
    def count(self) -> int:
        """Returns the number of all questions."""

    @abstractmethod
    def left(self) -> int:
        """Returns the number of unanswered questions."""

    @abstractmethod
    def stages(self) -> tuple[list[str], list[tuple[str, list[Work]]]]:
        """Returns the programs of unanswered questions, and the stages of work that require their traces."""

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers missing questions; returns whether none is left. Starts nothing after `seconds`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        programs, stages = self.stages()
        traces = [(make_trace, (self, name)) for name in programs if not self.verdict(name).is_file()]
        with workers(jobs) as pool:
            return all(do_all(pool, what, work, deadline) for what, work in [("traces", traces), *stages])


def make_trace(study: WarpStudy, name: str) -> None:
    """Runs the program and verifies its results. Raises TerraceError if they are wrong."""
    path = study.trace(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    program, *own = name.split("@")
    size, times = [*own, *(study.size, "1")[len(own) :]]
    verdict = _core.write_warps(program, size, str(temporary), int(times))
    temporary.rename(path)
    write_whole(study.verdict(name), verdict + "\n")


def chosen_programs(only: str | None) -> list[str]:
    """Returns the programs of --only without duplicates, or all. Raises WrongCallError for an unknown name."""
    return chosen(only, [name for name, *_ in _core.gpu_programs()])
