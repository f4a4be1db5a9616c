# SPDX-License-Identifier: Apache-2.0
"""Writes the sections of the out-of-core report that repeat figures 7 to 10 of the paper (Reguly et al., MCHPC
2017): data moved in tiles over a GPU's link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from terrace.lab.experiment.out_of_core import (
    CHAINED,
    LARGEST_IN_MEMORY,
    LINKS,
    PROGRAMS,
    PUBLISHED_SIZE,
    Question,
    Study,
    baseline,
)
from terrace.lab.experiment.out_of_core_figures import RATE, by_size, comparison_row, drawn, ratio
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.pictures import Level
from terrace.lab.experiment.published import OUT_OF_CORE
from terrace.lab.experiment.tables import Row, Table

BASELINE = "in memory"
MODES = ("slots", "streamed")  # slots: the paper's, with tiles in three slots of GPU memory; streamed: Terrace's
FIGURES = {"cloverleaf2d": "8", "cloverleaf3d": "9"}  # optimisations on and off
CHAINS = (1, 2, 3)  # time steps
Column = Callable[[int], Question | None]


def ask(program: str, link: str, how: str, size: int) -> Question:
    """Returns a question about a program on the GPU with that link, with all optimisations."""
    return Question(program, LINKS[link], size, how)


def mode(program: str, link: str, how: str) -> Callable[[int], Question]:
    """Returns the question by size."""
    return partial(ask, program, link, how)


def fitting(program: str, link: str, size: int) -> Question | None:
    """Returns the question with all data in the GPU's memory, if they fit."""
    return ask(program, link, "flat-fast", size) if size <= LARGEST_IN_MEMORY else None


def scaling(program: str) -> dict[str, Column]:
    """Returns the columns of figure 7."""
    columns: dict[str, Column] = {f"{BASELINE}, {link}": partial(fitting, program, link) for link in LINKS}
    for how in MODES:
        columns.update({f"{how}, {link}": mode(program, link, how) for link in LINKS})
    return columns


def _changed(question: Callable[[int], Question], cyclic: bool, prefetched: bool) -> Column:
    """Returns a question with optimisations on or off. Cyclic: data written before they are read are not
    stored."""
    return lambda size: replace(question(size), cyclic=cyclic, prefetched=prefetched)


def optimisations(program: str) -> dict[str, Column]:
    """Returns the columns of figures 8 and 9."""
    columns: dict[str, Column] = {}
    for link in LINKS:
        slots = mode(program, link, "slots")
        columns[f"{link}, prefetch, cyclic"] = slots
        columns[f"{link}, no prefetch, cyclic"] = _changed(slots, True, False)
        columns[f"{link}, no prefetch, not cyclic"] = _changed(slots, False, False)
    columns.update({f"{link}, streamed": mode(program, link, "streamed") for link in LINKS})
    return columns


def _of_chain(question: Callable[[int], Question], chain: int) -> Column:
    return lambda size: replace(question(size), chain=0 if chain == PROGRAMS[CHAINED].chain else chain)


def chains(how: str) -> dict[str, Column]:
    """Returns the columns of figure 10."""
    return {
        f"{link}, {chain} step{'s' if chain > 1 else ''}": _of_chain(mode(CHAINED, link, how), chain)
        for link in LINKS
        for chain in CHAINS
    }


def asked(program: str) -> Sequence[dict[str, Column]]:
    """Returns all columns of a program's figures; the study answers their questions."""
    columns = [scaling(program)]
    if program in FIGURES:
        columns.append(optimisations(program))
    if program == CHAINED:
        columns += [chains(how) for how in MODES]
    return columns


def sections(study: Study) -> list[Section]:
    """Returns figure 7 for each program, then the effect of optimisations, then chains."""
    shown = [_scaling(study, program) for program in study.programs]
    shown += [_optimisations(study, program) for program in study.programs if program in FIGURES]
    return shown + ([_chains(study)] if CHAINED in study.programs else [])


def _scaling(study: Study, program: str) -> Section:
    """Returns the section of figure 7 for a program: bandwidth by problem size."""
    about, said = PROGRAMS[program], OUT_OF_CORE[program]
    title = f"Figure 7: {about.title} on the P100"
    table = Table(f"figure-7-{program}", f"{title}, {RATE}", by_size(study, scaling(program), study.rate))
    is_level = said.nvlink == said.pcie
    levels = [Level(about.gpu * said.nvlink, "published" if is_level else "published, NVLink")]
    levels += [] if is_level else [Level(about.gpu * said.pcie, "published, PCIe")]
    of = f", in chains of {about.chain} time steps" if about.chain else ""
    return Section(
        title,
        "All data in the GPU's memory while they fit; three slots, as published; and Terrace's own stream of "
        f"chunks{of}. In the GPU's memory the program's loops reach {about.gpu} GB/s: published, an input. "
        f"Dashed: the published share of that: {said.nvlink:.0%} over NVLink, {said.pcie:.0%} over PCIe; the text "
        "does not state the size.",
        pictures=[drawn(table, RATE, levels)],
        tables=[table],
    )


def _optimisations(study: Study, program: str) -> Section:
    """Returns the section of figure 8 or 9: bandwidth with optimisations on and off."""
    figure, title = FIGURES[program], PROGRAMS[program].title
    rows = by_size(study, optimisations(program), study.rate)
    table = Table(f"figure-{figure}", f"What prefetching and cyclic chains bring, {title}, {RATE}", rows)
    return Section(
        f"Figure {figure}: optimisations, {title}",
        "Three slots. Prefetch: the next chain's first tile is fetched while this chain's last one runs. Cyclic: "
        "data that a chain writes before reading are not stored. Streamed: with both optimisations.",
        pictures=[drawn(table, RATE)],
        tables=[table],
    )


def _chains(study: Study) -> Section:
    """Returns the section of figure 10: bandwidth by the number of time steps in a chain."""
    tables = [
        Table(
            f"figure-10-{how}",
            f"Time steps in a chain, {PROGRAMS[CHAINED].title}, {how}, {RATE}",
            by_size(study, chains(how), study.rate),
        )
        for how in MODES
    ]
    refused = dict.fromkeys(
        f"{one.size} GB, {one.chain or one.about.chain} steps: {said}."
        for how in MODES
        for ask_at in chains(how).values()
        for size in study.sizes
        if (one := ask_at(size)) is not None and (said := study.refused(one)) is not None
    )
    return Section(
        f"Figure 10: time steps in a chain, {PROGRAMS[CHAINED].title}",
        "No step waits for a reduction, so a chain may contain any number of time steps. Longer chains reuse data "
        "more often while they are in memory, and their tiles overlap more.",
        pictures=[drawn(table, RATE) for table in tables],
        tables=tables,
        notes=list(refused),
    )


def published(study: Study) -> list[Row]:
    """Returns the values in the paper's text with the simulated ones."""
    rows: list[Row] = []
    for program in study.programs:
        said, about = OUT_OF_CORE[program], PROGRAMS[program]
        for link, share in (("NVLink", said.nvlink), ("PCIe", said.pcie)):
            base = study.rate(baseline(program, LINKS[link])) or 0.0
            rows.append(comparison_row("7", about.title, f"baseline, {link} (an input)", base, about.gpu, "GB/s"))
            for how in MODES:
                ours = ratio(study.rate(ask(program, link, how, PUBLISHED_SIZE)), base)
                theirs = share if how == "slots" else None
                rows.append(
                    comparison_row(
                        "7", about.title, f"{how}, {link}, 48 GB, of the baseline", ours, theirs, "share"
                    )
                )
    return rows
