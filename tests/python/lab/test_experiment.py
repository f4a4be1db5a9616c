"""Experiments in their small setting: compared with single replays, killed, and split into shards."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from conftest import charts_of
from terrace import _core
from terrace.lab.experiment import metrics, published, unimem
from terrace.lab.experiment.cells import Answers
from terrace.lab.experiment.setting import baselines, read_setting
from terrace.lab.study import check_follows_plan, outcome

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[3]
TABLES = ("averages", "slowdowns", "managed", "baselines", "gap_parts", "techniques", "switched_off", "moves")


def command(name, folder, *words):
    """Returns the command line of an experiment."""
    here = [sys.executable, "-P", "-m", "terrace", "lab", "experiment", name, "--small"]
    return [*here, "--source", str(ROOT), "-o", str(folder), "-j", "2", *map(str, words)]


def run(name, folder, *words):
    return subprocess.run(command(name, folder, *words), capture_output=True, text=True, timeout=900)


def rows(folder, table):
    with (folder / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def evaluated(tmp_path_factory, *words):
    """Runs Unimem's evaluation in its small setting."""
    folder = tmp_path_factory.mktemp("experiment") / "unimem"
    done = run("unimem", folder, *words)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def mg_alone(tmp_path_factory):
    """Runs the evaluation of MG, whose main loop has the fewest iterations."""
    return evaluated(tmp_path_factory, "--only", "mg")


# `make test` has MG alone; `make soak` all programs of the small setting.
@pytest.fixture(scope="module", params=["mg", pytest.param("all", marks=pytest.mark.soak)])
def small(request, tmp_path_factory):
    """Returns the folder of an evaluation: of MG, or of all programs of the small setting."""
    return request.getfixturevalue("mg_alone") if request.param == "mg" else evaluated(tmp_path_factory)


def has_sp(folder):
    """Returns whether SP was evaluated."""
    return (folder / "cells" / "sp").is_dir()


@pytest.fixture
def begun(mg_alone, tmp_path):
    """Returns a folder with programs, recordings and profiles, in which every seventh cell of MG is unanswered.
    The unanswered cells cover many methods, on both machines.
    """
    for name in ("bin", "recordings", "profiles", "cells", "settings.json"):
        (shutil.copytree if (mg_alone / name).is_dir() else shutil.copy)(mg_alone / name, tmp_path / name)
    for cell in unanswered():
        Answers(tmp_path).path(cell).unlink()
    return tmp_path


def cells_of_mg():
    return unimem.cells(read_setting("unimem", ROOT, "mg", "S", small=True))


def unanswered():
    """Returns the cells that `begun` leaves unanswered."""
    return cells_of_mg()[::7]


def answered(folder):
    """Returns the files of MG's cells, by path."""
    return {path: path.read_bytes() for path in folder.glob("cells/mg/**/[!.]*.json")}


@pytest.fixture(scope="module")
def mg(mg_alone):
    """Returns the tables of MG from a single run."""
    return {table: (mg_alone / f"{table}.csv").read_text() for table in TABLES}


@pytest.mark.soak
def test_only_option_gives_the_programs_own_tables(small, mg, tmp_path):
    for name in ("bin", "recordings", "profiles", "cells", "settings.json"):
        (shutil.copytree if (small / name).is_dir() else shutil.copy)(small / name, tmp_path / name)
    done = run("unimem", tmp_path, "--only", "mg")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 cells answered")
    assert {table: (tmp_path / f"{table}.csv").read_text() for table in TABLES} == mg


def test_report_has_every_table_picture_and_page(small):
    for table in (*TABLES, *(["sp_arrays"] if has_sp(small) else [])):
        document = json.loads((small / f"{table}.json").read_text())
        assert document["schema"] == 3
        assert len(document["rows"]) == len(rows(small, table)) > 0
    page = (small / "report.html").read_text()
    pictures = ("figure-2", "figure-3", "figure-9", "figure-10", "figure-11", "table-4")
    for picture in (*pictures, *(["figure-4"] if has_sp(small) else [])):
        assert charts_of(page)[picture]["data"]
    assert "Figure 9: half the bandwidth" in page
    assert not (small / "scratch").exists()


