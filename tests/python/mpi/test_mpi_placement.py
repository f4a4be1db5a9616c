# SPDX-License-Identifier: Apache-2.0
"""`terrace run --mpi-objects` on each installed MPI library: what the profile says was bound has the sizes of the
table's formulas, on every rank, with the launcher outside and inside. `acceptance/mpi` looks where pages lie.
"""

import json
import os
import sqlite3
import subprocess

import pytest
from conftest import ROOT, TERRACE, refused, run
from mpi_mappings import ENVIRONMENT, Build, builds
from terrace import _core
from terrace.report.mpi_memory import is_of_library

SOURCE = ROOT / "tests" / "support" / "mpi_places.c"
KINDS = ("eager", "cells", "copy_buffers", "pools", "fifos", "windows", "alloc_mem")
RANKS, WINDOW, MEMORY = 2, 300000, 1 << 20  # of the program
FILE_AND_VERSION = {"MPICH": "{} Version: {}", "Open MPI": "{} v{}"}


@pytest.fixture(scope="module")
def place():
    """Returns a place of this machine with a NUMA node."""
    places = json.loads(run("--json", verb="machine").stdout)["places"]
    found = [each["name"] for each in places if each["numa_node"] is not None]
    if not found:
        pytest.skip("this machine has no place with a NUMA node")
    return found[0]


@pytest.fixture(scope="module", params=builds(), ids=lambda build: build.name)
def job(request, tmp_path_factory):
    build: Build = request.param
    if not build.is_usable:
        pytest.skip(f"{build.compiler} or {build.launcher} is not installed")
    folder = tmp_path_factory.mktemp("places")
    subprocess.run([build.compiler, "-O1", SOURCE, "-o", folder / "places", "-ldl"], check=True)
    return build, folder


def bound(job, place, name, is_inside, *options):
    """Runs the program, and returns the rows of each rank."""
    build, folder = job
    profile = folder / f"{name}.terrace"
    (folder / name).mkdir()
    words = [TERRACE, "run", "--planner", "slow-only", *options, "-o", profile]
    start = [build.launcher, "-n", str(RANKS)]
    program = [folder / "places", folder / name]
    command = [*start, *words, "--", *program] if is_inside else [*words, "--", *start, *program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **ENVIRONMENT}, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "stay where" not in done.stderr and "no table" not in done.stderr
    with sqlite3.connect(profile) as database:
        rows = database.execute(
            "SELECT rank, library, kind, object, place, objects, bytes, elsewhere FROM mpi_object "
            "JOIN run ON run.id = mpi_object.run WHERE rank IS NOT NULL"
        ).fetchall()
    by_rank = {rank: [row[1:] for row in rows if row[0] == rank] for rank in range(RANKS)}
    assert all(by_rank.values())
    return by_rank


def formulas(library):
    """Returns the rows of the tables that may describe a library's objects, by name."""
    name, _, version = library.rpartition(" ")
    text = FILE_AND_VERSION[name].format(name, version)
    return {
        row.name: row
        for table in _core.shipped_mpi_objects()
        if table.library == "UCX" or table.describes("libmpi.so", text) or table.describes("libmpich.so", text)
        for row in table.objects
    }


@pytest.mark.parametrize("is_inside", [False, True], ids=["outside", "inside"])
def test_bound_sizes_equal_the_formulas(job, place, is_inside):
    options = ("--mpi-objects", ",".join(f"{kind}={place}" for kind in KINDS))
    name = "inside" if is_inside else "outside"
    for rows in bound(job, place, name, is_inside, *options).values():
        rows_of_table = formulas(rows[0][0])
        kinds = set()
        for _, kind, name, where, objects, size, elsewhere in rows:
            assert (where, elsewhere) == ((None if kind == "control" else place), 0)
            kinds.add(kind)
            row = rows_of_table[name]
            if kind in ("eager", "cells"):
                assert size == (row.slice(RANKS) or row.size(RANKS)) * objects
            if kind == "pools":
                assert objects >= 1 and size % objects == 0
                assert abs(size // objects - row.size(RANKS)) < 4096  # UCX rounds up to pages
            if kind == "windows":
                assert size == WINDOW * objects
            if kind == "alloc_mem":
                assert size == MEMORY
        carriers = {"eager", "cells"} & kinds or {"pools", "fifos"} & kinds
        assert carriers and {"windows", "alloc_mem"} <= kinds


def test_info_key_places_windows_and_memory_alone(job, place):
    build, folder = job
    profile = folder / "hint.terrace"
    (folder / "hint").mkdir()
    words = [TERRACE, "run", "--planner", "slow-only", "-o", profile, "--", build.launcher, "-n", str(RANKS)]
    done = subprocess.run(
        [*words, folder / "places", folder / "hint", place],
        capture_output=True, text=True, timeout=120, env={**os.environ, **ENVIRONMENT}, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(profile) as database:
        placed = {kind for (kind,) in database.execute("SELECT kind FROM mpi_object WHERE place = ?", (place,))}
        rest = {kind for (kind,) in database.execute("SELECT kind FROM mpi_object WHERE place IS NULL")}
    assert placed == {"windows", "alloc_mem"}
    assert not placed & rest


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        (
            "boxes=PLACE",
            "MPI libraries have no 'boxes'; kinds are eager, cells, copy_buffers, pools, fifos, windows",
        ),
        ("control=PLACE", "control blocks are small, and are never placed"),
        ("cells=attic", "has no memory 'attic'; give one of: "),
        ("cells", "give KIND=PLACE, such as windows="),
        ("cells=PLACE,cells=PLACE", "cells has a place already; name each kind once"),
    ],
)
def test_unknown_kind_or_place_is_refused(place, word, sentence):
    done = run("--mpi-objects", word.replace("PLACE", place), "--", "true")
    assert sentence in refused(done)


def test_dry_run_names_the_places(place):
    done = run("--dry-run", "--mpi-objects", f"windows={place},cells={place}", "--", "true")
    assert f"memory of the MPI library: cells in {place}, windows in {place}\n" in done.stdout


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MPICH 4.0.2", True),
        ("MPICH 4.0.2#17", True),
        ("(globals libmpi.so.40)", True),
        ("libpmix.so.2+0x1f", True),
        ("libopen-pal.so.80+0xee616#3", True),
        ("(globals libmpich.so.12)", True),
        ("MPICH 5.0.2", False),
        ("libmine.so.1+0x10", False),
        ("main+0x10", False),
        ("mpi_buffer", False),
    ],
)
def test_objects_of_the_library_are_known_by_name(name, expected):
    assert is_of_library(name, ["MPICH 4.0.2"]) is expected
