# SPDX-License-Identifier: Apache-2.0
"""Answers and writes the section of the ccnuma report on other links: some programs and rules with other remote
bandwidths, and on the shipped machines with a GPU.

Each machine is a separate study (`ccnuma.Study`) that uses the traces of its parent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.lab.experiment.ccnuma import FIRST, MACHINE, Rule, Study, answer, touch
from terrace.lab.experiment.ccnuma_figures import BY_BANDWIDTH
from terrace.lab.experiment.gpu_machine import beyond_bandwidth
from terrace.lab.experiment.page import Picture, Section
from terrace.lab.experiment.pictures import CYCLE, Series, bars, lines
from terrace.lab.experiment.runner import Work, do_all
from terrace.lab.experiment.tables import Row, Table, geometric_mean
from terrace.lab.workers import workers

# Remote bandwidths in GB/s, in addition to the study's.
BANDWIDTHS = (10, 20, 40, 160, 200)
FEW_BANDWIDTHS = (20, 200)
MACHINES = ("p100-pcie", "p100-nvlink", "gh200-gpu", "h200-pcie5", "mi300a")
# Programs of the study: a stencil, a wavefront, a graph and random look-ups.
PROGRAMS = ("pathfinder", "needle", "bfs", "xsbench")
FEW_PROGRAMS = ("pathfinder", "needle")
RULES = {
    "over the link": Rule(FIRST),
    "all local": Rule("local"),
    BY_BANDWIDTH: Rule("interleave"),
    "threshold 1": touch(1),
    "range 128, balanced": touch(1, 128, True),
    "oracle": Rule("oracle"),
}
LOCAL = RULES["all local"]


@dataclass(frozen=True)
class Variant:
    """A shipped machine, or the study's with another remote bandwidth."""

    machine: str
    gigabytes: int | None = None  # per second

    @property
    def name(self) -> str:
        """Returns a unique name that is valid in a path."""
        return self.machine if self.gigabytes is None else f"{self.machine}-{self.gigabytes}"


BASE = Variant(MACHINE)


class VariantStudy(Study):
    """The answers on one machine."""

    def __init__(self, of: Study, programs: list[str], variant: Variant) -> None:
        folder = of.folder if variant == BASE else of.folder / "links" / variant.name
        super().__init__(folder, programs, of.size, False)
        self.rules = list(RULES.values())
        self.variant = variant
        self.of = of

    def machine(self) -> _core.Machine:
        """Returns the machine of the study."""
        machine = _core.Machine.read(self.variant.machine)
        gigabytes = self.variant.gigabytes
        return machine if gigabytes is None else _core.gpu_with_remote_bandwidth(machine, gigabytes * 1e9)

    def trace(self, program: str) -> Path:
        """Returns the trace of the program's warps, from the parent study."""
        return self.of.trace(program)

    def speed(self, program: str, rule: Rule) -> float:
        """Returns the speed relative to a run with all pages in the GPU's own memory."""
        return float(self.get(program, LOCAL)["seconds"]) / float(self.get(program, rule)["seconds"])

    def mean_speed(self, rule: Rule) -> float:
        """Returns the geometric mean over all programs."""
        return geometric_mean([self.speed(program, rule) for program in self.programs]) or 0.0


class Links:
    """The studies of all variants of a study's machine."""

    def __init__(self, of: Study, small: bool) -> None:
        wanted = FEW_PROGRAMS if small else PROGRAMS
        programs = [name for name in of.programs if name in wanted] or of.programs[:1]
        base = VariantStudy(of, programs, BASE)
        its_own = round(beyond_bandwidth(base.machine()) / 1e9)
        bandwidths = sorted({its_own, *(FEW_BANDWIDTHS if small else BANDWIDTHS)})
        self.swept = {
            gigabytes: base if gigabytes == its_own else VariantStudy(of, programs, Variant(MACHINE, gigabytes))
            for gigabytes in bandwidths
        }
        self.shipped = [base, *(VariantStudy(of, programs, Variant(name)) for name in MACHINES)]
        # Variants that the study does not answer itself.
        self.studies = [study for study in (*self.swept.values(), *self.shipped) if study is not base]

    def check_provenance(self) -> None:
        """Raises WrongCallError if a folder has answers of another version."""
        for study in self.studies:
            study.check_provenance()

    def missing(self) -> list[tuple[VariantStudy, str, Rule]]:
        """Returns the unanswered questions."""
        return [(study, *question) for study in self.studies for question in study.missing()]

    def count(self) -> int:
        """Returns the number of all questions."""
        return sum(len(study.programs) * len(study.rules) for study in self.studies)

    def left(self) -> int:
        """Returns the number of unanswered questions."""
        return len(self.missing())

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers missing questions, which requires the traces; returns whether none is left.

        Starts nothing after `seconds`.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        missing = self.missing()
        stages: tuple[tuple[str, list[Work]], ...] = (
            ("links, first runs", [(answer, question) for question in missing if question[2].kind == FIRST]),
            ("links, runs", [(answer, question) for question in missing if question[2].kind != FIRST]),
        )
        with workers(jobs) as pool:
            return all(do_all(pool, what, work, deadline) for what, work in stages)


def section(links: Links) -> Section:
    """Returns the section on other links, from all answers."""
    sweep = Table("links", "Mean speed by remote bandwidth, 1 = all local", _sweep(links))
    shipped = Table("machines", "Mean speed on the shipped machines, 1 = all local", _shipped(links))
    programs = Table("link-programs", "Speed of each program, 1 = all local", _programs(links))
    return Section(
        "Other links",
        f"{', '.join(links.shipped[0].programs)} on {MACHINE} with other remote bandwidths, and on the "
        "shipped machines with a GPU (docs/reference/gpu-placement.md). 1.0 is a run with all pages in the GPU's "
        "own memory: higher values use both bandwidths, lower ones lose to the link. Geometric means.",
        pictures=[
            _lines(sweep, "GB/s", "speed, 1 = all local", "remote bandwidth, GB/s"),
            _bars(shipped, "speed, 1 = all local"),
        ],
        tables=[sweep, shipped, programs],
    )


def _sweep(links: Links) -> list[Row]:
    return [
        {"GB/s": str(gigabytes), **{name: study.mean_speed(rule) for name, rule in RULES.items()}}
        for gigabytes, study in links.swept.items()
    ]


def _shipped(links: Links) -> list[Row]:
    rows: list[Row] = []
    for study in links.shipped:
        balance = _core.gpu_balance(study.machine())
        speeds = {name: study.mean_speed(rule) for name, rule in RULES.items()}
        rows.append({"machine": study.variant.name, "own bandwidth_share": balance, **speeds})
    return rows


def _programs(links: Links) -> list[Row]:
    return [
        {
            "machine": study.variant.name,
            "program": program,
            **{name: study.speed(program, rule) for name, rule in RULES.items()},
        }
        for study in (links.shipped[0], *links.studies)
        for program in study.programs
    ]


def _series(table: Table) -> list[Series]:
    return [
        Series(name, [float(row[name] or 0) for row in table.rows], CYCLE[i % len(CYCLE)])
        for i, name in enumerate(name for name, rule in RULES.items() if rule != LOCAL)
    ]


def _lines(table: Table, position: str, axis: str, across: str) -> Picture:
    positions = [float(row[position] or 0) for row in table.rows]
    return Picture(table.name, table.title, lines(positions, _series(table), axis, across))


def _bars(table: Table, axis: str) -> Picture:
    groups = [str(row["machine"]) for row in table.rows]
    return Picture(table.name, table.title, bars(groups, _series(table), axis))
