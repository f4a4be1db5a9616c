"""Stencil programs on more data than the fast memory holds (Reguly et al., MCHPC 2017): its questions, and how
they are answered.

A question is one program at one size, on one machine, in one mode of `src/stencil/virtual`; its answer is what
`price_stencil` says of it, in a file of its own, so that a run goes on where it stopped. No kernel runs.

The average bandwidth is the bytes that loops access over the seconds, in further steps: what a run of twice as
many steps has more than one of the steps. So what comes once, before the first step and for it, counts for
nothing, as in long runs, which the paper measured. The loss is one minus that over the baseline's: on the KNL the
smallest problem's, in tiles with MCDRAM as a cache (section 5.2), on the P100 that of all data in the GPU's memory
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
from terrace.lab.experiment import made
from terrace.lab.experiment.cells import document, read_document, write_whole
from terrace.lab.experiment.runner import do_all
from terrace.lab.workers import workers

KNL = "knl-7210-flat"
LINKS = {"PCIe": "p100-pcie", "NVLink": "p100-nvlink"}
MACHINES = (KNL, *LINKS.values())
SIZES = (6, 12, 16, 24, 36, 48, 96, 160)  # GB; the paper ends at 48
FEW_SIZES = (6, 48)
# Of MPI, on the KNL, in which the paper ran its programs: with tiles they exchange halos once in a chain.
PROCESSES = 4
SMALLEST, LARGEST_IN_MEMORY, PUBLISHED_SIZE = 6, 16, 48
# A slow memory that has too little for the data is priced as if it had more: answers and pages say so.
ENLARGED_BY = 16  # GB
SPARE = 1.02  # of the data: halos, and chunks of which a part is used
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
    """A program of the paper, or what stands for it."""

    name: str  # of price_stencil
    title: str
    datasets: int  # of 8 bytes a point
    dims: int
    halo: int  # points in each direction that are not cells
    knl: int  # GB/s that its loops reach in the fast memory, as published: an input
    gpu: int
    steps: int  # of a run
    chain: int = 0  # time steps that one chain has, where that can be chosen

    def rate(self, machine: str) -> int:
        """What its loops reach in the machine's fast memory, in GB/s."""
        return self.knl if machine == KNL else self.gpu


PROGRAMS = {
    one.name: one
    for one in (
        Program("cloverleaf2d", "CloverLeaf 2D", 25, 2, 5, knl=240, gpu=470, steps=10),
        Program("cloverleaf3d", "CloverLeaf 3D", 30, 3, 6, knl=200, gpu=380, steps=10),
        # OpenSBLI's Taylor-Green vortex. So many steps make whole chains of 1, 2 and 3.
        Program("taylor_green", "SBLI", 29, 3, 3, knl=83, gpu=170, steps=12, chain=3),
    )
}
CHAINED = "taylor_green"


