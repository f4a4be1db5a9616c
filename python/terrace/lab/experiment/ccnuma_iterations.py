# SPDX-License-Identifier: Apache-2.0
"""Writes the section of the ccnuma report with more iterations: the study truncates programs, but moves pay off
later.

Run time is modelled as a constant plus a time per iteration, so two lengths of a program determine the time of
each further iteration.
"""

from __future__ import annotations

from terrace import _core
from terrace.lab.experiment.ccnuma import COMBINED, OURS, STATIC, Study
from terrace.lab.experiment.ccnuma_figures import LOCAL, ORACLE, REMOTE, run_time, with_mean
from terrace.lab.experiment.page import Picture, Section
from terrace.lab.experiment.pictures import CYCLE, Series, bars
from terrace.lab.experiment.tables import Row, Table

TIMES = 3  # factor on the study's number of iterations
RULES = {
    "all local": LOCAL,
    "oracle": ORACLE,
    "threshold 1": COMBINED[0],
    "and range 128": COMBINED[1],
    "and balancing": COMBINED[2],
    "even": OURS[0],
    "even-moves": OURS[1],
}


class Iterations(Study):
    """The answers of iterative programs, with TIMES as many iterations."""

    def __init__(self, of: Study) -> None:
        iterate = {name for name, *_, iterates in _core.gpu_programs() if iterates}
        self.plain = [name for name in of.programs if name in iterate]
        longer = [f"{name}@{of.size}@{TIMES}" for name in self.plain]
        super().__init__(of.folder, longer, of.size, False)
        self.rules = list(dict.fromkeys((*STATIC, *RULES.values())))
        self.of = of

    def speed(self, program: str, rule: str) -> tuple[float, float, float]:
        """Returns speedups over the link: at the study's length, at TIMES that, and of each further iteration."""
        longer = self.programs[self.plain.index(program)]
        short, long = (
            [run_time(study, name, one) for one in (REMOTE, RULES[rule])]
            for study, name in ((self.of, program), (self, longer))
        )
        further = (long[0] - short[0]) / (long[1] - short[1])
        return short[0] / short[1], long[0] / long[1], further


def section(longer: Iterations) -> Section:
    """Returns the section on more iterations, from all answers."""
    names = longer.of.programs
    lengths = ("as in the study", f"{TIMES} times as many", "each further one")
    tables = []
    for position, length in enumerate(lengths):
        rows: list[Row] = []
        for name in longer.plain:
            speeds = {rule: longer.speed(name, rule)[position] for rule in RULES}
            rows.append({"program": name, **speeds})
        tables.append(
            Table(f"iterations-{position}", f"Speed, 1 = over the link: iterations {length}", with_mean(rows))
        )
    means = Table(
        "iterations",
        "Geometric means by the number of iterations",
        [{"iterations": length, **_means(table)} for length, table in zip(lengths, tables, strict=True)],
    )
    left = [name for name in names if name not in longer.plain]
    return Section(
        "More iterations",
        f"{', '.join(longer.plain)} are iterative, and the study truncates them. Here they have {TIMES} "
        "times as many iterations. Run time is modelled as a constant plus a time per iteration: "
        "the additional time of the longer run is that of the further iterations. Shootdowns of 100 cycles."
        + (f" {', '.join(left)} are not iterative." if left else ""),
        pictures=[_picture(means)],
        tables=[means, *tables],
    )


def _means(table: Table) -> Row:
    return {column: value for column, value in table.rows[-1].items() if column != "program"}


def _picture(table: Table) -> Picture:
    lengths = [str(row["iterations"]) for row in table.rows]
    series = [
        Series(rule, [float(row[rule] or 0) for row in table.rows], CYCLE[i % len(CYCLE)])
        for i, rule in enumerate(RULES)
    ]
    return Picture(table.name, table.title, bars(lengths, series, "speed, 1 = over the link"))
