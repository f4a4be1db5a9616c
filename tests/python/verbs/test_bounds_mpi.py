# SPDX-License-Identifier: Apache-2.0
"""`terrace bounds --mpi-objects`: the advice for a job, from its stored messages and objects, by hand."""

import json
import shutil
import sqlite3

import pytest
from terrace.store.reader import Store

MACHINE = "knl-7210-flat"
FAST, SLOW = 314e9, 66e9  # read and write bandwidths of the machine file
CELLS, FIFO = 1056768, 36864  # of each rank, MPICH 5
MESSAGES = [(0, 10, 100, 60000), (0, 13, 10, 70000), (0, 21, 5, 8 << 20)]  # 600 B, 7,000 B, and 1.6 MiB, which the
# kernel copies


@pytest.fixture(scope="module")
def job(store_path, tmp_path_factory):
    """A profile with two ranks of MPICH 5 on one host; rank 1 sends to rank 0, and puts."""
    copy = tmp_path_factory.mktemp("mpi") / "job.terrace"
    shutil.copy(store_path, copy)
    first, second = [run.id for run in Store(store_path).runs()][:2]
    objects = [
        ("MPICH 5.0.2", "cells", "cells", 1, CELLS),
        ("MPICH 5.0.2", "fifos", "FIFOs of sysv", 1, FIFO),
        ("MPICH 5.0.2", "windows", "windows", 1, 3 << 20),
    ]
    with sqlite3.connect(copy) as database:
        database.execute("UPDATE run SET host = 'node', ranks = 2, rank = id = ?", (second,))
        database.execute("UPDATE run SET rank = NULL WHERE id NOT IN (?, ?)", (first, second))
        for run in (first, second):
            database.executemany(
                "INSERT INTO mpi_object VALUES(?, ?, ?, ?, NULL, ?, ?, 0)", [(run, *row) for row in objects]
            )
        database.executemany("INSERT INTO mpi_message VALUES(?, ?, ?, ?, ?)", [(second, *row) for row in MESSAGES])
        database.execute("INSERT INTO mpi_call VALUES(?, 'Put', 4, 1, ?, 0)", (second, 4 << 20))
    return copy


def advised(terrace, job, *options):
    return json.loads(terrace("bounds", job, "--mpi-objects", "-m", MACHINE, "--json", *options).stdout)


def seconds(written, read):
    """Returns what fast memory saves: a written byte costs a read, too."""

    def of(bandwidth):
        return written * 2 / bandwidth + read / bandwidth

    return of(SLOW) - of(FAST)


def test_costs_and_savings_are_those_of_the_messages(terrace, job):
    document = advised(terrace, job, "--fast", "64MiB")
    assert document["library"] == "MPICH 5.0.2"
    assert document["ranks"] == 2
    kinds = {row["kind"]: row for row in document["kinds"]}
    assert set(kinds) == {"cells", "windows"}  # UCX's objects carry nothing in MPICH 5
    assert kinds["cells"]["size"] == 4096 + 2 * (128 * 8256 + 576)
    assert kinds["cells"]["written"] == 130000
    assert kinds["windows"]["size"] == 6 << 20
    assert kinds["windows"]["written"] == 4 << 20
    assert kinds["cells"]["published_bytes"] == 2 * 64 * 64 * 1024
    assert kinds["cells"]["saved"] > 0
    ratio = kinds["windows"]["saved"] / kinds["cells"]["saved"]
    assert ratio == pytest.approx(seconds(4 << 20, 0) / seconds(130000, 130000))
    assert document["options"] == "--mpi-objects windows=mcdram,cells=mcdram"


def test_budget_decides_what_is_placed(terrace, job):
    assert advised(terrace, job, "--fast", "4MiB")["options"] == "--mpi-objects cells=mcdram"
    assert advised(terrace, job, "--fast", "6MiB")["options"] == "--mpi-objects windows=mcdram"
    assert advised(terrace, job, "--fast", "1MiB")["options"] == ""
    text = terrace("bounds", job, "--mpi-objects", "-m", MACHINE, "--fast", "1MiB").stdout
    assert "Nothing to place." in text
    text = " ".join(terrace("bounds", job, "--mpi-objects", "-m", MACHINE, "--fast", "64MiB").stdout.split())
    assert "Objects of MPICH 5.0.2 on knl-7210-flat, 2 ranks on the node, 64MiB of mcdram" in text
    assert "N x 64 x 64 KiB" in text
    assert "Messages within the node, by mean size: 600B: 100, 6.84KiB: 10, 1.6MiB: 5." in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--mpi-objects", "--process", "1"), "--process does not apply to --mpi-objects"),
        (("--mpi-objects", "--planner", "optimal"), "--planner does not apply to --mpi-objects"),
    ],
)
def test_other_options_are_refused(terrace, job, words, sentence):
    done = terrace("bounds", job, *words)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_profile_without_mpi_is_refused(terrace, store_path):
    done = terrace("bounds", store_path, "--mpi-objects")
    assert done.returncode == 2
    assert "has no objects of an MPI library" in done.stderr
