# SPDX-License-Identifier: Apache-2.0
"""Writes the section of the out-of-core report that goes beyond the paper (Reguly et al., MCHPC 2017): ten times
the fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from terrace.lab.experiment.out_of_core import (
    CHAINED,
    KNL,
    LINKS,
    PROGRAMS,
    Question,
    Study,
    baseline,
    slow_capacity,
)
from terrace.lab.experiment.out_of_core_figures import loss, ratio
from terrace.lab.experiment.out_of_core_knl import TILED, cached
from terrace.lab.experiment.out_of_core_links import CHAINS, MODES
from terrace.lab.experiment.page import Picture, Section
from terrace.lab.experiment.pictures import CYCLE, Series, bars
from terrace.lab.experiment.tables import Row, Table

WHERE = {"KNL": KNL, **LINKS}


@dataclass(frozen=True)
class Case:
    """A program on a machine, with chains of `chain` time steps (0: the program's)."""

    program: str
    where: str
    chain: int = 0

    @property
    def title(self) -> str:
        """Returns the title in tables and pictures."""
        about = PROGRAMS[self.program]
        steps = self.chain or about.chain
        return f"{about.title}, {steps} step{'s' if steps > 1 else ''}" if steps else about.title

    @property
    def modes(self) -> tuple[str, ...]:
        """Returns the modes: the cache only with the program's own chains."""
        return (*MODES, TILED) if self.where == "KNL" and self.chain == 0 else MODES

    def ask(self, how: str, size: int) -> Question:
        """Returns the question of a mode."""
        if how == TILED:
            return cached(self.program)[TILED](size)
        return Question(self.program, WHERE[self.where], size, how, chain=self.chain)

    @property
    def baseline(self) -> Question:
        """Returns the baseline of the loss."""
        return baseline(self.program, WHERE[self.where], self.chain)


def cases(programs: Sequence[str]) -> list[Case]:
    """Returns all cases: each program on each machine, with each length of chains."""
    return [
        Case(program, where, 0 if chain == PROGRAMS[program].chain else chain)
        for program in programs
        for where in WHERE
        for chain in (CHAINS if program == CHAINED else (0,))
    ]


def questions(programs: Sequence[str], sizes: Sequence[int]) -> list[Question]:
    """Returns the questions at the largest size, and their baselines."""
    asked = []
    for case in cases(programs):
        asked.append(case.baseline)
        asked += [case.ask(how, sizes[-1]) for how in case.modes]
    return asked


def sections(study: Study) -> list[Section]:
    """Returns the section on ten times the fast memory."""
    size = study.sizes[-1]
    of_all = [(case, how) for case in cases(study.programs) for how in case.modes]
    table = Table("beyond", f"{size} GB of data", [_row(study, case, how, size) for case, how in of_all])
    notes = [
        f"{case.title}, {case.where}, {how}: {said}."
        for case, how in of_all
        if (said := study.refused(case.ask(how, size))) is not None
    ]
    notes += _enlarged(study, size)
    notes.append(
        "On the KNL, copies in both directions share DDR4's bandwidth, whereas links have separate bandwidths; "
        "four of its 64 cores copy, at the cost of the machine file's first copier, and loops have the other "
        "cores."
    )
    return [
        Section(
            "Beyond the paper: the largest size",
            f"{size} GB of data, {size / 16:.0f} times the fast memory. The loss is that of further steps, "
            "relative to the smallest size: on the KNL in tiles with MCDRAM as a cache, on the P100 in its "
            "memory. Overlap is the share of copying time hidden behind loops; live data are what a "
            "chain needs of the previous chain, relative to all data, by the traffic of the slots.",
            pictures=[_losses(study, table, where) for where in WHERE],
            tables=[table],
            notes=notes,
        )
    ]


def _enlarged(study: Study, size: int) -> list[str]:
    """Returns notes where the slow memory is larger than in the machine file."""
    said = []
    for where, machine in WHERE.items():
        if (taken := Question(study.programs[0], machine, size, "flat-slow").slow_memory) > 0:
            has = slow_capacity(machine) / 1e9
            said.append(
                f"{where}: slow memory enlarged to {taken} GB; the machine file has {has:.0f} GB, too little for "
                "data of this size."
            )
    return said


def _row(study: Study, case: Case, how: str, size: int) -> Row:
    """Returns the speed, the loss and the traffic of a program in one mode and size."""
    question = case.ask(how, size)
    more = study.further(question)
    slots = study.further(case.ask("slots", size))
    row: Row = {
        "program": case.title,
        "machine": case.where,
        "mode": how,
        "GB/s": study.rate(question),
        "loss_share": loss(ratio(study.rate(question), study.rate(case.baseline))),
        "overlap": None,
        "GB in a step": None,
        "GB out a step": None,
        "live data_share": None,
    }
    if more is not None:
        if more["copy_seconds"] > 0:  # caches do not copy
            row["overlap"] = more["hidden_seconds"] / more["copy_seconds"]
        row["GB in a step"] = more["bytes_in"] / question.steps / 1e9
        row["GB out a step"] = more["bytes_out"] / question.steps / 1e9
    if slots is not None and how != TILED:
        row["live data_share"] = slots["bytes_in"] / slots["chains"] / study.get(question)["dataset_bytes"]
    return row


def _losses(study: Study, table: Table, where: str) -> Picture:
    """Draws the losses of all programs on one machine, by mode."""
    programs = [case.title for case in cases(study.programs) if case.where == where]
    modes = list(dict.fromkeys(how for case in cases(study.programs) if case.where == where for how in case.modes))
    series = []
    for number, how in enumerate(modes):
        found = {
            row["program"]: row["loss_share"]
            for row in table.rows
            if (row["machine"], row["mode"]) == (where, how)
        }
        values = [100 * share if isinstance(share := found.get(name), float) else None for name in programs]
        series.append(Series(how, values, CYCLE[number]))
    title = f"Loss against data in the fast memory, {where}"
    return Picture(f"{table.name}-{where.lower()}", title, bars(programs, series, "loss, %"))
