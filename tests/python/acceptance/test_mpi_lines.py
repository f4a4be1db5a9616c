# SPDX-License-Identifier: Apache-2.0
"""Tests the criteria of MPI programs on synthetic accounts: comparisons and verdicts."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mpi_lines import followed_plans, mpi_formulas, mpi_places, node_plans
from mpi_lines.node_samples import FAST_NODE, Report, Sample, read_report

MIB = 1 << 20


def sample(begin: float, *runs: tuple[int, int, int]) -> Sample:
    return Sample(begin, begin + 0.1, sorted(runs))


def test_report_pages_before_a_phase_belong_to_it(tmp_path: Path) -> None:
    (tmp_path / "rank").write_text(
        "clock 1000000000 2000000000\npages 10000 2 2\npages 12000 1 0\nphase 0 0 3000000000 4000000000\n"
        "pages 10000 3 0\nphase 0 1 5000000000 6000000000\nkilled 7000000000\n"
    )
    found = read_report(tmp_path / "rank")
    assert (found.monotonic, found.real, found.killed) == (1, 2, 7)
    assert [one.fast_bytes() for one in found.samples] == [2 * 4096, 0]
    assert found.samples[0].nodes(0x11000, 0x13000) == {FAST_NODE: 1, 0: 1}


def test_plan_chunks_elsewhere_are_counted_once_the_plan_is_settled() -> None:
    plan = node_plans.Plan(10, 20, fast=[(0, MIB), (MIB, 2 * MIB)], slow=[(2 * MIB, 3 * MIB)])
    early = sample(10 + node_plans.SETTLING / 2, (0, 3 * MIB, 0))
    late = sample(
        10 + node_plans.SETTLING + 1, (0, MIB, FAST_NODE), (MIB, 2 * MIB, 0), (2 * MIB, 3 * MIB, FAST_NODE)
    )
    after = sample(21, (0, 3 * MIB, 0))
    node_plans.compare_plan(plan, [early, late, after])
    assert (plan.is_compared, plan.is_as_planned) == (3, 1)


def test_shares_that_a_rank_keeps_exceeding_are_problems() -> None:
    notes = [(1.0, "fast memory of this node is divided among 4 ranks: rank 1 gets 2 MiB of 24 MiB. Predicted")]
    divisions = node_plans.parse_divisions(notes)
    assert divisions == [(1.0, 4, 2)]
    samples = [sample(time, (0, 4 * MIB, FAST_NODE)) for time in (2.0, 10.0)]
    compared, problems = node_plans.exceeded_shares(1, divisions, samples)
    assert compared == 1
    assert problems == ["rank 1 has 4.0 MiB with a share of 2 MiB"]
    assert node_plans.exceeded_shares(1, [(1.0, 4, 4)], samples) == (1, [])


def survivors(*sizes: int) -> list[Report]:
    """Returns a rank that has so many MiB at 1, 2, 3, ... s, and one that had 8 and is killed after 1.5 s."""
    other = Report(0, 0, [sample(at + 0.9, (0, size * MIB, FAST_NODE)) for at, size in enumerate(sizes)])
    return [other, Report(0, 0, [sample(0.5, (0, 8 * MIB, FAST_NODE))], killed=1.5)]


def test_memory_of_a_killed_rank_must_grow_the_others() -> None:
    found = node_plans.returned_memory(survivors(1, 5, 9), 1)
    assert found == node_plans.Return(8 * MIB, 8 * MIB, first=0.5, whole=1.5)
    assert found.problems() == []
    stays = node_plans.returned_memory(survivors(1, 1, 1), 1)
    assert stays is not None
    assert len(stays.problems()) == 2


PROFILE = """
CREATE TABLE run (id, rank, machine);
CREATE TABLE place (machine, id, name, kind);
CREATE TABLE phase_instance (run);
CREATE TABLE object (run, id, name);
CREATE TABLE object_place (run, object, first, chunks, place);
CREATE TABLE move (run, object, first, chunks, target, refused);
CREATE TABLE plan (id, run, at, why, budget);
CREATE TABLE plan_object (plan, object, name);
CREATE TABLE plan_part (plan, object, first, chunks, place);
INSERT INTO run VALUES (1, NULL, 1), (2, 0, 1);
INSERT INTO place VALUES (1, 0, 'near', 'ddr'), (1, 1, 'far', 'cxl');
INSERT INTO object VALUES (2, 7, 'a'), (2, 8, 'b');
INSERT INTO object_place VALUES (2, 7, 0, 3, 1), (2, 8, 0, 2, 0);
INSERT INTO plan VALUES (1, 2, 0.1, 'given by --plan', '["ddr=1MiB"]');
INSERT INTO plan_object VALUES (1, 0, 'a'), (1, 1, 'b');
INSERT INTO plan_part VALUES (1, 0, 0, 1, 'ddr'), (1, 0, 2, 1, 'ddr');
"""
MOVES = """
INSERT INTO move VALUES (2, 7, 0, 1, 0, 0), (2, 7, 2, 1, 0, {refused}), (2, 8, 0, 2, 1, 0);
"""


@pytest.mark.parametrize(("refused", "placed"), [(0, 5), (1, 4)])
def test_plan_is_followed_if_all_chunks_were_where_it_has_them(tmp_path: Path, refused: int, placed: int) -> None:
    with closing(sqlite3.connect(tmp_path / "job.terrace")) as database:
        database.executescript(PROFILE + MOVES.format(refused=refused))
    (tmp_path / "rank-0.toml").write_text(
        '[[object]]\nname = "a"\nchunks = 3\nparts = { ddr = "0, 2" }\n[[object]]\nname = "b"\nchunks = 2\n'
    )
    (found,) = followed_plans.follow(tmp_path / "job.terrace", tmp_path)
    assert found == followed_plans.Followed(0, True, 5, placed, planned=2)
    assert found.holds == (placed == 5)


def test_plan_file_other_than_the_adopted_one_is_not_followed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "job.terrace")) as database:
        database.executescript(PROFILE + MOVES.format(refused=0))
    (tmp_path / "rank-0.toml").write_text('[[object]]\nname = "a"\nchunks = 3\nplace = "ddr"\n')
    (found,) = followed_plans.follow(tmp_path / "job.terrace", tmp_path)
    assert not found.is_adopted
    assert not found.holds


def test_ranges_of_a_plan_file_are_chunks(tmp_path: Path) -> None:
    file = tmp_path / "rank-0.toml"
    file.write_text(
        '[[object]]\nname = "a"\nchunks = 64\nparts = { ddr = "0-2, 63" }\n[[object]]\nname = "b"\nplace = "hbm"\n'
    )
    found = followed_plans.read_plan_file(file)
    assert found == {*(("a", chunk, "ddr") for chunk in (0, 1, 2, 63)), ("b", 0, "hbm")}


def test_cells_of_mpich_5_have_the_measured_sizes() -> None:
    (cells,) = (row for row in mpi_formulas.OBJECTS["MPICH 5"] if row.kind == "cells")
    assert [cells.size(ranks) for ranks in (2, 4)] == [2118784, 4233472]
    assert cells.matches("/dev/shm/mpich_shm_9814a5f6_0", 2121728, 2)
    assert not cells.matches("/dev/shm/mpich_shm_9814a5f6_0", 2121728, 4)


@pytest.mark.parametrize(
    ("said", "library"),
    [
        ("MPICH Version:\t4.0.2", "MPICH 4"),
        ("MPICH Version:      5.0.2", "MPICH 5"),
        ("Open MPI v4.1.4, package: Debian OpenMPI", "Open MPI 4"),
        ("Open MPI v5.0.11, package: Open MPI", "Open MPI 5"),
    ],
)
def test_library_of_a_stated_version_is_known(said: str, library: str) -> None:
    assert mpi_formulas.library_of(said) == library


def test_windows_parts_are_where_the_ranks_say_they_are() -> None:
    window, low = mpi_places.WINDOW, 0x10000
    size = mpi_formulas.pages(2 * window + 8)

    def report(rank: int, nodes: list[int | None]) -> mpi_places.Report:
        mapping = mpi_places.Mapping(low, low + size, True, 7, "/dev/shm/osc_sm.1", nodes)
        nowhere = (0, 0)
        own = {"window": (low + 8 + rank * window, window), "shared": nowhere, "memory": nowhere}
        return mpi_places.Report(rank, 2, {"libmpi.so": "Open MPI v4.1.4"}, own, [mapping])

    on_fast: list[int | None] = [0, *[1] * (size // 4096 - 1)]  # the first page has the library's 8 bytes
    reports = [report(rank, on_fast) for rank in (0, 1)]
    assert mpi_places.check(reports, 0, 1, ("windows",)).problems == []
    assert len(mpi_places.check(reports, 0, 1, ()).problems) == 2 * (size // 4096 - 1)
    first = window // 4096  # page in which the second rank's part begins
    half: list[int | None] = [0, *[1] * first, *[0] * (size // 4096 - 1 - first)]
    assert mpi_places.check([report(rank, half) for rank in (0, 1)], 0, 1, ("windows",), {0}).problems == []
