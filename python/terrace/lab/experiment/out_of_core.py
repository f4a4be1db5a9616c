# SPDX-License-Identifier: Apache-2.0
"""Evaluates stencil programs on more data than fast memory holds, for `terrace lab experiment out-of-core` (Reguly
et al., MCHPC 2017).

A question is a program at a size, on a machine, in a mode of `src/stencil/virtual`. Its answer is the output of
`price_stencil` in a separate file, so that an interrupted run can resume. No kernel runs.

The average bandwidth is the bytes that loops access divided by the seconds, of further steps: the difference
between a run with twice as many steps and one with the steps. This excludes one-time costs before and in the first
step, as in the long runs that the paper measured. The loss is one minus the ratio to the baseline's: on the KNL
the smallest problem, in tiles with MCDRAM as a cache (section 5.2); on the P100 all data in the GPU's memory
(section 5.3).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.lab.experiment import provenance
from terrace.lab.experiment.cells import document, read_document, write_whole
from terrace.lab.experiment.runner import do_all
from terrace.lab.workers import workers

KNL = "knl-7210-flat"
LINKS = {"PCIe": "p100-pcie", "NVLink": "p100-nvlink"}
MACHINES = (KNL, *LINKS.values())
SIZES = (6, 12, 16, 24, 36, 48, 96, 160)  # GB; the paper ends at 48
FEW_SIZES = (6, 48)
# MPI processes of the paper's runs on the KNL; with tiles they exchange halos once per chain.
PROCESSES = 4
SMALLEST, LARGEST_IN_MEMORY, PUBLISHED_SIZE = 6, 16, 48
# A slow memory that is too small for the data is enlarged; answers and pages report it.
ENLARGED_BY = 16  # GB
SPARE = 1.02  # relative to the data: halos, and partly used chunks
COUNTS = (
    "seconds",
    "loop_seconds",
    "copy_seconds",
    "hidden_seconds",
    "accesses",
    "hits",
    "bytes_in",
    "bytes_out",
    "tiles",
    "untiled_chains",
    "shortened_chains",
    "chains",
    "loops",
)


@dataclass(frozen=True)
class Program:
    """A program of the paper, or its substitute."""

    name: str  # in price_stencil
    title: str
    datasets: int  # of 8 bytes per point
    dims: int
    halo: int  # points outside of the cells in each direction
    knl: int  # published GB/s of its loops in fast memory: an input
    gpu: int
    steps: int  # per run
    chain: int = 0  # time steps per chain, if selectable

    def rate(self, machine: str) -> int:
        """Returns the bandwidth of its loops in the machine's fast memory, in GB/s."""
        return self.knl if machine == KNL else self.gpu


PROGRAMS = {
    one.name: one
    for one in (
        Program("cloverleaf2d", "CloverLeaf 2D", 25, 2, 5, knl=240, gpu=470, steps=10),
        Program("cloverleaf3d", "CloverLeaf 3D", 30, 3, 6, knl=200, gpu=380, steps=10),
        # OpenSBLI's Taylor-Green vortex. This number of steps is divisible into chains of 1, 2 and 3.
        Program("taylor_green", "SBLI", 29, 3, 3, knl=83, gpu=170, steps=12, chain=3),
    )
}
CHAINED = "taylor_green"