def test_tables_equal_single_replays(small, tmp_path):
    for row in rows(small, "managed"):
        name, machine = row["workload"], row["machine"]
        facts = json.loads((small / "recordings" / f"{name}.unimem-bw2.json").read_text())

        def replayed(*words, facts=facts, name=name, machine=machine):
            store = tmp_path / "store.terrace"
            store.unlink(missing_ok=True)
            misses = small / "recordings" / f"{name}.unimem-bw2.misses"
            call = [BIN / "terrace", "replay", misses, "-q", "-m", machine, *facts["options"], *words, "-o", store]
            subprocess.run(call, check=True)
            return outcome(store)

        plan = tmp_path / f"{name}.{machine}.toml"
        profile = small / "profiles" / f"{name}.{machine}.terrace"
        fast = ["--fast", row["fast_bytes"]]
        subprocess.run(
            [BIN / "terrace", "plan", profile, *fast, "-o", plan], check=True, stdout=subprocess.DEVNULL
        )
        live = replayed(*fast)
        assert float(row["live_s"]) == live.loop
        assert float(row["slow_only_s"]) == replayed("--planner", "slow-only").loop
        best = replayed("--planner", "fast-only")
        assert float(row["fast_only_s"]) == best.loop
        # The later half of both, iteration by iteration.
        half = {"mg": 15, "sp": 200}[name]
        slower = sum(live.iterations[half:]) / sum(best.iterations[half:]) - 1
        assert float(row["steady_gap"]) == pytest.approx(slower, abs=1e-12)
        planned = replayed("--plan", plan)
        check_follows_plan(planned.store)
        assert float(row["planned_s"]) == planned.loop
        assert int(row["iterations"]) == {"mg": 30, "sp": 400}[name]


@pytest.mark.parametrize(
    ("method", "what", "said"),
    [
        ("planned-auto", "loop_s", "mg on unimem-bw2, 256MB, planned auto"),
        ("live-auto", "steady_s", "mg on unimem-bw2, 256MB, live auto, steady"),
        ("planned-soar", "loop_s", "mg on unimem-bw2, 256MB, planned soar"),
    ],
)
def test_table_beating_the_bound_is_refused(mg_alone, tmp_path, method, what, said):
    for name in ("bin", "recordings", "profiles", "cells", "settings.json"):
        (shutil.copytree if (mg_alone / name).is_dir() else shutil.copy)(mg_alone / name, tmp_path / name)
    of = tmp_path / "cells" / "mg" / "unimem-bw2" / "256MB"
    bound = json.loads((of / "bound.json").read_text())[what]
    cell = json.loads((of / f"{method}.json").read_text())
    (of / f"{method}.json").write_text(json.dumps({**cell, what: bound * (1 - 1e-6)}))
    done = run("unimem", tmp_path, "--only", "mg")
    assert done.returncode == 1
    assert f"{said}: " in done.stderr
    assert "beats the proven bound" in done.stderr


def test_no_answer_beats_the_bound(small):
    for row in rows(small, "managed"):
        bound = float(row["bound_s"])
        assert bound > 0
        assert all(float(row[f"{column}_s"]) >= bound for column in ("slow_only", "live", "planned", "oracle"))
        placed = [
            r
            for r in rows(small, "baselines")
            if (r["workload"], r["machine"]) == (row["workload"], row["machine"])
        ]
        assert {r["baseline"] for r in placed} == set(baselines())
        # A hardware cache of lines is another machine.
        assert all(float(r["loop_s"]) >= bound for r in placed if r["baseline"] != "cache-mode")


def test_free_moves_cost_nothing(small):
    for row in rows(small, "moves"):
        # A copy cuts a quantum in two, whose times are rounded apart. What is learned in a live run depends on
        # when data arrived: its plan is another one.
        if row["how"] == "planned":
            assert float(row["free_moves_s"]) <= float(row["loop_s"]) * (1 + 1e-12)
        # A copy goes as fast as its source is read and its target is written, to and fro.
        machine = tomllib.loads((ROOT / "machines" / f"{row['machine']}.toml").read_text())
        fast, slow = (
            {way: 1e9 * float(path[way].removesuffix("GB/s")) for way in ("read", "write")}
            for path in machine["path"]
        )
        rates = min(fast["read"], slow["write"]), min(slow["read"], fast["write"])
        moved, copying = float(row["moved_bytes"]), float(row["copying_s"])
        # At a real price moves take more than that, and no more than with a call for each chunk of 16 KiB, the
        # least that large objects are cut into, and for each move, of pages of 4 KiB.
        price = machine["copier"][0]
        call, page = (
            float(time.removesuffix("us")) * 1e-6 for time in (price["call"], price["pages"][0]["remap"])
        )
        calls = moved / 16384 + float(row["moves"])
        assert copying > moved / max(rates) or moved == 0
        assert copying <= moved / min(rates) + calls * (call + page) + moved / 4096 * page


