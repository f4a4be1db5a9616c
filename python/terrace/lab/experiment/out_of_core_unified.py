# SPDX-License-Identifier: Apache-2.0
"""Writes the section of the out-of-core report that repeats figure 11 of the paper (Reguly et al., MCHPC 2017):
unified memory."""

from __future__ import annotations

from collections.abc import Callable

from terrace.lab.experiment.out_of_core import (
    CHAINED,
    LARGEST_IN_MEMORY,
    LINKS,
    PROGRAMS,
    PUBLISHED_SIZE,
    Question,
    Study,
)
from terrace.lab.experiment.out_of_core_figures import RATE, Asked, by_size, comparison_row, drawn, ratio
from terrace.lab.experiment.out_of_core_links import mode
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.published import UNIFIED_GAIN
from terrace.lab.experiment.tables import Row, Table

VARIANTS = {"untiled": (False, False), "tiled": (True, False), "tiled, prefetched": (True, True)}
LONG_CHAIN = 5  # time steps, as in the paper's figure


def variant(program: str, link: str, name: str, chain: int = 0) -> Callable[[int], Question]:
    """Returns a question by size for a program with unified memory, in chains of `chain` steps (0: the
    program's).
    """
    tiled, prefetched = VARIANTS[name]

    def ask(size: int) -> Question:
        return Question(program, LINKS[link], size, "unified", tiled, prefetched=prefetched, chain=chain)

    return ask


def asked(program: str, chain: int = 0) -> Asked:
    """Returns the three variants over both links."""
    return {f"{link}, {name}": variant(program, link, name, chain) for link in LINKS for name in VARIANTS}


def chains(program: str) -> tuple[int, ...]:
    """Returns the time steps per chain for which a program has figures."""
    return (LONG_CHAIN, 0) if program == CHAINED else (0,)


def sections(study: Study) -> list[Section]:
    """Returns a figure for each program."""
    return [_figure(study, program) for program in study.programs]


def _figure(study: Study, program: str) -> Section:
    """Returns the section of figure 11 for a program: bandwidth by problem size under unified memory."""
    title = f"Figure 11: unified memory, {PROGRAMS[program].title}"
    further, whole = [], []
    for chain in chains(program):
        steps = chain or PROGRAMS[program].chain
        of, at = (f", chains of {steps} steps", f"-chain-{steps}") if steps else ("", "")
        name = f"figure-11-{program}{at}"
        columns = asked(program, chain)
        rows = by_size(study, columns, study.rate)
        further.append(Table(name, f"{title}{of}, further steps, {RATE}", rows))
        rows = by_size(study, columns, study.whole_rate)
        whole.append(Table(f"{name}-whole", f"{title}{of}, including one-time costs, {RATE}", rows))
    longer = ", in chains of five time steps as in the paper, and of three" if program == CHAINED else ""
    return Section(
        title,
        f"Pages migrate to the GPU's memory when a loop accesses them{longer}. Prefetched: a tile's pages are "
        "requested while the previous tile runs. Pictures show further steps: data that fit are already present.",
        pictures=[drawn(table, RATE) for table in further],
        tables=[*further, *whole],
        notes=_without_room(study, program),
    )


def _without_room(study: Study, program: str) -> list[str]:
    """Returns where chains run without tiles, because none fits, and for how many."""
    said = []
    for chain in chains(program):
        ask = variant(program, next(iter(LINKS)), "tiled", chain)
        answers = {size: study.get(ask(size)) for size in study.sizes}
        found = ", ".join(
            f"{answer['untiled_chains']:.0f} of {answer['chains']} at {size} GB"
            for size, answer in answers.items()
            if answer["untiled_chains"] > 0
        )
        if found:
            steps = chain or PROGRAMS[program].chain
            of = f"Of chains of {steps} steps" if steps else "Of the chains"
            said.append(f"{of} these do not fit even in tiles, and run without: {found}.")
    return said


def questions(program: str, sizes: list[int]) -> list[Question]:
    """Returns the questions of figure 11: all variants of unified memory over both links."""
    return [
        ask(size)
        for chain in chains(program)
        for link in LINKS
        for name in VARIANTS
        for ask in (variant(program, link, name, chain),)
        for size in sizes
    ]


def published(study: Study) -> list[Row]:
    """Returns the values in the paper's text with the simulated ones."""
    rows: list[Row] = []
    for program in study.programs:
        title = PROGRAMS[program].title
        largest = max(size for size in study.sizes if size <= LARGEST_IN_MEMORY)
        for link in LINKS:
            untiled, tiled = (variant(program, link, name) for name in ("untiled", "tiled"))
            base = study.rate(mode(program, link, "flat-fast")(largest))
            share = ratio(study.rate(untiled(largest)), base)
            rows.append(
                comparison_row("11", title, f"untiled, {link}, {largest} GB, of the baseline", share, 1, "share")
            )
            # The text says "up to", over the sizes in the figure.
            gains = {size: ratio(study.rate(tiled(size)), study.rate(untiled(size))) for size in study.sizes}
            for size in (size for size in study.sizes if size > LARGEST_IN_MEMORY):
                what = f"tiled over untiled, {link}, {size} GB"
                rows.append(comparison_row("11", title, what, gains[size], None, "times"))
            shown = [gain for size, gain in gains.items() if gain is not None and size <= PUBLISHED_SIZE]
            what = f"tiled over untiled, {link}, at most, up to {PUBLISHED_SIZE} GB"
            rows.append(comparison_row("11", title, what, max(shown, default=None), UNIFIED_GAIN, "times"))
    return rows