@dataclass(frozen=True)
class Question:
    """A run in virtual time."""

    program: str
    machine: str
    size: int  # GB of datasets
    how: str
    tiled: bool = True
    cyclic: bool = True
    prefetched: bool = True
    chain: int = 0  # time steps per chain; 0: the program's
    runs: int = 1  # factor on the program's steps

    @property
    def name(self) -> str:
        """Returns a unique name that is valid in a path."""
        words = [f"{self.size}GB", self.how]
        words += [f"not-{word}" for word in ("tiled", "cyclic", "prefetched") if not getattr(self, word)]
        words += [f"chain-{self.chain}"] if self.chain else []
        words += [f"runs-{self.runs}"] if self.runs > 1 else []
        return "-".join(words)

    @property
    def about(self) -> Program:
        """Returns the program's figures."""
        return PROGRAMS[self.program]

    @property
    def cells(self) -> int:
        """Returns the cells in each direction: with halos, the datasets have approximately the requested size."""
        points = self.size * 1e9 / 8 / self.about.datasets
        return int(points ** (1 / self.about.dims)) - self.about.halo

    @property
    def steps(self) -> int:
        """Returns the number of steps, a multiple of the chain's."""
        chain = max(self.chain, 1)
        return self.runs * -(-self.about.steps // chain) * chain

    @property
    def slow_memory(self) -> int:
        """Returns the assumed capacity of the slow memory in GB; 0: that of the machine file suffices."""
        needed = SPARE * self.size
        if self.how == "flat-fast" or needed * 1e9 <= slow_capacity(self.machine):
            return 0
        return -int(-needed // ENLARGED_BY) * ENLARGED_BY

    @property
    def arguments(self) -> dict[str, str]:
        """Returns the stencil program's arguments, as price_stencil takes them."""
        if self.program == CHAINED:
            chain = self.chain or self.about.chain
            # Otherwise the program computes a stable time step; no kernel runs, so any is valid.
            return {"cells": str(self.cells), "steps": str(self.steps), "chain": str(chain), "dt": "0.001"}
        cells = "x".join([str(self.cells)] * self.about.dims)
        return {"cells": cells, "problem": "tp2", "steps": str(self.steps)}


@cache
def slow_capacity(machine: str) -> int:
    """Returns the capacity of the slow memory by the machine file, in bytes."""
    read = _core.Machine.read(machine)
    return int(read.capacities[read.fastest_first(0)[1]])


def baseline(program: str, machine: str, chain: int = 0) -> Question:
    """Returns the baseline of the loss."""
    how = "cache" if machine == KNL else "flat-fast"
    return Question(program, machine, SMALLEST, how, chain=chain)


def both_runs(question: Question) -> tuple[Question, Question]:
    """Returns the question with its steps, and with twice as many."""
    return replace(question, runs=1), replace(question, runs=2)


def further_of(once: Mapping[str, Any], twice: Mapping[str, Any]) -> dict[str, float] | None:
    """Returns the difference of the second run to the first; None if no tile fits."""
    if "refused" in once or "refused" in twice:
        return None
    return {name: twice[name] - once[name] for name in COUNTS}


class Study:
    """The answers in a folder."""

    def __init__(
        self, folder: Path, programs: Sequence[str], sizes: Sequence[int], questions: Sequence[Question]
    ) -> None:
        self.folder = folder
        self.programs = list(programs)
        self.sizes = list(sizes)
        self.questions = list(dict.fromkeys(run for one in questions for run in both_runs(one)))

    def path(self, question: Question) -> Path:
        """Returns the path of an answer."""
        return self.folder / "answers" / question.program / question.machine / f"{question.name}.json"

    def get(self, question: Question) -> dict[str, Any]:
        """Returns an answer. Raises TerraceError if it is missing."""
        return read_document(self.path(question))

    def refused(self, question: Question) -> str | None:
        """Returns why the question has no result: no tile fits; else None."""
        said: str | None = self.get(question).get("refused")
        return said

    def further(self, question: Question) -> dict[str, float] | None:
        """Returns the counts of further steps; None if no tile fits."""
        once, twice = both_runs(question)
        return further_of(self.get(once), self.get(twice))

    def rate(self, question: Question) -> float | None:
        """Returns the average bandwidth in GB/s; None if no tile fits."""
        return rate_of(self.further(question))

    def whole_rate(self, question: Question) -> float | None:
        """Returns bytes over seconds of the whole run, including one-time costs."""
        found = self.get(question)
        return None if "refused" in found else rate_of(found)

    def check_provenance(self) -> None:
        """Raises WrongCallError if the folder has answers of another version."""
        provenance.ensure(self.folder, [_core.Machine.read(name) for name in MACHINES])

    def missing(self) -> list[Question]:
        """Returns the unanswered questions."""
        return [question for question in self.questions if not self.path(question).is_file()]

    def count(self) -> int:
        """Returns the number of all questions."""
        return len(self.questions)

    def left(self) -> int:
        """Returns the number of unanswered questions."""
        return len(self.missing())

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers missing questions; returns whether none is left. Starts nothing after `seconds`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        # Largest first, because they take longest.
        missing = sorted(self.missing(), key=lambda question: -question.size * question.runs)
        with workers(jobs) as pool:
            return do_all(pool, "runs", [(answer, (self.path(one), one)) for one in missing], deadline)


def price(question: Question) -> dict[str, Any]:
    """Returns the result of the run with its question: `refused` if no tile fits."""
    machine = _core.Machine.read(question.machine)
    gigabytes = question.about.rate(question.machine)
    kept = {**asdict(question), "arguments": question.arguments, "bandwidth": gigabytes * 1e9}
    try:
        priced = _core.price_stencil(
            question.program,
            question.arguments,
            machine,
            how=question.how,
            slow_memory=int(question.slow_memory * 1e9),
            bandwidth=gigabytes * 1e9,
            tiled=question.tiled,
            cyclic=question.cyclic,
            prefetched=question.prefetched,
            processes=PROCESSES if question.machine == KNL else 1,
        )
    except _core.NoRoomError as error:
        return {**kept, "refused": str(error)}
    return {**kept, **priced}


def rate_of(counts: Mapping[str, Any] | None) -> float | None:
    """Returns the bytes that loops access over the time, in GB/s."""
    return None if counts is None else float(counts["accesses"] / counts["seconds"] / 1e9)


def answer(path: Path, question: Question) -> None:
    """Simulates the run and saves its result."""
    write_whole(path, document(price(question)))
