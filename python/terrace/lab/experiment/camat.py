# SPDX-License-Identifier: Apache-2.0
"""Measures C-AMAT (concurrent average memory access time) of GPU programs for `terrace lab experiment camat`
(Zhang et al., MCHPC'17).

A question is a program on a machine, with all pages in the GPU's own memory, because the study's GPU has no other.
Its answer is a file of integer counters: of every SM and channel, of every kernel, and over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.lab import gpu_camat
from terrace.lab.experiment.cells import document, read_document, write_whole
from terrace.lab.experiment.runner import Work
from terrace.lab.experiment.warp_study import FEW, WarpStudy

MACHINES = ("gtx480-gpgpusim", "gtx480-ddr4")  # the study's machine first
STUDIED = ("btree", "particlefilter")
# The study does not state problem sizes. This program also runs at the size of Rodinia's script.
BY_SCRIPT = "particlefilter@script"
EVERY, EVERY_FEW = 20_000, 500  # cycles of a time interval, normally and at the smallest size
NUM_INTERVALS = 40  # maximum number of intervals after merging


class Study(WarpStudy):
    """The answers in a folder."""

    def __init__(self, folder: Path, programs: Sequence[str], size: str) -> None:
        by_script = [BY_SCRIPT] if size != FEW and "particlefilter" in programs else []
        super().__init__(folder, [*programs, *by_script], size)

    def machines(self) -> list[_core.Machine]:
        """Returns the machines of the study."""
        return [_core.Machine.read(name) for name in MACHINES]

    def path(self, program: str, machine: str) -> Path:
        """Returns the path of an answer."""
        return self.folder / "answers" / machine / f"{program}.json"

    def get(self, program: str, machine: str) -> dict[str, Any]:
        """Returns an answer. Raises TerraceError if it is missing."""
        return read_document(self.path(program, machine))

    def missing(self) -> list[tuple[str, str]]:
        """Returns the unanswered questions, program by program."""
        return [(p, m) for p in self.programs for m in MACHINES if not self.path(p, m).is_file()]

    def count(self) -> int:
        """Returns the number of all questions."""
        return len(self.programs) * len(MACHINES)

    def left(self) -> int:
        """Returns the number of unanswered questions."""
        return len(self.missing())

    def stages(self) -> tuple[list[str], list[tuple[str, list[Work]]]]:
        """Returns a single stage, because questions are independent."""
        missing = self.missing()
        runs: list[Work] = [(answer, (self, *question)) for question in missing]
        return list(dict.fromkeys(program for program, _ in missing)), [("runs", runs)]


def answer(study: Study, program: str, machine: str) -> None:
    """Simulates the program on the machine and saves its counters."""
    gpu = _core.Machine.read(machine)
    every = EVERY_FEW if study.size == FEW else EVERY
    run = _core.simulate_gpu_share(gpu, str(study.trace(program)), 1.0, by_kernel=True, every=every)
    levels = {
        level: {
            **gpu_camat.counters_of(run["camat"][level]),
            "each": [gpu_camat.counters_of(one) for one in run["camat"][level]["each"]],
        }
        for level in gpu_camat.LEVELS
    }
    kept = {
        "program": program,
        "machine": machine,
        "cycles": run["cycles"],
        "instructions": run["instructions"],
        "levels": levels,
        "kernels": [asdict(part) for part in gpu_camat.by_kernel(run["camat_by_kernel"])],
        "stretches": [asdict(part) for part in gpu_camat.over_time(run["camat_over_time"], NUM_INTERVALS)],
    }
    write_whole(study.path(program, machine), document(kept))
