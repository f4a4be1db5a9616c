"""`terrace lab experiment ccnuma`, small: its questions and report, that it goes on where it stopped, refusals."""

import csv
import json
import subprocess
import sys

import pytest
from conftest import charts_of
from terrace import _core
from terrace.lab.experiment import ccnuma, ccnuma_page

PROGRAMS = "pathfinder,needle"


def run(folder, *words):
    line = [
        sys.executable,
        "-P",
        "-m",
        "terrace",
        "lab",
        "experiment",
        "ccnuma",
        "-o",
        str(folder),
        "-j",
        "2",
        *words,
    ]
    return subprocess.run(line, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ccnuma")
    done = run(folder, "--small", "--only", PROGRAMS)
    assert done.returncode == 0, done.stderr
    return folder


def rows(folder, table):
    with (folder / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_figure_is_there(small):
    page = (small / "report.html").read_text()
    for figure in (
        "Figure 2",
        "Figure 4",
        "Figure 5",
        "Figure 6",
        "Figure 7",
        "Table II",
        "Figure 9",
        "Figure 10",
    ):
        assert figure in page
    assert len(charts_of(page)) >= 8
    means = {row["rule"]: row for row in rows(small, "means")}
    assert float(means["touch 1, range 128"]["published"]) == 1.85
    savings = {row["program"]: row for row in rows(small, "savings")}
    assert float(savings["needle"]["published cost_share"]) == pytest.approx(0.249)
    assert (small / "test" / "traces" / "needle.txt").read_text().endswith("allowed\n")


def test_tables_say_what_the_answers_say(small):
    study = ccnuma.Study(small / "test", PROGRAMS.split(","), "test", True)
    by_program = {row["program"]: row for row in rows(small, "combined")}
    for name in study.programs:
        remote = study.get(name, ccnuma.Rule("remote"))
        ranged = study.get(name, ccnuma.touch(1, 128))
        assert float(by_program[name]["and range 128"]) == pytest.approx(remote["cycles"] / ranged["cycles"])
        # All bytes that the program asks for go somewhere, and what nobody moves stays beyond.
        assert remote["demand_bytes"][0] == remote["move_bytes"][0] == 0
        assert remote["demand_bytes"][1] > 0
        assert sum(remote["page_accesses"]) > 0
        # The machine file's 80 GB/s, the lesser of both memories.
        assert remote["copy_seconds"] == pytest.approx(4096 * len(remote["page_accesses"]) / 80e9)
        # A shootdown that costs nothing does nothing.
        assert study.get(name, ccnuma.touch(1, shootdown=0))["stopped_cycles"] == 0
        costly = study.get(name, ccnuma.touch(1))
        assert costly["stopped_cycles"] == 100 * (costly["moved_pages"] - costly["without_shootdown"])
        camat = remote["camat"]["l1"]
        parts = camat["hit_time"] / camat["hit_concurrency"]
        parts += camat["pure_miss_ratio"] * camat["pure_miss_penalty"] / camat["miss_concurrency"]
        assert camat["value"] == pytest.approx(parts)
    mean = ccnuma_page.geometric_mean([float(by_program[name]["oracle"]) for name in study.programs])
    assert float(by_program["geometric mean"]["oracle"]) == pytest.approx(mean)


def test_it_goes_on_where_it_stopped(small):
    answers = small / "test" / "answers" / "needle"
    removed = answers / "oracle.json"
    before = json.loads(removed.read_text())
    kept = {path: path.stat().st_mtime_ns for path in answers.glob("*.json") if path != removed}
    removed.unlink()
    done = run(small, "--small", "--only", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 runs answered")
    assert json.loads(removed.read_text()) == before
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_time_that_is_up_is_said(tmp_path):
    done = run(tmp_path, "--small", "--only", "pathfinder", "--stop-after", "0")
    assert done.returncode == 3
    assert "the same command goes on" in done.stdout


def test_refusals(tmp_path):
    done = run(tmp_path, "--only", "pathfounder")
    assert done.returncode == 2
    assert "--only pathfounder: there are " in done.stderr
    with pytest.raises(_core.InvalidError, match="has no size 'huge'; there are test, paper"):
        _core.write_warps("needle", "huge", str(tmp_path / "x.warps"))
    machine = _core.Machine.read(ccnuma.MACHINE)
    (tmp_path / "x.warps").write_bytes(b"TERWARPS\1\0\0\0\3")
    with pytest.raises(_core.Error, match=r"x\.warps, byte 12: the file ends within a block"):
        _core.simulate_gpu_share(machine, str(tmp_path / "x.warps"), 0)
    with pytest.raises(_core.InvalidError, match=r"the machine ddr5-cxl has no \[\[gpu\]\]"):
        _core.gpu_balance(_core.Machine.read("ddr5-cxl"))


def test_the_machines_balance_is_the_papers():
    assert _core.gpu_balance(_core.Machine.read(ccnuma.MACHINE)) == pytest.approx(5 / 7)
