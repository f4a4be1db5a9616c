"""Stencil programs on more data than the fast memory holds (Reguly et al., MCHPC 2017): its questions, and how
they are answered.

A question is one program at one size, on one machine, in one mode of `src/stencil/virtual`; its answer is what
`price_stencil` says of it, in a file of its own, so that a run goes on where it stopped. No kernel runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
COUNTS = (
    "seconds",
    "loop_seconds",
    "accesses",
    "bytes_in",
    "bytes_out",
    "tiles",
    "untiled_chains",
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
    def arguments(self) -> dict[str, str]:
        """The program's."""
        if self.program == CHAINED:
            chain = self.chain or self.about.chain
            # A stable step would be computed: any does, no kernel runs.
            return {"cells": str(self.cells), "steps": str(self.steps), "chain": str(chain), "dt": "0.001"}
        cells = "x".join([str(self.cells)] * self.about.dims)
        return {"cells": cells, "problem": "tp2", "steps": str(self.steps)}


class Study:
    """The answers in a folder."""

    def __init__(
        self, folder: Path, programs: Sequence[str], sizes: Sequence[int], questions: Sequence[Question]
    ) -> None:
        self.folder = folder
        self.programs = list(programs)
        self.sizes = list(sizes)
        self.questions = list(dict.fromkeys(questions))

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

    def rate(self, question: Question) -> float | None:
        """Bytes that the loops access over the time, in GB/s; None where no tile fits."""
        return rate_of(self.get(question))

    def further(self, question: Question) -> dict[str, float] | None:
        """What the run takes more with twice as many steps: without what comes before the first."""
        once, twice = self.get(question), self.get(replace(question, runs=2))
        if "refused" in once or "refused" in twice:
            return None
        return {name: twice[name] - once[name] for name in COUNTS}

    def further_rate(self, question: Question) -> float | None:
        """The same in GB/s."""
        more = self.further(question)
        return None if more is None else more["accesses"] / more["seconds"] / 1e9

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
            bandwidth=gigabytes * 1e9,
            tiled=question.tiled,
            cyclic=question.cyclic,
            prefetched=question.prefetched,
            processes=PROCESSES if question.machine == KNL else 1,
        )
    except _core.InvalidError as error:
        if "no room for a tile" not in str(error):
            raise
        return {**kept, "refused": str(error)}
    return {**kept, **priced}


def rate_of(answer: dict[str, Any]) -> float | None:
    """Bytes that the loops access over the time, in GB/s; None where no tile fits."""
    return None if "refused" in answer else answer["accesses"] / answer["seconds"] / 1e9


def answer(path: Path, question: Question) -> None:
    """Prices the run and keeps what came of it."""
    write_whole(path, document(price(question)))
