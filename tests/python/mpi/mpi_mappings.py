# SPDX-License-Identifier: Apache-2.0
"""Runs tests/support/mpi_objects.c under an MPI library, and reads the mappings that its ranks report."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "support" / "mpi_objects.c"
DELETED = " (deleted)"
# Open MPI refuses to run as root and on more ranks than cores unless it is asked to.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


@dataclass(frozen=True)
class Mapping:
    """A shared or anonymous mapping of one rank."""

    begin: int
    end: int
    is_shared: bool
    inode: int
    resident: int
    object_bytes: int  # 0 if the kernel does not tell
    allocated: int  # memory that the object occupies; 0 if the kernel does not tell
    name: str

    @property
    def size(self) -> int:
        """Returns the mapped bytes."""
        return self.end - self.begin

    @property
    def path(self) -> str:
        """Returns the name without the kernel's remark that the file is deleted."""
        return self.name.removesuffix(DELETED)


@dataclass
class Step:
    """The mappings after a call of MPI, and what the rank requested in it."""

    function: str
    requested: int
    total: int
    rounded: int
    mappings: list[Mapping] = field(default_factory=list)


@dataclass
class Rank:
    """The report of one rank."""

    versions: dict[str, str] = field(default_factory=dict)  # by the library's file name
    steps: list[Step] = field(default_factory=list)

    def news(self) -> Iterator[tuple[Step, list[Mapping]]]:
        """Yields each step but the first, with the shared mappings that it added."""
        for before, step in zip(self.steps, self.steps[1:], strict=False):
            known = {(each.begin, each.inode, each.path) for each in before.mappings}
            yield (
                step,
                [
                    each
                    for each in step.mappings
                    if each.is_shared and (each.begin, each.inode, each.path) not in known
                ],
            )


@dataclass(frozen=True)
class Build:
    """An installed MPI library."""

    name: str
    compiler: str
    launcher: str

    @cached_property
    def is_usable(self) -> bool:
        """Returns whether both programs are installed."""
        return all(map(shutil.which, (self.compiler, self.launcher)))

    def run(self, folder: Path, ranks: int) -> list[Rank]:
        """Compiles and runs the program; returns the reports of the ranks."""
        program = folder / "mpi_objects"
        if not program.exists():
            subprocess.run([self.compiler, "-O1", SOURCE, "-o", program, "-ldl"], check=True)
        reports = folder / f"ranks{ranks}"
        reports.mkdir()
        done = subprocess.run(
            [self.launcher, "-n", str(ranks), program, reports],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **ENVIRONMENT},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [_read(reports / f"rank.{rank}") for rank in range(ranks)]


def builds() -> list[Build]:
    """Returns Debian's builds, and those of the prefixes in $TERRACE_MPI_PREFIXES (separated by ':')."""
    found = [Build(name, f"mpicc.{name}", f"mpirun.{name}") for name in ("mpich", "openmpi")]
    for prefix in filter(None, os.environ.get("TERRACE_MPI_PREFIXES", "").split(":")):
        programs = Path(prefix) / "bin"
        for compiler in ("mpicc", "mpicc_abi"):  # the latter is that of the standard ABI
            if (programs / compiler).exists():
                name = f"{Path(prefix).name}-{compiler}"
                found.append(Build(name, str(programs / compiler), str(programs / "mpirun")))
    return found


def _read(report: Path) -> Rank:
    rank = Rank()
    for line in report.read_text().splitlines():
        if line.startswith("# "):
            _, file, version = line.split(None, 2)
            rank.versions[file] = version
        elif line.startswith("@ "):
            _, function, *numbers = line.split()
            rank.steps.append(Step(function, *map(int, numbers)))
        else:
            found = re.fullmatch(r"(\w+)-(\w+) (\S+) (\d+) (\d+) (\d+) (\d+) ?(.*)", line)
            assert found, line
            begin, end = (int(found[each], 16) for each in (1, 2))
            numbers = [int(found[each]) for each in (4, 5, 6, 7)]
            rank.steps[-1].mappings.append(Mapping(begin, end, found[3][3] == "s", *numbers, found[8]))
    return rank
