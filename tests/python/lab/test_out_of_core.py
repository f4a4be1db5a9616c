"""`terrace lab experiment out-of-core`, small setting: questions, report, resuming, refusals."""

import csv
import importlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from conftest import ROOT, charts_of
from terrace import _core
from terrace.lab.experiment import (
    out_of_core,
    out_of_core_knl,
    out_of_core_page,
    out_of_core_unified,
    provenance,
)
from terrace.lab.experiment.out_of_core import KNL, LINKS, PROGRAMS, Question
from terrace.lab.experiment.published import OUT_OF_CORE

GPU = LINKS["PCIe"]


def run(folder, *words):
    line = [sys.executable, "-P", "-m", "terrace", "lab", "experiment", "out-of-core"]
    line += ["-o", str(folder), "-j", "2", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out-of-core")
    done = run(folder, "--small")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def study(small):
    return out_of_core_page.open_study(small, list(PROGRAMS), True)


def rows(folder, table):
    with (folder / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_report_has_every_figure(small):
    page = (small / "report.html").read_text()
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert [title.partition(":")[0] for title in titles] == [
        "Comparison with the published values",
        *(f"Figure {number}" for number in (3, 4, 5, 6, 7, 7, 7, 8, 9, 10, 11, 11, 11)),
        "Beyond the paper",
    ]
    charts = charts_of(page)
    assert set(charts) == {
        *(
            "figure-3",
            "figure-4",
            "figure-5",
            "figure-6",
            "figure-8",
            "figure-9",
            "beyond-knl",
            "beyond-pcie",
            "beyond-nvlink",
        ),
        *(f"figure-7-{name}" for name in PROGRAMS),
        *("figure-10-slots", "figure-10-streamed", "figure-11-cloverleaf2d", "figure-11-cloverleaf3d"),
        *("figure-11-taylor_green-chain-3", "figure-11-taylor_green-chain-5"),
    }
    for name in [*(name for name in charts if not name.startswith("beyond")), "beyond", "published"]:
        assert len(json.loads((small / f"{name}.json").read_text())["rows"]) == len(rows(small, name)) > 1


def test_pictures_are_readable(small):
    found = charts_of((small / "report.html").read_text())
    for name, chart in found.items():
        layout = chart["layout"]
        assert layout["xaxis"]["automargin"], name
        assert layout["yaxis"]["title"]["text"].endswith(("GB/s", "%")), name
        assert layout["yaxis"]["rangemode"] == "tozero", name
        for trace in chart["data"]:
            assert "_" not in trace["name"], name
            assert any(value is not None for value in trace["y"]), (name, trace["name"])
        if name.startswith("beyond"):
            continue
        assert layout["xaxis"]["title"]["text"] == "data, GB"
        # Sizes as they are, to a decimal.
        sizes = [f"{float(row['data, GB']):.1f}" for row in rows(small, name)]
        assert all(trace["x"] == sizes for trace in chart["data"]), name
    traces = {trace["name"]: trace for trace in found["figure-3"]["data"]}
    assert traces["published cache, untiled"]["y"] == [None, 86]
    assert traces["published cache, untiled"]["marker"]["symbol"] == "diamond-open"
    for name in ("flat DDR4", "cache, untiled", "cache, tiled"):
        assert traces[f"published {name}"]["marker"]["color"] == traces[name]["line"]["color"]
    levels = [note["text"] for note in found["figure-7-cloverleaf2d"]["layout"]["annotations"]]
    assert levels == ["published, NVLink", "published, PCIe"]
    heights = [line["y0"] for line in found["figure-7-cloverleaf2d"]["layout"]["shapes"]]
    assert heights == pytest.approx([0.84 * 470, 0.48 * 470])


def test_tables_contain_published_numbers(small, study):
    by_what = {(row["program"], row["what"]): row for row in rows(small, "published")}
    for program, said in OUT_OF_CORE.items():
        title = PROGRAMS[program].title

        def of(what, title=title):
            row = by_what[title, what]
            return float(row["ours"]), float(row["published"])

        assert of("flat MCDRAM (an input)") == pytest.approx((PROGRAMS[program].knl,) * 2)
        # DDR4 by STREAM, 60.8 GB/s.
        assert of("flat DDR4") == pytest.approx((min(PROGRAMS[program].knl, 60.8), said.ddr4))
        ways = out_of_core_knl.cached(program)
        untiled, tiled = (study.rate(ways[name](48)) for name in ("cache, untiled", "cache, tiled"))
        assert of("cache, untiled, 48 GB") == pytest.approx((untiled, said.untiled))
        assert of("cache, 48 GB, tiled over untiled") == pytest.approx((tiled / untiled, said.tiled_gain))
        lost = 1 - tiled / study.rate(ways["cache, tiled"](6))
        assert of("cache, tiled, loss of 48 GB over 6 GB") == pytest.approx((lost, said.tiled_loss))
        base, slots = (
            study.rate(Question(program, GPU, *of_size)) for of_size in ((6, "flat-fast"), (48, "slots"))
        )
        assert of("slots, PCIe, 48 GB, of the baseline") == pytest.approx((slots / base, said.pcie))
        assert of("baseline, PCIe (an input)") == pytest.approx((base, PROGRAMS[program].gpu))
        # Data that fit are there after the first steps.
        assert of("untiled, PCIe, 6 GB, of the baseline") == pytest.approx((1, 1), abs=1e-3)
    # The text's order of the two is the other way round; its 4.8 and 4 times DDR4's 50 GB/s are not.
    assert (PROGRAMS["cloverleaf2d"].knl, PROGRAMS["cloverleaf3d"].knl) == (4.8 * 50, 4 * 50)


def test_tables_equal_answers(small, study):
    def rate(*words, whole=False, **how):
        one, two = (study.get(Question(*words, runs=runs, **how)) for runs in (1, 2))
        seconds, accesses = one["seconds"], one["accesses"]
        if not whole:
            seconds, accesses = two["seconds"] - seconds, two["accesses"] - accesses
        return pytest.approx(accesses / seconds / 1e9)

    for at, size in enumerate((6, 48)):
        knl = rows(small, "figure-5")[at]
        assert float(knl["cache, untiled"]) == rate("cloverleaf3d", KNL, size, "cache", tiled=False)
        assert float(knl["flat DDR4"]) == rate("cloverleaf3d", KNL, size, "flat-slow", tiled=False)
        hits = rows(small, "figure-4")[at]
        tiled, more = (study.get(Question("cloverleaf2d", KNL, size, "cache", runs=runs)) for runs in (1, 2))
        assert float(hits["cache, tiled"]) == pytest.approx(
            (more["hits"] - tiled["hits"]) / (more["accesses"] - tiled["accesses"])
        )
        assert float(hits["data, GB"]) == pytest.approx(tiled["dataset_bytes"] / 1e9)
        brought = rows(small, "figure-8")[at]
        unaided = {"cyclic": False, "prefetched": False}
        assert float(brought["PCIe, no prefetch, not cyclic"]) == rate(
            "cloverleaf2d", GPU, size, "slots", **unaided
        )
        assert float(brought["PCIe, streamed"]) == rate("cloverleaf2d", GPU, size, "streamed")
        chains = rows(small, "figure-10-slots")[at]
        assert float(chains["NVLink, 1 step"]) == rate("taylor_green", LINKS["NVLink"], size, "slots", chain=1)
        assert float(chains["NVLink, 3 steps"]) == rate("taylor_green", LINKS["NVLink"], size, "slots")
        ways = {"tiled": False, "prefetched": False}
        unified = "taylor_green", GPU, size, "unified"
        long, whole = (rows(small, f"figure-11-taylor_green-chain-5{end}")[at] for end in ("", "-whole"))
        assert float(long["PCIe, untiled"]) == rate(*unified, chain=5, **ways)
        assert float(whole["PCIe, untiled"]) == rate(*unified, whole=True, chain=5, **ways)
    assert rows(small, "figure-3")[1]["flat MCDRAM"] == ""


def test_largest_size_equals_its_answers(small, study):
    found = {(row["program"], row["machine"], row["mode"]): row for row in rows(small, "beyond")}
    assert len(found) == (1 + 1 + 3) * 3 * 2 + 3
    question = Question("taylor_green", GPU, 48, "slots", chain=2)
    row = found["SBLI, 2 steps", "PCIe", "slots"]
    once, twice = study.get(question), study.get(replace(question, runs=2))
    base = study.rate(Question("taylor_green", GPU, 6, "flat-fast", chain=2))
    more = {count: twice[count] - once[count] for count in out_of_core.COUNTS}
    assert float(row["loss_share"]) == pytest.approx(1 - more["accesses"] / more["seconds"] / 1e9 / base)
    assert float(row["overlap"]) == pytest.approx(more["hidden_seconds"] / more["copy_seconds"])
    assert 0.5 < float(row["overlap"]) <= 1
    # On the KNL the loss is relative to the smallest problem in the same cache.
    cached = (study.rate(Question("cloverleaf2d", KNL, size, "cache")) for size in (48, 6))
    found_loss = float(found["CloverLeaf 2D", "KNL", "cache, tiled"]["loss_share"])
    assert found_loss == pytest.approx(1 - next(cached) / next(cached))
    assert float(row["GB in a step"]) == pytest.approx(more["bytes_in"] / 12 / 1e9)
    # A chain needs, of 29 datasets, the 5 conserved quantities, and the 5 of the time scheme's register.
    assert float(row["live data_share"]) == pytest.approx(10 / 29, abs=0.01)
    assert found["SBLI, 3 steps", "KNL", "cache, tiled"]["overlap"] == ""


def test_answers_obey_conservation_laws(study):
    for question in study.questions:
        found = study.get(question)
        assert found["loop_seconds"] <= found["seconds"] * (1 + 1e-9), question
        # Hidden copies run concurrently with loops.
        assert 0 <= found["hidden_seconds"] <= min(found["copy_seconds"], found["loop_seconds"]) * (1 + 1e-9), (
            question
        )
        if question.machine != KNL:  # there loops stand still for copies, which is hidden in nothing
            busy = found["copy_seconds"] + found["loop_seconds"] - found["hidden_seconds"]
            assert busy <= found["seconds"] * (1 + 1e-9), question
        # Loops access the same bytes under every executor.
        chain = question.chain or question.about.chain
        other = Question(question.program, KNL, question.size, "flat-slow", False)
        if chain == question.about.chain and question.runs == 1:
            assert found["accesses"] == pytest.approx(study.get(other)["accesses"]), question
        # On the KNL both ways share DDR4's 60.8 GB/s (machines/knl-7210-flat.toml).
        if question.machine == KNL:
            moved = found["bytes_in"] + found["bytes_out"]
            under_way = 16 * (1 << 21) if question.how == "streamed" else 0  # begun, not there
            assert (moved - under_way) / 60.8e9 <= found["seconds"] * (1 + 1e-9), question
        # Each way has no more than the link's bandwidth: 12 GB/s (machines/p100-pcie.toml).
        if question.machine == GPU and question.how == "slots":
            assert max(found["bytes_in"], found["bytes_out"]) / 12e9 <= found["seconds"] * (1 + 1e-9), question
            unaided = replace(question, cyclic=False, prefetched=False)
            if question.cyclic and question.prefetched and unaided in study.questions:
                plain = study.get(unaided)
                # Data fetched for a chain that did not come next: a first tile for each chain at the most.
                for_nothing = found["bytes_in"] - plain["bytes_in"]
                assert 0 <= for_nothing <= (found["chains"] - 1) * found["fast_bytes"] / 3
                assert plain["bytes_out"] > found["bytes_out"]
                assert plain["seconds"] > found["seconds"]


def test_report_names_chains_that_fit_no_tile(study):
    question = Question("taylor_green", GPU, 48, "unified", True, prefetched=False, chain=5)
    found = study.get(question)
    said = out_of_core_unified._without_room(study, "taylor_green")
    here = f"{found['untiled_chains']:.0f} of {found['chains']} at 48 GB"
    assert any(here in line for line in said) == (found["untiled_chains"] > 0)
    # A chain of 40 steps reaches beyond a quarter of the memory.
    long = out_of_core.price(replace(question, chain=40))
    assert long["untiled_chains"] == long["chains"] - 2  # its steps; the others begin and measure
    assert out_of_core.price(replace(question, chain=40, tiled=False))["untiled_chains"] == 0


def test_interrupted_run_resumes(small, study):
    removed = study.path(Question("taylor_green", GPU, 48, "streamed"))
    before = json.loads(removed.read_text())
    kept = {path: path.stat().st_mtime_ns for path in small.glob("answers/**/*.json") if path != removed}
    removed.unlink()
    done = run(small, "--small")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"1 runs answered now, {study.count() - 1} before")
    assert json.loads(removed.read_text()) == before
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_time_limit_reached_is_reported(tmp_path):
    done = run(tmp_path, "--small", "--stop-after", "0")
    assert done.returncode == 3
    assert "run the same command to resume" in done.stdout
    assert not (tmp_path / "report.html").exists()


def test_acceptance_takes_answers_of_this_commit_only(small, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "acceptance")
    harness = importlib.import_module("harness")
    lines = importlib.import_module("stencils_lines.virtual")
    monkeypatch.setattr(harness.SETTINGS, "study", small, raising=False)
    monkeypatch.setattr(lines, "is_small", lambda: False)
    # Changed, so that it cannot have been made anew.
    copy = tmp_path / "study"
    shutil.copytree(small, copy)
    for run_of in out_of_core.both_runs(Question("cloverleaf2d", GPU, 48, "slots")):
        path = out_of_core.Study(copy, [], [], []).path(run_of)
        found = json.loads(path.read_text())
        path.write_text(json.dumps(found | {"seconds": 4 * found["seconds"]}))
    kept = lines._kept("cloverleaf2d", GPU, "slots", 48)
    monkeypatch.setattr(harness.SETTINGS, "study", copy)
    assert lines._kept("cloverleaf2d", GPU, "slots", 48) == pytest.approx(kept / 4)
    assert "CloverLeaf 2D, p100-pcie: slots" in lines.published().text
    with pytest.raises(harness.Unavailable, match="has no answer"):
        lines.ten_times()  # the small study ends at 48 GB
    made_of = copy / "made.json"
    made_of.write_text(made_of.read_text().replace(provenance.version(), "0.0.9, commit 0123456789ab"))
    lines._study.cache_clear()
    with pytest.raises(harness.Unavailable, match="was made with another Terrace"):
        lines.published()
    monkeypatch.setattr(harness.SETTINGS, "study", tmp_path / "nothing")
    with pytest.raises(harness.Unavailable, match="has no study"):
        lines.published()
    assert not (tmp_path / "nothing").exists()


def test_folders_of_another_version_refused(tmp_path):
    words = ("--small", "--only", "taylor_green", "--stop-after", "0")
    assert run(tmp_path, *words).returncode == 3
    path = tmp_path / "made.json"
    kept = path.read_text()
    assert set(json.loads(kept)["machines"]) == set(out_of_core.MACHINES)
    for text, what in (
        (kept.replace(provenance.version(), "0.0.9, commit 0123456789ab"), "Terrace (0.0.9, commit 0123456789ab)"),
        (kept.replace(provenance.machine_hash(_core.Machine.read(KNL)), "0" * 12), KNL),
    ):
        path.write_text(text)
        done = run(tmp_path, *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"{tmp_path} was made with another {what}: name another folder with --output" in done.stderr


def test_unknown_program_is_refused(tmp_path):
    done = run(tmp_path, "--only", "cloverleaf")
    assert done.returncode == 2
    assert "--only cloverleaf: unknown program; known: cloverleaf2d, cloverleaf3d, taylor_green" in done.stderr


@pytest.mark.parametrize("ways", [("slots",), ("slots", "streamed")])
def test_acceptance_requires_published_mode_close_and_ours_no_slower(monkeypatch, ways):
    monkeypatch.syspath_prepend(ROOT / "acceptance")
    lines = importlib.import_module("stencils_lines.virtual")
    monkeypatch.setattr(lines, "is_small", lambda: False)

    def said(change):
        def kept(program, machine, how, size):
            wanted = lines._published(program, machine)
            return wanted + change if program == "cloverleaf2d" and machine == GPU and how in ways else wanted

        monkeypatch.setattr(lines, "_kept", kept)
        found = lines.published()
        return found.holds, found.text.splitlines()[0]

    ours = "CloverLeaf 2D on p100-pcie, streamed"
    theirs = "CloverLeaf 2D on p100-pcie, slots"
    assert said(0.0) == said(0.09) == (True, "short: none")
    assert said(0.11) == (False, f"short: {theirs}")  # better than published is not near it
    below = f"short: {ours}" if "streamed" in ways else "short: none"
    assert said(-0.09) == (below == "short: none", below)
    assert said(-0.11) == (False, f"short: {theirs}" + (f", {ours}" if "streamed" in ways else ""))
