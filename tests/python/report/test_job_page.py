"""The page of an MPI job: what it says of the ranks equals the contents of the profile, worked out by hand."""

import random
import shutil
import sqlite3

import pytest
from conftest import charts_of
from terrace.report import job_facts
from terrace.store import job

MIB = 1 << 20
# The synthetic job (tests/support/synthetic_job.hpp) has nine short moves of SHORT seconds, and
# three that follow each other in the first phase of the second iteration.
SHORT, LONG = 0.000262144, 0.002752512
CALLS = ((1, "Waitall", 12, 0.05, 0, 0), (1, "Send", 30, 0.01, 4000, 0))
MESSAGES = ((1, 1, 13, 20, 100_000), (1, -1, 1, 10, 10), (2, 0, 8, 4, 600))


@pytest.fixture(scope="module")
def profile(store_path, tmp_path_factory):
    """Returns the synthetic job as two ranks, of which rank 1 was killed and started 10 ms later."""
    path = tmp_path_factory.mktemp("ranks") / "job.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE run SET rank = id - 1, ranks = 2, started_unix_ns = started_unix_ns + (id - 1) * 10000000"
        )
        database.execute("UPDATE phase_instance SET name = 'MPI_Waitall smooth:8' WHERE name = 'smooth'")
        database.executemany("INSERT INTO mpi_call VALUES (?, ?, ?, ?, ?, ?)", CALLS)
        database.executemany("INSERT INTO mpi_message VALUES (?, ?, ?, ?, ?)", MESSAGES)
    return path


@pytest.fixture(scope="module")
def facts(profile):
    return job_facts.gather(profile)


@pytest.fixture(scope="module")
def page(profile, terrace, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "job.html"
    done = terrace("report", profile, "-o", target)
    assert done.returncode == 0, done.stderr
    return target.read_text()


def test_phases_have_mean_and_slowest_rank(facts, profile):
    with sqlite3.connect(profile) as database:
        expected = dict(
            database.execute(
                "SELECT run - 1, sum(ended - begun) / count(DISTINCT iteration) FROM phase_instance "
                "WHERE loop = 0 AND name = 'residual' GROUP BY run"
            ).fetchall()
        )
    phase = next(one for one in facts.phases() if one.name == "residual")
    assert phase.by_rank == pytest.approx(expected)
    assert phase.slowest == 1  # its data stay in slow memory
    assert phase.imbalance == pytest.approx(2 * expected[1] / (expected[0] + expected[1]) - 1)


def test_fast_memory_follows_moves_and_frees(facts):
    usage = facts.ranks[0].usage[0]
    times = [0.02, 0.027, 0.0275, 0.029, 0.035, 0.043, 0.05, 0.12]
    assert [size / MIB for size in job.bytes_at(usage, times)] == [0, 12, 15, 21, 23, 21, 23, 23]
    assert list(facts.fast_places()) == ["dram"]
    assert list(facts.fast_places()["dram"]) == [0]
    # The other rank started later, and everything stays where it was allocated; of rank 0, `r` was freed.
    assert [rank.usage[1][-1].bytes / MIB for rank in facts.ranks] == [pytest.approx(92 - 12 - 23), 92]
    assert facts.ranks[1].usage[1][0].time == pytest.approx(0.01)


def test_hidden_moves_are_those_in_calls(facts):
    hidden = facts.hidden_moves()
    assert list(hidden) == [0]
    assert hidden[0].moves == 12
    assert hidden[0].moving == pytest.approx(LONG + 9 * SHORT)
    assert hidden[0].hidden == pytest.approx(LONG + 4 * SHORT)
    assert hidden[0].waited == pytest.approx(5 * 4e-5)


def test_messages_are_summed_by_pair_and_size(facts):
    pairs = {(one.sender, one.receiver): (one.messages, one.bytes) for one in facts.pairs()}
    assert pairs == {(0, 1): (20, 100_000), (0, None): (10, 10), (1, 0): (4, 600)}
    assert facts.sizes() == {1: (10, 10), 128: (4, 600), 4096: (20, 100_000)}


def test_page_has_the_charts_and_names_the_killed_rank(page):
    charts = charts_of(page)
    assert set(charts) == {"rank-times", "imbalance", "fast-0", "pairs", "sizes"}
    assert charts["pairs"]["data"][0]["z"] == [[None, 100_000], [600, None]]
    times = {one["name"]: one["x"] for one in charts["rank-times"]["data"]}
    assert times["MPI_Waitall"] == [0.05]  # rank 1 left no statistics
    assert times["outside of MPI"] == [pytest.approx(0.11151558912 - 0.06)]
    assert "so without MPI statistics: rank 1." in page
    assert "--rank" in page


def test_rank_selects_one_process(profile, terrace, tmp_path):
    done = terrace("report", profile, "--rank", "0", "-o", tmp_path / "rank.html")
    assert done.returncode == 0, done.stderr
    assert "timeline" in charts_of((tmp_path / "rank.html").read_text())
    plan = terrace("plan", profile, "--rank", "0")
    assert "note: this was made from rank 0 of 2 alone" in plan.stdout
    assert ", rank 0 of 2" in terrace("bounds", profile, "--rank", "0").stdout
    refused = terrace("bounds", "--rank", "0", "--", "true")
    assert refused.returncode == 2
    assert "--rank require a profile" in refused.stderr
    assert "--rank does not apply" in terrace("bounds", profile, "--mpi-objects", "--rank", "0").stderr


def test_one_rank_has_the_usual_page(profile, terrace, tmp_path):
    alone = tmp_path / "alone.terrace"
    shutil.copy(profile, alone)
    with sqlite3.connect(alone) as database:
        database.execute("UPDATE run SET rank = NULL WHERE id = 2")
    assert terrace("report", alone).returncode == 0
    assert "timeline" in charts_of(alone.with_suffix(".html").read_text())


def test_interval_functions_equal_brute_force():
    """On a grid of unit steps, of which each interval covers some."""
    draw = random.Random(5)
    for _ in range(300):
        sets = [[(b := draw.randrange(40), b + draw.randrange(8)) for _ in range(draw.randrange(9))] for _ in "ab"]
        steps = [{k for b, e in intervals for k in range(b, e)} for intervals in sets]
        merged = [job.union(intervals) for intervals in sets]
        assert [sum(e - b for b, e in one) for one in merged] == [len(one) for one in steps]
        assert job.overlap(*merged) == len(steps[0] & steps[1])
