# SPDX-License-Identifier: Apache-2.0
"""Writes the report of `terrace lab experiment out-of-core`: the paper's figures, simulated and as stated in its
text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from terrace import _core
from terrace.lab.experiment import (
    out_of_core_beyond,
    out_of_core_knl,
    out_of_core_links,
    out_of_core_unified,
    provenance,
)
from terrace.lab.experiment.gpu_machine import link_bandwidth
from terrace.lab.experiment.out_of_core import FEW_SIZES, LINKS, PROGRAMS, SIZES, Question, Study
from terrace.lab.experiment.out_of_core_figures import questions
from terrace.lab.experiment.page import Report, Section
from terrace.lab.experiment.tables import Table

# Differences from the paper.
_DIFFERENCES = (
    "The bandwidth that loops reach in fast memory is an input. For the KNL the text has 200 GB/s for CloverLeaf "
    "2D and 240 for 3D, and then 4.8 and 4 times the 50 GB/s of DDR4, a fall of 2D to 0.36 at 86 GB/s, and more "
    "complex kernels in 3D: this study uses 240 for 2D and 200 for 3D.",
    "Loops reach the smaller of that and of a memory's STREAM bandwidth; latency is not modelled. The "
    "paper's loops reach 50 and 30 GB/s in DDR4, less than STREAM.",
    "MCDRAM as a cache is direct-mapped, and physical addresses are assumed to be random. Tiles are slices of "
    "the outermost dimension or columns of two, whichever the model has faster, of any size; the paper only "
    "states that sizes were set by the memory's. The paper's four processes exchange halos, with tiles once per "
    "chain: within a chain, the processes' positions are assumed to be random, so that loops that wait for DDR4 "
    "and other loops run concurrently. Without tiles they synchronise at each loop. Halo exchange and redundant "
    "computation are not modelled.",
    "The paper's field summary, every ten steps, is a chain of one loop; here it ends the chain of the previous "
    "step.",
    "CloverLeaf 3D reads a few layers of four datasets of faces from the previous step. This model fetches and "
    "stores these datasets completely; the paper considers whether a dataset is written first.",
    "With unified memory, a batch of faults costs little relative to its copy, by the machine files, so that the "
    "link's bandwidth binds. The paper found the same low throughput over both links, bound by latency.",
)


def open_study(folder: Path, programs: Sequence[str], small: bool) -> Study:
    """Returns the study with all questions of the figures."""
    sizes = list(FEW_SIZES if small else SIZES)
    asked: list[Question] = []
    for program in programs:
        asked += questions(out_of_core_knl.asked(program), sizes)
        for columns in out_of_core_links.asked(program):
            asked += questions(columns, sizes)
        asked += out_of_core_unified.questions(program, sizes)
    asked += out_of_core_beyond.questions(list(programs), sizes)
    return Study(folder, programs, sizes, asked)


def report(study: Study) -> Report:
    """Returns the report of `terrace lab experiment out-of-core`, from all answers."""
    titles = ", ".join(PROGRAMS[program].title for program in study.programs)
    return Report(
        "Stencil programs on more data than the fast memory holds",
        "Average bandwidth of programs by the size of their data, simulated and published.",
        f"{titles}: chains of loops are simulated in virtual time, and no kernel runs. The bandwidth of loops in "
        "fast memory is taken from the paper; its decrease with size is predicted. Bandwidth is the bytes that "
        "loops access over the time: a dataset that is read and written counts twice. It is that of further "
        "steps, the difference between a run with twice as many steps and one with the steps, without one-time "
        "costs. The loss at a size is one minus the ratio to the baseline: on the KNL the smallest "
        "problem, in tiles with MCDRAM as a cache, on the P100 all data in its memory, as in the paper's sections "
        "5.2 and 5.3. SBLI stands for OpenSBLI's Taylor-Green vortex.",
        [
            _published(study),
            *out_of_core_knl.sections(study),
            *out_of_core_links.sections(study),
            *out_of_core_unified.sections(study),
            *out_of_core_beyond.sections(study),
        ],
        provenance.describe(study.folder),
    )


def _published(study: Study) -> Section:
    """Returns the section that compares all figures with the values that the paper's text states."""
    rows = [
        *out_of_core_knl.published(study),
        *out_of_core_links.published(study),
        *out_of_core_unified.published(study),
    ]
    links = " and ".join(link_bandwidth(_core.Machine.read(name)) for name in LINKS.values())
    return Section(
        "Comparison with the published values",
        "All values that the paper's text states; its pictures are not read. Terrace's own stream is listed "
        "with the slots.",
        [*_DIFFERENCES, f"The links have {links}, by the machine files; the paper measured 11 and 30 GB/s."],
        tables=[Table("published", "Figures 3 to 11, by the text", rows)],
    )