def test_tables_contain_published_numbers(small):
    averages = {row["machine"]: row for row in rows(small, "averages")}
    assert float(averages["unimem-bw2"]["published_gap"]) == pytest.approx(0.03)
    assert float(averages["unimem-lat4"]["published_slow_only_gap"]) == pytest.approx(0.47)
    assert published.MOVES["mg"][0] == 1
    if has_sp(small):
        alone = {(row["in_fast_memory"], row["machine"]): row for row in rows(small, "sp_arrays")}
        assert alone["lhs", "unimem-lat4"]["published"] == "1.71"
        assert float(alone["none", "unimem-bw2"]["gained_share"]) == 0


def test_killed_run_resumes(begun, mg):
    before = len(answered(begun))
    killed = subprocess.Popen(
        command("unimem", begun, "--only", "mg", "-j", "1"), stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while len(answered(begun)) < before + 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    there = answered(begun)
    all_of_them = len(cells_of_mg())
    assert before + len(unanswered()) == all_of_them
    assert before + 3 <= len(there) < all_of_them
    again = run("unimem", begun, "--only", "mg")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith(f"{all_of_them - len(there)} cells answered now, {len(there)} before")
    assert all(path.read_bytes() == content for path, content in there.items())
    assert {table: (begun / f"{table}.csv").read_text() for table in TABLES} == mg


def test_run_after_time_limit_resumes(begun, mg):
    none = run("unimem", begun, "--only", "mg", "--stop-after", "0")
    assert none.returncode == 3
    assert none.stdout.startswith(f"0 cells answered now, {len(answered(begun))} before")
    some = run("unimem", begun, "--only", "mg", "--stop-after", "0.02")  # somewhere in the middle
    assert (begun / "managed.csv").exists() == (some.returncode == 0)
    there = answered(begun)
    again = run("unimem", begun, "--only", "mg")
    assert again.returncode == 0, again.stderr
    assert f"{len(there)} before" in again.stdout
    assert all(path.read_bytes() == content for path, content in there.items())
    assert {table: (begun / f"{table}.csv").read_text() for table in TABLES} == mg


def test_shards_combine_to_the_whole(begun, mg):
    by_shard = []
    for shard in ("1/2", "2/2"):
        done = run("unimem", begun, "--only", "mg", "--shard", shard)
        assert done.returncode == 0, done.stderr
        by_shard.append(int(done.stdout.split()[0]))
        assert not (begun / "managed.csv").exists()
    assert min(by_shard) > 0
    assert sum(by_shard) == len(unanswered())
    gathered = run("unimem", begun, "--only", "mg")
    assert gathered.returncode == 0, gathered.stderr
    assert gathered.stdout.startswith("0 cells answered")
    assert {table: (begun / f"{table}.csv").read_text() for table in TABLES} == mg


@pytest.mark.soak
def test_two_level_tables_equal_cells(tmp_path):
    done = run("two-level", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "two"
    for row in rows(folder, "stream"):
        # STREAM does not count the lines that its stores fetch: 2 of 3 count, or 3 of 4. The machine file's
        # bandwidths are the published triad's on the dual socket, whose ratio is placement's to win.
        if row["machine"] == "two-level-sandy-bridge":
            counted = 2 / 3 if row["kernel"] in ("copy", "scale") else 3 / 4
            assert float(row["slow_rate"]) == pytest.approx(counted * 12.23, rel=2e-2)
            assert float(row["ratio"]) == pytest.approx(31.76 / 12.23, rel=2e-3)
    for row in rows(folder, "metrics"):
        assert float(row["loop_s"]) >= float(row["bound_s"]) > 0
    names = {row["chosen_by"] for row in rows(folder, "metrics")}
    assert names == {*metrics.METRICS, "the planner"}
    assert {row["placement"] for row in rows(folder, "overall")} >= {"all in slow", "all in fast", "cache mode"}
    drawn = charts_of((folder / "report.html").read_text())["figure-1"]["data"]
    ours = {(row["machine"], row["placement"]): float(row["speedup"]) for row in rows(folder, "overall")}
    for machine, name in (("two-level-sandy-bridge", "Dual socket"), ("knl-7210-flat", "Knights Landing")):
        bars = next(trace for trace in drawn if trace["name"] == f"{name}, ours")
        assert dict(zip(bars["x"], bars["y"], strict=True)) == {p: s for (m, p), s in ours.items() if m == machine}


def test_baselines_tables_equal_cells(mg_alone, tmp_path):
    """Each number against the cells, and that nothing beats the bound."""
    folder = tmp_path / "baselines"
    for name in ("bin", "recordings", "profiles"):
        shutil.copytree(mg_alone / name, folder / name)
    done = run("baselines", folder)
    assert done.returncode == 0, done.stderr
    found = rows(folder, "relative")
    of_policies = [row["strategy"] for row in found if row["how"] == "live" and row["machine"] == "unimem-bw2"]
    assert {*_core.policies(), "auto", "unimem"} <= set(of_policies)

    def cell(machine, size, method):
        return json.loads((folder / "cells" / "mg" / machine / size / f"{method}.json").read_text())["loop_s"]

    for row in found:
        for size in ("1/4", "1/2"):
            below = f"{size[0]}-of-{size[2]}"
            where = below if row["how"] else "any"
            method = f"{row['how']}-{row['strategy']}" if row["how"] else row["strategy"]
            seconds, fast = cell(row["machine"], where, method), cell(row["machine"], "any", "fast-only")
            assert float(row[f"mg {size}"]) == seconds / fast
            if row["strategy"] != "cache-mode":
                assert seconds >= cell(row["machine"], below, "bound")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "cg,nothing"], "unknown program 'nothing'"),
        (["--shard", "3/2"], "--shard 3/2 is not NUMBER/COUNT; give for example 2/8"),
        (["--source", "/nowhere"], "/nowhere/workloads: no subfolder has a workload.toml"),
    ],
)
def test_wrong_calls_state_the_error(tmp_path, words, said):
    done = run("unimem", tmp_path / "x", *words)
    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_folder_holds_a_single_experiment(tmp_path):
    (tmp_path / "settings.json").write_text('{"schema": 1, "experiment": "two-level", "class": "A"}')
    done = run("unimem", tmp_path)
    assert done.returncode == 2
    assert "has answers with other settings: two-level in class A (schema 1): name another folder" in done.stderr


