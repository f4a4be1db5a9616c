"""C-AMAT of GPU programs: the study's example, both forms, sums of parts, resuming."""

import csv
import json
import subprocess
import sys

import pytest
from conftest import charts_of
from terrace import _core
from terrace.lab import gpu_camat
from terrace.lab.experiment import camat, camat_page, provenance

PROGRAMS = "btree,particlefilter,srad_v1"


def run(folder, *words):
    line = [sys.executable, "-P", "-m", "terrace", "lab", "experiment", "camat", "-o", str(folder), "-j", "2"]
    return subprocess.run([*line, *words], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("camat")
    done = run(folder, "--small", "--only", PROGRAMS)
    assert done.returncode == 0, done.stderr
    return folder


def study(folder):
    return camat.Study(folder / "test", PROGRAMS.split(","), "test")


def rows(folder, table):
    with (folder / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_camat_published_example_reproduced():
    ours = _core.camat_of_accesses(camat_page.EXAMPLE)
    for name, said in camat_page.PUBLISHED_EXAMPLE.items():
        assert ours[name] == pytest.approx(said)
    assert camat_page.of_parts(ours) == pytest.approx(1.7)
    # Four accesses in two cycles, three of which miss, by hand.
    by_hand = _core.camat_of_accesses([(1, 2, 8), (1, 2, 0), (2, 2, 7), (2, 2, 4)])
    assert by_hand["value"] == 2.5
    assert camat_page.of_parts(by_hand) == pytest.approx(2.5)
    assert _core.camat_of_accesses([])["value"] == 0


def test_report_has_every_figure(small):
    page = (small / "report.html").read_text()
    assert f"; Terrace {provenance.version()}; begun 2" in page
    for name in camat.MACHINES:
        assert f"{name} ({provenance.machine_hash(_core.Machine.read(name))})" in page
    for figure in ("Figure 3", "Figure 5", "Figure 6", "by level", "By kernel", "Over time"):
        assert figure in page
    assert len(charts_of(page)) == 8
    over_time = charts_of(page)["time-btree"]["layout"]["xaxis"]
    assert (over_time["type"], over_time["tickformat"]) == ("linear", "~s")
    assert over_time["title"]["text"]
    published = {(row["program"], row["machine"], row["accesses of"]): row for row in rows(small, "published")}
    first = published["btree", "gtx480-gpgpusim", "warps"]
    assert float(first["published"]) == 10
    assert float(first["published highest"]) == 11.5
    assert published["btree", "gtx480-gpgpusim", "line parts"]["published"] == ""
    assert len(rows(small, "by-sm-btree")) == 15
    assert [row["ours"] for row in rows(small, "example")][:7] == ["10", "17", "20", "11", "13", "6", "5"]


@pytest.mark.parametrize("machine", camat.MACHINES)
def test_parts_sum_to_whole(small, machine):
    asked = study(small)
    for program in asked.programs:
        run = asked.get(program, machine)
        for level in gpu_camat.LEVELS:
            whole = gpu_camat.counters_of(run["levels"][level])
            assert whole["hit_cycles"] + whole["pure_miss_cycles"] == whole["active_cycles"]
            for parts in (run["kernels"], run["stretches"]):
                assert {name: sum(part["levels"][level][name] for part in parts) for name in whole} == whole
            each = run["levels"][level]["each"]
            assert {name: sum(one[name] for one in each) for name in whole} == whole
        ends = [part["end"] for part in run["stretches"]]
        assert [part["begin"] for part in run["stretches"]] == [0, *ends[:-1]]
        assert len(ends) <= camat.NUM_INTERVALS


def test_both_forms_are_equal(small):
    table = rows(small, "levels")
    assert len(table) == 3 * len(camat.MACHINES) * len(gpu_camat.LEVELS)
    for row in table:
        assert float(row["by parts"]) == pytest.approx(float(row["C-AMAT"]), rel=1e-12)
        assert float(row["C-AMAT"]) == int(row["active_cycles"]) / int(row["accesses"])


def test_launches_of_a_kernel_are_summed(small):
    answer = study(small).get("srad_v1", camat.MACHINES[0])
    kernels = {part["kernel"]: part for part in answer["kernels"]}
    assert kernels["srad"]["launches"] == 2
    assert sum(part["cycles"] for part in answer["kernels"]) >= answer["cycles"]


def test_interrupted_run_resumes(small):
    removed = small / "test" / "answers" / camat.MACHINES[1] / "btree.json"
    before = json.loads(removed.read_text())
    removed.unlink()
    done = run(small, "--small", "--only", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 runs answered now, 5 before")
    assert json.loads(removed.read_text()) == before


def test_time_limit_reached_is_reported(tmp_path):
    done = run(tmp_path, "--small", "--only", "pathfinder", "--stop-after", "0")
    assert done.returncode == 3
    assert "2 runs are left; run the same command to resume" in done.stdout


def test_wrong_calls_are_refused(tmp_path):
    done = run(tmp_path, "--only", "pathfounder")
    assert done.returncode == 2
    assert "--only pathfounder: unknown program; known: " in done.stderr


def test_report_without_studied_programs_has_no_published_table(tmp_path):
    done = run(tmp_path, "--small", "--only", "pathfinder")
    assert done.returncode == 0, done.stderr
    assert "published" not in {path.stem for path in tmp_path.glob("*.csv")}
    assert len(rows(tmp_path, "levels")) == 8
