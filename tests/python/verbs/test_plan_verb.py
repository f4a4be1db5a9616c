"""`terrace plan` and `terrace bounds`: predictions are ordered, and plans respect their budget."""

import json
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, run
from terrace import _core, units
from terrace.output import console
from terrace.report.plan_sweep import parse_sweep
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.verbs.plan import print_moves

MIB = 1 << 20
PREFIX = Path(sys.executable).parent.parent


def plan(terrace, store_path, *words):
    done = terrace("plan", store_path, *words, "--confidence", "0", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_plan_lies_between_its_bounds(terrace, store_path):
    document = plan(terrace, store_path, "--fast", "24MiB")
    assert document["predicted_s"] < document["slow_only_s"]
    assert document["lower_bound_s"] <= document["predicted_s"] * (1 + 1e-9)


def test_plan_keeps_its_budget(terrace, store_path):
    for fast in (1, 8, 24):
        document = plan(terrace, store_path, "--fast", f"{fast}MiB")
        held = sum(
            item["size"] * count / item["chunks"]
            for item in document["objects"]
            for _, count, place in item["parts"]
            if place == "dram"
        )
        assert held <= fast * MIB


def test_budget_has_one_form_everywhere(terrace, store_path, tmp_path):
    target = tmp_path / "plan.toml"
    document = plan(terrace, store_path, "--budget", "dram=1000000", "-o", target)
    assert document["budget"] == ["dram=1MB"]
    assert 'budget = ["dram=1MB"]' in target.read_text()
    assert "dram=1MB" in terrace("plan", store_path, "--budget", "dram=1MB", "--confidence", "0").stdout
    assert ", dram=1MB; seconds" in terrace("bounds", store_path, "--budget", "dram=1000000").stdout


@pytest.mark.parametrize("more", [(), ("--confidence", "0"), ("--sweep", "fast=1MiB:8MiB")])
def test_machine_with_one_kind_of_memory_is_refused_at_once(terrace, store_path, more):
    """There is nothing to plan."""
    done = terrace("plan", store_path, "--machine", "ddr5-nvme", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "terrace: ddr5-nvme has one kind of memory: there is nothing to plan; give a --machine with more\n"
    )


def test_draws_of_a_problem_without_choice_end(store_path):
    """Items without alternatives are skipped, because such work would be unaccounted."""
    store = Store(store_path)
    model = Model(store, store.run(), "ddr5-nvme")
    sure = model.sure_plan(model.problem(), "auto", 20)
    assert sure.regrets == [0.0] * 20


def test_plan_file_reads_back(terrace, store_path, tmp_path):
    target = tmp_path / "plan.toml"
    assert terrace("plan", store_path, "--fast", "24MiB", "--confidence", "0", "-o", target).returncode == 0
    document = plan(terrace, store_path, "--fast", "24MiB")
    read = _core.Plan.read(str(target))
    assert read.predicted == pytest.approx(document["predicted_s"])
    assert {item["name"] for item in read.objects if item["parts"]} == {
        item["name"] for item in document["objects"] if item["parts"]
    }


def obeying(terrace, profile, target, *words):
    """Returns the command in the last line, as words."""
    done = terrace("plan", profile, "--confidence", "0", "-o", target, *words)
    assert done.returncode == 0, done.stderr
    return shlex.split(done.stdout.splitlines()[-1])


def test_last_line_is_a_command_that_follows_the_plan(terrace, tmp_path):
    """For a profile in virtual time, on its own machine and on another."""
    (tmp_path / "app.c").write_text((ROOT / "tests/python/pages/app.c").read_text())
    program, profile = tmp_path / "app", tmp_path / "app.terrace"
    subprocess.run([PREFIX / "bin/terrace-cc", "-O2", "app.c", "-o", program], cwd=tmp_path, check=True)
    assert run("-q", "-m", "unimem-bw2", "-o", profile, "--", program, "48", verb="record").returncode == 0
    for machine in ("unimem-bw2", "unimem-lat4"):
        words = obeying(terrace, profile, tmp_path / "p.toml", *(("-m", machine) if "lat" in machine else ()))
        assert words[:2] == ["terrace", "simulate"]
        assert words[2:] == ["--machine", machine, "--plan", str(tmp_path / "p.toml"), "--", str(program), "48"]
        done = run(*words[2:], verb="simulate", cwd=tmp_path)
        assert done.returncode == 0 and "each (plan)" in done.stderr, done.stderr


def test_real_plan_is_followed_by_a_real_run(terrace, store_path, tmp_path):
    path, target = tmp_path / "real.terrace", tmp_path / "p.toml"
    path.write_bytes(store_path.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE run SET backend = 'real'")
    words = obeying(terrace, path, target, "--machine", "unimem-lat4")
    assert words[:6] == ["terrace", "run", "--machine", "unimem-lat4", "--plan", str(target)]
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE machine SET name = 'this-machine'")
    assert obeying(terrace, path, target)[:3] == ["terrace", "run", "--plan"]


@pytest.mark.parametrize(("objects", "lines"), [(1, 20), (2, 4), (10, 20), (30, 20)])
def test_moves_are_aggregated_to_twenty_rows(capsys, objects, lines):
    each = 10
    moves = [
        {
            "object": f"o{number}",
            "bytes": MIB,
            "to": to,
            "ask": 0,
            "need": 1,
            "awaited": True,
            "benefit": 1e-3,
            "cost": 1e-4,
        }
        for number in range(objects)
        for to in ("dram", "nvm")
        for _ in range(each)
    ]
    print_moves(console(), SimpleNamespace(moves=moves, phases=["a", "b"], segments=["a", "b"]))
    head, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert head.startswith(f"{len(moves)} moves of {units.size(len(moves) * MIB)} in every iteration")
    if len(moves) > 20:
        assert "--json" in rows.pop()
        # The fourth column from the right says how many moves.
        assert sum(int(row.split()[-4]) for row in rows) == len(moves)
    assert len(rows) == lines


def test_more_fast_memory_never_raises_the_bound(terrace, store_path):
    document = plan(terrace, store_path, "--sweep", "fast=1MiB:64MiB")
    points = document["points"]
    assert points[0]["bytes"] == MIB
    assert points[-1]["bytes"] == 64 * MIB
    bounds = [point["lower_bound_s"] for point in points]
    assert bounds == sorted(bounds, reverse=True)
    assert all(point["lower_bound_s"] <= point["predicted_s"] * (1 + 1e-9) for point in points)


def test_sweep_has_its_ends_and_round_sizes():
    kind, sizes = parse_sweep("hbm=5MiB:20MiB")
    assert kind == "hbm"
    assert [size // MIB for size in sizes] == [5, 6, 8, 12, 16, 20]


def test_bounds_are_ordered(terrace, store_path):
    done = terrace("bounds", store_path, "--fast", "24MiB", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    slack = 1 + 1e-6
    assert document["source"] == "predicted from exact counters"
    assert document["lower_bound_s"] <= document["managed_s"] * slack
    assert document["managed_s"] <= document["slow_only_s"] * slack
    alone = [phase["lower_bound_s"] for phase in document["phases"]]
    assert sum(alone) <= document["lower_bound_s"] * slack
    # fast-only knows no budget, so it may be under a phase's bound.
    for phase in document["phases"]:
        assert phase["lower_bound_s"] <= min(phase["managed_s"], phase["slow_only_s"]) * slack


@pytest.fixture
def blind(store_path, tmp_path):
    """Returns the synthetic job without any observed use of its data."""
    path = tmp_path / "blind.terrace"
    path.write_bytes(Path(store_path).read_bytes())
    with sqlite3.connect(path) as store:
        store.execute("DELETE FROM cell")
        store.execute("DELETE FROM iteration WHERE exact")
    return path


def test_unobserved_use_is_not_planned_for(terrace, blind):
    """Missing observations do not imply that placement costs nothing."""
    for verb in ("plan", "bounds"):
        said = " ".join(terrace(verb, blind).stdout.split())
        assert "no access to the program's objects was observed in the main loop" in said
        assert "No placement can gain" not in said
        assert "Sampling error" not in said


def test_data_within_the_last_cache_gain_nothing(terrace, blind, tmp_path):
    """The synthetic job has 92 MiB of data, and its machine a last cache of 2 MiB, here of 128 MiB."""
    file = tmp_path / "synthetic.toml"
    with sqlite3.connect(blind) as store:
        (blob,) = store.execute("SELECT blob FROM machine").fetchone()
        file.write_text(_core.Machine.from_bytes(blob).to_toml().replace('size = "2MiB"', 'size = "128MiB"'))
        store.execute("UPDATE machine SET blob = ?", (_core.Machine.read(str(file)).to_bytes(),))
    for verb in ("plan", "bounds"):
        said = " ".join(terrace(verb, blind).stdout.split())
        assert "all 92MiB of its data fit into the last cache of synthetic (l3, 128MiB), so no placement" in said
        assert "use a larger input, or a smaller cache: --cache l3=SIZE" in said
        assert "no access to the program's objects was observed" not in said


def test_plan_that_places_nothing_names_no_command(terrace, store_path, blind, tmp_path):
    file = tmp_path / "plan.toml"
    said = terrace("plan", blind, "-o", file).stdout
    assert f"written to {file}; this plan keeps every object in its default place" in said
    assert "--plan" not in said
    said = terrace("plan", store_path, "--fast", "24MiB", "--confidence", "0", "-o", file).stdout
    assert f"written to {file}; run with this plan:" in said


def test_slow_only_equals_the_measurement(terrace, store_path):
    # The synthetic job was profiled with everything in slow memory, and its times follow the time law.
    done = terrace("bounds", store_path, "--json")
    document = json.loads(done.stdout)
    assert document["slow_only_s"] == pytest.approx(0.02329364352, rel=1e-9)
