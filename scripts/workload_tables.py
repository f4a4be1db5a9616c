# SPDX-License-Identifier: Apache-2.0
"""Generates the tables of workloads/README.md from the manifests: `make docs` runs it.

A table is between `<!-- NAME: ... -->` and `<!-- end -->`. `--check` reports whether all are up to date.
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))  # the reader of manifests needs no build

from terrace.lab.workloads import EVERYWHERE, SOMEWHERE, STUDIES, Workload, read_all  # noqa: E402

PAGE = ROOT / "workloads" / "README.md"
Workloads = Collection[Workload]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns a table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def programs(there: Workloads) -> str:
    """Returns the table of programs, their sources and the phases that they mark."""
    head = ("program", "what", "source", "phases of an iteration")
    return table(head, ((f"`{w.name}`", w.title, w.after, w.loop.shown if w.loop else "") for w in there))


def truths(there: Workloads) -> str:
    """Returns the table of references for verification, and of the effect of threads on results."""
    head = ("program", "truth", "tolerance", "results with more threads")
    return table(head, ((f"`{w.name}`", w.against, w.tolerance, w.openmp or "has one thread") for w in there))


def sizes(_: Workloads) -> str:
    """Returns the table of sizes: common ones, then those of some workloads."""
    rows = [(f"`{name}`", "all", what) for name, what in EVERYWHERE.items()]
    rows += [(f"`{name}`", "some", what) for name, what in SOMEWHERE.items()]
    return table(("size", "workloads", "purpose"), rows)


def studies(there: Workloads) -> str:
    """Returns the table of studies and their programs."""
    rows = [(f"`{study}`", what, _names(there, study)) for study, what in STUDIES.items()]
    return table(("study", "what it is", "programs"), rows)


def mpi(_: Workloads) -> str:
    """Returns the table of the programs for MPI ranks, which have a folder of their own."""
    head = ("program", "what", "source", "truth", "tolerance")
    there = read_all(PAGE.parent / "mpi").values()
    return table(head, ((f"`{w.name}`", w.title, w.after, w.against, w.tolerance) for w in there))


def _names(there: Workloads, study: str) -> str:
    return ", ".join(f"`{w.name}`" for w in there if study in w.study.names)


TABLES: Mapping[str, Callable[[Workloads], str]] = {
    "programs": programs,
    "truths": truths,
    "sizes": sizes,
    "studies": studies,
    "mpi": mpi,
}


def page(text: str, there: Workloads) -> str:
    """Returns the page with new tables. Raises KeyError for an unknown table."""

    def made(found: re.Match[str]) -> str:
        return f"{found[1]}\n{TABLES[found[2]](there)}{found[3]}"

    return re.sub(r"(<!-- (\w+): [^\n]* -->)\n.*?(<!-- end -->)", made, text, flags=re.DOTALL)


def main() -> int:
    """Writes the tables of workloads/README.md, or checks them (--check)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a table is out of date")
    arguments = parser.parse_args()
    before = PAGE.read_text()
    after = page(before, read_all(PAGE.parent).values())
    if arguments.check and before != after:
        where, script = PAGE.relative_to(ROOT), Path(__file__).relative_to(ROOT)
        print(f"{where} is out of date: run {script}", file=sys.stderr)
        return 1
    if not arguments.check:
        PAGE.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
