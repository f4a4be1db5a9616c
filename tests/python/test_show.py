"""`terrace show`: shares are shares, and sensitivity is Unimem's."""

import json
from dataclasses import replace

import pytest
from terrace import model
from terrace.seen import what_was_seen
from terrace.store import Store
from terrace.summary import by_name


@pytest.fixture(scope="module")
def document(terrace, store_path):
    return json.loads(terrace("show", store_path, "--json").stdout)


def test_shares_sum_to_one(document):
    assert sum(item["share_of_misses"] for item in document["objects"]) == pytest.approx(1)


def test_objects_are_ordered_by_traffic(document):
    traffic = [sum(phase["bytes"] for phase in item["phases"]) for item in document["objects"]]
    assert traffic == sorted(traffic, reverse=True)
    assert document["objects"][0]["name"] == "u"


def test_phases_have_all_that_ran(document):
    assert [phase["name"] for phase in document["phases"]] == ["smooth", "residual", "restrict", "exchange"]
    assert all(phase["runs"] == 6 and len(phase["iterations_s"]) == 6 for phase in document["phases"])
    assert document["unseen_share"] == pytest.approx(1.8 / 91.8)


def test_what_was_not_seen_is_said_and_only_then(terrace, store_path):
    run, counters = Store(store_path).run(), Store(store_path).counters(Store(store_path).run())
    said = " ".join(what_was_seen(run, counters))
    assert "90M accesses were seen" in said
    assert "1.8M more, 2.0 % of all, were not seen" in said
    assert "belongs to no object" not in said
    assert "1.8M more" in " ".join(terrace("show", store_path).stdout.split())

    everything = what_was_seen(run, replace(counters, unseen=0))
    assert len(everything) == 1
    assert "90M accesses were seen" in everything[0]
    assert "900k of those seen, 1.0 %," in what_was_seen(run, replace(counters, unseen=0, dropped=900_000))[1]

    assert "killed" in what_was_seen(replace(run, how=None), None)[0]
    assert "a real run does not count" in what_was_seen(run, None)[0]


def test_streams_are_bandwidth_sensitive_and_chases_latency_sensitive(store_path):
    store = Store(store_path)
    run = store.run()
    profile = by_name(store.profile(run))
    found = model.sensitivities(store, run, profile)
    names = [item.name for item in profile.objects]
    # In "smooth" `u` moves 36 of 50 MiB; `index` is a pointer chase in "restrict".
    assert found[names.index("u")][0] == "bandwidth"
    assert found[names.index("index")][2] == "latency"
    assert found[names.index("index")][0] == ""


def test_a_killed_process_can_be_shown(terrace, store_path):
    done = terrace("show", store_path, "--process", 4002)
    assert done.returncode == 0, done.stderr
    assert "killed before it could say" in done.stdout
    assert "did not end by itself" in done.stdout
