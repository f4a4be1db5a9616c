# SPDX-License-Identifier: Apache-2.0
"""Writes the sections of the out-of-core report that repeat figures 3 to 6 of the paper (Reguly et al., MCHPC
2017): MCDRAM as flat memory and as a cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from terrace.lab.experiment.out_of_core import (
    KNL,
    LARGEST_IN_MEMORY,
    PROGRAMS,
    PUBLISHED_SIZE,
    SMALLEST,
    Question,
    Study,
    baseline,
)
from terrace.lab.experiment.out_of_core_figures import RATE, Asked, by_size, comparison_row, drawn, loss, ratio
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.published import OUT_OF_CORE
from terrace.lab.experiment.tables import Row, Table

FIGURES = {"cloverleaf2d": "3", "cloverleaf3d": "5", "taylor_green": "6"}
HIT_RATES_OF = "cloverleaf2d"  # figure 4
UNTILED, TILED, DDR4, MCDRAM = "cache, untiled", "cache, tiled", "flat DDR4", "flat MCDRAM"


def ask(program: str, how: str, tiled: bool, size: int) -> Question:
    """Returns a question about a program on the KNL."""
    return Question(program, KNL, size, how, tiled=tiled)


def asked(program: str) -> Asked:
    """Returns the four configurations, by column."""

    def in_memory(size: int) -> Question | None:
        return ask(program, "flat-fast", False, size) if size <= LARGEST_IN_MEMORY else None

    return {MCDRAM: in_memory, DDR4: _mode(program, "flat-slow"), **cached(program)}


def cached(program: str) -> dict[str, Callable[[int], Question]]:
    """Returns the configurations with MCDRAM as a cache."""
    return {UNTILED: _mode(program, "cache"), TILED: _mode(program, "cache", True)}


def _mode(program: str, how: str, tiled: bool = False) -> Callable[[int], Question]:
    return partial(ask, program, how, tiled)


def sections(study: Study) -> list[Section]:
    """Returns a figure for each program, and the hit rates."""
    shown = [_bandwidths(study, program) for program in study.programs]
    return [*shown[:1], *([_hit_rates(study)] if HIT_RATES_OF in study.programs else []), *shown[1:]]


def _bandwidths(study: Study, program: str) -> Section:
    """Returns a program's section: its bandwidth by problem size, next to the published one."""
    about, said = PROGRAMS[program], OUT_OF_CORE[program]
    figure = FIGURES[program]
    published = {
        f"published {DDR4}": said.ddr4,
        f"published {UNTILED}": said.untiled,
        f"published {TILED}": said.tiled_gain * said.untiled,
    }
    rows = by_size(study, asked(program), study.rate, published)
    table = Table(f"figure-{figure}", f"{about.title} on the KNL, {RATE}", rows)
    return Section(
        f"Figure {figure}: {about.title} on the KNL",
        "All data in MCDRAM while they fit, all in DDR4, and MCDRAM as a cache of DDR4, without and with tiles. "
        f"In MCDRAM the program's loops reach {about.knl} GB/s: published, an input. Diamonds are published "
        "values: DDR4, the cache without tiles, and that times the gain of tiles.",
        pictures=[drawn(table, RATE)],
        tables=[table],
    )


def _hit_rates(study: Study) -> Section:
    """Returns the section on hit rates of MCDRAM as a cache."""

    def rate(question: Question) -> float | None:
        found = study.further(question)
        return None if found is None else found["hits"] / found["accesses"]

    rows = by_size(study, cached(HIT_RATES_OF), rate)
    table = Table("figure-4", f"{PROGRAMS[HIT_RATES_OF].title} on the KNL, hit rate of MCDRAM", rows)
    return Section(
        f"Figure 4: hit rates of MCDRAM, {PROGRAMS[HIT_RATES_OF].title}",
        "Share of the bytes accessed by loops that are in MCDRAM at that time. The paper's text has no "
        "numbers for this figure.",
        pictures=[drawn(table, "hit rate, %", factor=100, first=2)],
        tables=[table],
    )


def published(study: Study) -> list[Row]:
    """Returns the values in the paper's text with the simulated ones."""
    rows: list[Row] = []
    for program in study.programs:
        said, about = OUT_OF_CORE[program], PROGRAMS[program]
        ways = cached(program)
        untiled, tiled = (study.rate(ways[way](PUBLISHED_SIZE)) for way in (UNTILED, TILED))
        small_untiled = study.rate(ways[UNTILED](SMALLEST))
        small_tiled = study.rate(baseline(program, KNL))
        slow = study.rate(ask(program, "flat-slow", False, PUBLISHED_SIZE))
        in_memory = study.rate(ask(program, "flat-fast", False, SMALLEST))
        for what, unit, ours, theirs in (
            ("flat MCDRAM (an input)", "GB/s", in_memory, about.knl),
            ("flat DDR4", "GB/s", slow, said.ddr4),
            ("cache, untiled, 48 GB", "GB/s", untiled, said.untiled),
            ("cache, untiled, 48 GB over 6 GB", "share", ratio(untiled, small_untiled), said.slowdown),
            ("cache, tiled, loss of 48 GB over 6 GB", "share", loss(ratio(tiled, small_tiled)), said.tiled_loss),
            ("cache, 48 GB, tiled over untiled", "times", ratio(tiled, untiled), said.tiled_gain),
        ):
            rows.append(comparison_row(FIGURES[program], about.title, what, ours, theirs, unit))
    return rows