@dataclass(frozen=True)
class Question:
    """One run in virtual time."""

    program: str
    machine: str
    size: int  # GB of datasets
    how: str
    tiled: bool = True
    cyclic: bool = True
    prefetched: bool = True
    chain: int = 0  # time steps in a chain; 0: the program's
    runs: int = 1  # times the program's steps

    @property
    def name(self) -> str:
        """Unique, and fit for a path."""
        words = [f"{self.size}GB", self.how]
        words += [f"not-{word}" for word in ("tiled", "cyclic", "prefetched") if not getattr(self, word)]
        words += [f"chain-{self.chain}"] if self.chain else []
        words += [f"runs-{self.runs}"] if self.runs > 1 else []
        return "-".join(words)

    @property
    def about(self) -> Program:
        """The program's figures."""
        return PROGRAMS[self.program]

    @property
    def cells(self) -> int:
        """In each direction: with the halos, the datasets have about the wanted size."""
        points = self.size * 1e9 / 8 / self.about.datasets
        return int(points ** (1 / self.about.dims)) - self.about.halo

    @property
    def steps(self) -> int:
        """All of its chains are whole."""
        chain = max(self.chain, 1)
        return self.runs * -(-self.about.steps // chain) * chain

    @property
    def slow_memory(self) -> int:
        """GB that the slow memory is taken to have; 0: what the machine file says is enough."""
        needed = SPARE * self.size
        if self.how == "flat-fast" or needed * 1e9 <= slow_capacity(self.machine):
            return 0
        return -int(-needed // ENLARGED_BY) * ENLARGED_BY

    @property
    def arguments(self) -> dict[str, str]:
        """The program's."""
        if self.program == CHAINED:
            chain = self.chain or self.about.chain
            # A stable step would be computed: any does, no kernel runs.
            return {"cells": str(self.cells), "steps": str(self.steps), "chain": str(chain), "dt": "0.001"}
        cells = "x".join([str(self.cells)] * self.about.dims)
        return {"cells": cells, "problem": "tp2", "steps": str(self.steps)}


@cache
def slow_capacity(machine: str) -> int:
    """Bytes of the memory from which data come, by the machine file."""
    read = _core.Machine.read(machine)
    return int(read.capacities[read.fastest_first(0)[1]])


def baseline(program: str, machine: str, chain: int = 0) -> Question:
    """What the loss is relative to."""
    how = "cache" if machine == KNL else "flat-fast"
    return Question(program, machine, SMALLEST, how, chain=chain)


def both_runs(question: Question) -> tuple[Question, Question]:
    """Of the steps, and of twice as many."""
    return replace(question, runs=1), replace(question, runs=2)


def further_of(once: Mapping[str, Any], twice: Mapping[str, Any]) -> dict[str, float] | None:
    """What the second run has more than the first; None where no tile fits."""
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
        """Of an answer."""
        return self.folder / "answers" / question.program / question.machine / f"{question.name}.json"

    def get(self, question: Question) -> dict[str, Any]:
        """An answer. Raises TerraceError where there is none."""
        return read_document(self.path(question))

    def refused(self, question: Question) -> str | None:
        """Why there is nothing to tell, if so: no tile fits."""
        said: str | None = self.get(question).get("refused")
        return said

    def further(self, question: Question) -> dict[str, float] | None:
        """What further steps take; None where no tile fits."""
        once, twice = both_runs(question)
        return further_of(self.get(once), self.get(twice))

    def rate(self, question: Question) -> float | None:
        """The average bandwidth in GB/s; None where no tile fits."""
        return rate_of(self.further(question))

    def whole_rate(self, question: Question) -> float | None:
        """Bytes over seconds of the run as a whole, with what comes before the first step."""
        found = self.get(question)
        return None if "refused" in found else rate_of(found)

    def settle(self) -> None:
        """Raises WrongCallError where the folder has answers that were made with something else."""
        made.settle(self.folder, [_core.Machine.read(name) for name in MACHINES])

    def missing(self) -> list[Question]:
        """The questions without an answer."""
        return [question for question in self.questions if not self.path(question).is_file()]

    def count(self) -> int:
        """Of all questions."""
        return len(self.questions)

    def left(self) -> int:
        """Of those without an answer."""
        return len(self.missing())

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers what is missing; whether nothing is left. After so many seconds nothing more is begun."""
        deadline = None if seconds is None else time.monotonic() + seconds
        # The largest take longest, and begin first.
        missing = sorted(self.missing(), key=lambda question: -question.size * question.runs)
        with workers(jobs) as pool:
            return do_all(pool, "runs", [(answer, (self.path(one), one)) for one in missing], deadline)


def price(question: Question) -> dict[str, Any]:
    """What comes of the run, beside the question: `refused` where no tile fits."""
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
    """Bytes that the loops access over the time, in GB/s."""
    return None if counts is None else float(counts["accesses"] / counts["seconds"] / 1e9)


def answer(path: Path, question: Question) -> None:
    """Prices the run and keeps what came of it."""
    write_whole(path, document(price(question)))
