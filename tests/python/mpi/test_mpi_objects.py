# SPDX-License-Identifier: Apache-2.0
"""The tables of MPI objects against what each installed MPI library maps, by the kernel's report."""

import os
from pathlib import Path

import pytest
from mpi_mappings import Build, Mapping, Rank, Step, builds
from terrace import _core

PAGE = os.sysconf("SC_PAGE_SIZE")
WINDOWS = ("MPI_Win_allocate", "MPI_Win_allocate_shared")


def rounded(size: int) -> int:
    return -(-size // PAGE) * PAGE


def tables_of(rank: Rank) -> list[_core.MpiObjectTable]:
    """Returns the tables of the libraries that a rank reports."""
    found = []
    for file, version in rank.versions.items():
        described = [each for each in _core.shipped_mpi_objects() if each.describes(file, version)]
        assert len(described) == 1, f"{file} {version}: {len(described)} tables describe it"
        found += described
    return found


class Check:
    """The objects of a run, by the tables of its libraries."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.ranks = ranks
        self.tables = tables_of(ranks[0])
        self.classifier = _core.MpiClassifier(self.tables)

    def row(self, step: Step, mapping: Mapping) -> _core.MpiObject | None:
        """Returns the object of a mapping, by all that is known of the requests."""
        return self.classifier.classify(
            mapping.name,
            mapping.size,
            step.function,
            len(self.ranks),
            step.requested,
            step.total,
            step.rounded,
            PAGE,
        )

    def found(self) -> list[tuple[int, Step, Mapping, _core.MpiObject]]:
        """Returns rank, step, mapping and object of each mapping that a step added; each one has an object."""
        found = []
        for number, rank in enumerate(self.ranks):
            for step, mappings in rank.news():
                if step.function == "MPI_Finalize":  # of mappings that lose their file's name
                    continue
                for mapping in mappings:
                    row = self.row(step, mapping)
                    assert row is not None, f"rank {number}, {step.function} {step.requested}: {mapping}"
                    found.append((number, step, mapping, row))
        return found


def check_run(build: Build, folder: Path, ranks: int) -> None:
    check = Check(build.run(folder, ranks))
    found = check.found()
    check_sizes(check, found)
    check_counts(check, found)
    check_expected(check, found)
    check_touches(check, found)
    check_private_memory(check)
    check_left_behind(check)


def check_sizes(check: Check, found) -> None:
    """The objects' sizes, to the byte where the kernel tells them, are the formulas' values. The agent, which
    knows its own rank's request alone, finds the same kind.
    """
    for _, step, mapping, row in found:
        size = row.size(len(check.ranks), step.requested, step.total, step.rounded, PAGE)
        if size is None:
            assert not row.may_bind
            continue
        assert mapping.size == rounded(size), (step, mapping, row.name)
        if row.may_bind and mapping.object_bytes:
            assert mapping.object_bytes == size, (step.function, step.requested, mapping, row.name)
        by_agent = check.classifier.classify(
            mapping.name, mapping.size, step.function, len(check.ranks), step.requested, page_size=PAGE
        )
        assert by_agent is not None
        assert by_agent.kind == row.kind, (step.function, step.requested, mapping, by_agent.name, row.name)


def check_counts(check: Check, found) -> None:
    """MPI_Init creates as many objects on the node as the tables state, by inodes of all ranks."""
    objects: dict[str, set[tuple[int, str]]] = {}
    rows = {}
    for _, step, mapping, row in found:
        if step.function == "MPI_Init" and row.count(len(check.ranks)) is not None:
            objects.setdefault(row.name, set()).add((mapping.inode, mapping.path))
            rows[row.name] = row
    assert objects
    for name, of_node in objects.items():
        assert len(of_node) == rows[name].count(len(check.ranks)), name


def check_expected(check: Check, found) -> None:
    """Each object of a table was there: UCX's where MPICH uses it, the others always."""
    seen = {row.name for _, _, _, row in found}
    for table in check.tables:
        used = table.library != "UCX" or any(each.library == "MPICH" for each in check.tables)
        for row in table.objects:
            if used and row.mappings != ["anonymous"]:
                assert row.name in seen, f"{table.library}: {row.name}"


def check_touches(check: Check, found) -> None:
    """Pages are allocated when the tables say: before the mapping (all of them, touched or not), in the call, or
    later (nothing but the header, and a last page that sets the size of a file).
    """
    ranks = len(check.ranks)
    for _, step, mapping, row in found:
        if row.touched == "before":
            assert mapping.allocated in (rounded(mapping.object_bytes), 0), (step.function, mapping)
        elif row.kind == "windows" and row.touched == "inside":
            assert mapping.resident >= step.requested, (step.function, mapping)
        elif row.kind == "windows":
            header = rounded(row.header(ranks, page_size=PAGE) or 0)
            assert mapping.resident <= header, (step.function, mapping)
            assert mapping.allocated <= header + PAGE, (step.function, mapping)
        elif row.may_bind and row.touched == "inside" and mapping.object_bytes:
            assert mapping.allocated > 0, (step.function, mapping)


def check_private_memory(check: Check) -> None:
    """MPI_Alloc_mem, and a window of one process (the last one), add the formula's bytes of anonymous memory, as
    a mapping or at the end of one.
    """
    ranks = len(check.ranks)
    for function, kind in (("MPI_Alloc_mem", "alloc_mem"), ("MPI_Win_allocate", "windows")):
        for rank in check.ranks:
            at = max(number for number, step in enumerate(rank.steps) if step.function == function)
            before, after = (
                sum(each.size for each in rank.steps[number].mappings if not each.is_shared)
                for number in (at - 1, at)
            )
            requested = rank.steps[at].requested
            row = check.classifier.classify("", after - before, function, ranks, requested, page_size=PAGE)
            assert row is not None, (function, after - before)
            assert row.kind == kind
            assert after - before == rounded(row.size(ranks, requested))


def check_left_behind(check: Check) -> None:
    """After a normal end neither /dev/shm nor System V shared memory has any of the objects."""
    segments = {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
    for rank in check.ranks:
        for step in rank.steps:
            for mapping in step.mappings:
                if mapping.path.startswith("/dev/shm/"):
                    assert not Path(mapping.path).exists(), mapping
                if mapping.path.startswith("/SYSV"):
                    assert mapping.inode not in segments, mapping


def usable(build: Build) -> Build:
    if not build.is_usable:
        pytest.skip(f"no {build.compiler} and {build.launcher}")
    return build


@pytest.mark.parametrize("build", builds()[:2], ids=lambda build: build.name)
def test_debian_builds_map_what_the_tables_state(build, tmp_path):
    check_run(usable(build), tmp_path, 2)


@pytest.mark.soak
@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("build", builds(), ids=lambda build: build.name)
def test_all_builds_map_what_the_tables_state(build, ranks, tmp_path):
    check_run(usable(build), tmp_path, ranks)