def test_gap_parts_equal_other_tables(small):
    """Computes each part from the columns after which it is named: the sum is the gap by construction."""
    managed = {
        (row["workload"], row["machine"]): {name: _seconds(row, name) for name in row if name.endswith("_s")}
        for row in rows(small, "managed")
        if row["fast_memory"] == unimem.STUDY
    }
    free = {
        (row["workload"], row["machine"]): float(row["free_moves_s"])
        for row in rows(small, "moves")
        if row["how"] == "planned"
    }
    parts = rows(small, "gap_parts")
    assert len(parts) == len(managed) == len(free) == (4 if has_sp(small) else 2)
    for row in parts:
        key = row["workload"], row["machine"]
        of, without = managed[key], free[key]
        by_hand = {
            "learning": of["live_s"] - of["planned_s"],
            "sampling": of["planned_s"] - of["oracle_s"],
            "moves": of["planned_s"] - without,
            "search": of["oracle_s"] - of["planned_s"] + without - of["bound_s"],
            "bound": of["bound_s"] - of["fast_only_s"],
        }
        for name, seconds in by_hand.items():
            assert float(row[name]) == pytest.approx(seconds / of["fast_only_s"], abs=1e-12), (key, name)
        assert float(row["moves"]) >= -1e-12, "moves that cost nothing make no run slower"


def _seconds(row, column):
    return float(row[column])


def test_baselines_compared_by_mode(small):
    ours = {
        (row["workload"], row["machine"]): row
        for row in rows(small, "managed")
        if row["fast_memory"] == unimem.STUDY
    }
    compared = rows(small, "baselines")
    assert {row["how"] for row in compared} == {"live", "planned"}
    for row in compared:
        beside = ours[row["workload"], row["machine"]][f"{row['how']}_s"]
        assert float(row["over_ours_gap"]) == float(row["loop_s"]) / float(beside) - 1
