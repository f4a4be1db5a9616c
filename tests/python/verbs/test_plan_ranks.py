"""`terrace plan --all-ranks` divides a node's budget among the ranks of an MPI job, and writes a plan for each."""

import json
import shutil
import sqlite3
import tomllib

import pytest

LIMIT = 1 << 20


@pytest.fixture(scope="module")
def profile(store_path, tmp_path_factory):
    """Returns the synthetic job as two ranks on one node."""
    path = tmp_path_factory.mktemp("ranks") / "job.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE run SET rank = id - 1, ranks = 2, host = 'node'")
    return path


@pytest.fixture(scope="module")
def planned(profile, terrace, tmp_path_factory):
    """Returns the folder of the plans, and the document."""
    folder = tmp_path_factory.mktemp("plans") / "plans"
    done = terrace("plan", profile, "--all-ranks", "--fast", str(LIMIT), "-o", folder, "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_shares_of_ranks_are_within_the_budget_of_the_node(planned):
    _, document = planned
    shares = [each["fast_bytes"] for each in document["ranks"]]
    assert len(shares) == 2
    assert 0 < sum(shares) <= LIMIT


def test_each_rank_has_a_file_within_its_share(planned):
    folder, document = planned
    assert sorted(path.name for path in folder.iterdir()) == ["rank-0.toml", "rank-1.toml"]
    for each in document["ranks"]:
        plan = tomllib.loads((folder / f"rank-{each['rank']}.toml").read_text())
        parts = [(item, count) for item in each["objects"] for _, count, place in item["parts"] if place != "slow"]
        assert sum(count * item["size"] // item["chunks"] for item, count in parts) <= each["fast_bytes"]
        assert plan["planner"] == "auto"
        assert each["predicted_s"] <= each["slow_only_s"]


def test_ranks_that_gain_together_get_more_than_one_alone(profile, terrace, planned):
    """Twice the budget never makes the slowest rank slower."""
    done = terrace("plan", profile, "--all-ranks", "--fast", str(2 * LIMIT), "--json")
    slowest = max(each["predicted_s"] for each in json.loads(done.stdout)["ranks"])
    assert slowest <= max(each["predicted_s"] for each in planned[1]["ranks"]) * 1.001


@pytest.mark.parametrize("idle", [0, 1])
def test_rank_without_misses_leaves_the_budget_to_the_other(profile, terrace, tmp_path, idle):
    path = tmp_path / "job.terrace"
    shutil.copy(profile, path)
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE cell SET read_lines = 0, write_lines = 0, exposure = 0, samples = 0 WHERE iteration IN "
            "(SELECT iteration.id FROM iteration JOIN run ON run.id = run WHERE rank = ?)",
            (idle,),
        )
    both = json.loads(terrace("plan", path, "--all-ranks", "--fast", str(LIMIT), "--json").stdout)["ranks"]
    busy = 1 - idle
    alone = json.loads(terrace("plan", path, "--rank", str(busy), "--fast", str(LIMIT), "--json").stdout)
    assert both[idle]["fast_bytes"] == 0
    assert both[busy]["fast_bytes"] > LIMIT // 2
    assert both[busy]["predicted_s"] == pytest.approx(alone["predicted_s"], rel=1e-6)


def test_plans_of_ranks_that_a_smaller_job_has_not_are_removed(profile, terrace, tmp_path):
    folder = tmp_path / "plans"
    assert terrace("plan", profile, "--all-ranks", "-o", folder).returncode == 0
    shutil.copy(folder / "rank-0.toml", folder / "rank-7.toml")
    (folder / "notes.txt").write_text("mine")
    assert terrace("plan", profile, "--all-ranks", "-o", folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "rank-0.toml", "rank-1.toml"]


def test_foreign_file_of_that_name_is_not_overwritten(profile, terrace, tmp_path):
    (tmp_path / "rank-0.toml").write_text("mine = 1\n")
    done = terrace("plan", profile, "--all-ranks", "-o", tmp_path)
    assert done.returncode != 0
    assert (tmp_path / "rank-0.toml").read_text() == "mine = 1\n"
    assert "rank-0.toml" in done.stderr


def test_profile_without_ranks_is_refused(store_path, terrace):
    done = terrace("plan", store_path, "--all-ranks")
    assert done.returncode == 2
    assert "has no ranks" in done.stderr


def test_option_that_all_ranks_ignores_is_refused(profile, terrace):
    done = terrace("plan", profile, "--all-ranks", "--rank", "1")
    assert done.returncode == 2
    assert "--all-ranks takes" in done.stderr
