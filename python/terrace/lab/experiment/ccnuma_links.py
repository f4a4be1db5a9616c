"""Links up to today's machines: some of the study's programs and rules, with other bandwidths beyond the link, and
on the shipped machines with a GPU.

Each machine is a study of its own (`ccnuma.Study`), with the traces of the one that it belongs to.
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

# What the study's machine has beyond its link besides its own bandwidth, in GB/s.
BANDWIDTHS = (10, 20, 40, 160, 200)
FEW_BANDWIDTHS = (20, 200)
MACHINES = ("p100-pcie", "p100-nvlink", "gh200-gpu", "h200-pcie5", "mi300a")
# Of what the study runs: a stencil, a wavefront, a graph and random look-ups.
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
    """A machine: a shipped one, or that with another bandwidth beyond its link."""

    machine: str
    gigabytes: int | None = None  # a second

    @property
    def name(self) -> str:
        """Unique, and fit for a path."""
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
        """On which the programs run."""
        machine = _core.Machine.read(self.variant.machine)
        gigabytes = self.variant.gigabytes
        return machine if gigabytes is None else _core.gpu_with_remote_bandwidth(machine, gigabytes * 1e9)

    def trace(self, program: str) -> Path:
        """Of the program's warps: that of the study it belongs to."""
        return self.of.trace(program)

    def speed(self, program: str, rule: Rule) -> float:
        """1 is that of a program whose pages are all in the GPU's own memory."""
        return float(self.get(program, LOCAL)["seconds"]) / float(self.get(program, rule)["seconds"])

    def mean_speed(self, rule: Rule) -> float:
        """The geometric mean of all programs'."""
        return geometric_mean([self.speed(program, rule) for program in self.programs]) or 0.0


class Links:
    """The studies of a study's machines."""

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
        # Those that the study does not answer itself.
        self.studies = [study for study in (*self.swept.values(), *self.shipped) if study is not base]

    def settle(self) -> None:
        """Raises WrongCallError where a folder has answers that were made with something else."""
        for study in self.studies:
            study.settle()

    def missing(self) -> list[tuple[VariantStudy, str, Rule]]:
        """The questions without an answer."""
        return [(study, *question) for study in self.studies for question in study.missing()]

    def count(self) -> int:
        """Of all questions."""
        return sum(len(study.programs) * len(study.rules) for study in self.studies)

    def left(self) -> int:
        """Of those without an answer."""
        return len(self.missing())

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers what is missing, once the traces are there; whether nothing is left. After so many seconds
        nothing more is begun."""
        deadline = None if seconds is None else time.monotonic() + seconds
        missing = self.missing()
        stages: tuple[tuple[str, list[Work]], ...] = (
            ("links, first runs", [(answer, question) for question in missing if question[2].kind == FIRST]),
            ("links, runs", [(answer, question) for question in missing if question[2].kind != FIRST]),
        )
        with workers(jobs) as pool:
            return all(do_all(pool, what, work, deadline) for what, work in stages)


def section(links: Links) -> Section:
    """Of all answers, which have to be there."""
    sweep = Table("links", "Mean speed by the bandwidth beyond the link, 1 = all local", _sweep(links))
    shipped = Table("machines", "Mean speed on the shipped machines, 1 = all local", _shipped(links))
    programs = Table("link-programs", "Speed of each program, 1 = all local", _programs(links))
    return Section(
        "Links up to today's machines",
        f"{', '.join(links.shipped[0].programs)} on {MACHINE} with other bandwidths beyond its link, and on the "
        "shipped machines with a GPU, which docs/gpu-placement.md lists. 1.0 is a run with all pages in the GPU's "
        "own memory: more is what both memories together give, less is what the link costs. Geometric means.",
        pictures=[
            _lines(sweep, "GB/s", "speed, 1 = all local", "GB/s beyond the link"),
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
