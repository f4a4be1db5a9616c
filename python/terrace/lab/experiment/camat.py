"""C-AMAT of GPU programs (Zhang et al., MCHPC'17): its questions, and how they are answered.

A question is one program on one machine, with all its pages in the GPU's own memory: the study's GPU has no other.
Its answer is a file with the integer counters of every SM and channel, of every kernel, and over time.
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

MACHINES = ("gtx480-gpgpusim", "gtx480-ddr4")  # the study's first
STUDIED = ("btree", "particlefilter")
# The study says which programs it ran and not at what size: this one also as Rodinia's script runs it.
BY_SCRIPT = "particlefilter@script"
EVERY, EVERY_FEW = 20_000, 500  # cycles of the stretches of time, at the smallest size, too; they are added up to
STRETCHES = 40  # at most


class Study(WarpStudy):
    """The answers in a folder."""

    def __init__(self, folder: Path, programs: Sequence[str], size: str) -> None:
        by_script = [BY_SCRIPT] if size != FEW and "particlefilter" in programs else []
        super().__init__(folder, [*programs, *by_script], size)

    def machines(self) -> list[_core.Machine]:
        """On which the programs run."""
        return [_core.Machine.read(name) for name in MACHINES]

    def path(self, program: str, machine: str) -> Path:
        """Of an answer."""
        return self.folder / "answers" / machine / f"{program}.json"

    def get(self, program: str, machine: str) -> dict[str, Any]:
        """An answer. Raises TerraceError where there is none."""
        return read_document(self.path(program, machine))

    def missing(self) -> list[tuple[str, str]]:
        """The questions without an answer, program by program."""
        return [(p, m) for p in self.programs for m in MACHINES if not self.path(p, m).is_file()]

    def count(self) -> int:
        """Of all questions."""
        return len(self.programs) * len(MACHINES)

    def left(self) -> int:
        """Of those without an answer."""
        return len(self.missing())

    def stages(self) -> tuple[list[str], list[tuple[str, list[Work]]]]:
        """One: no question waits for another."""
        missing = self.missing()
        runs: list[Work] = [(answer, (self, *question)) for question in missing]
        return list(dict.fromkeys(program for program, _ in missing)), [("runs", runs)]


def answer(study: Study, program: str, machine: str) -> None:
    """Simulates the program on the machine and keeps what was counted."""
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
        "stretches": [asdict(part) for part in gpu_camat.over_time(run["camat_over_time"], STRETCHES)],
    }
    write_whole(study.path(program, machine), document(kept))
