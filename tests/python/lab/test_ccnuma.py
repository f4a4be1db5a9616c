"""`terrace lab experiment ccnuma`, small setting: questions, report, resuming, refusals."""

import csv
import json
import re
import subprocess
import sys
import tomllib

import pytest
from conftest import ROOT, charts_of
from terrace import _core
from terrace.errors import WrongCallError
from terrace.lab.experiment import ccnuma, ccnuma_iterations, ccnuma_links, ccnuma_page, gpu_machine, provenance
from terrace.lab.experiment.warp_study import chosen_programs

PROGRAMS = "pathfinder,needle,hotspot"


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


def test_report_has_every_figure(small):
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
        "Other links",
    ):
        assert figure in page
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert [title.partition(":")[0] for title in titles] == [
        *("Figure 2", "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Table II", "Figure 8", "Figure 9"),
        *("Figure 10", "Beyond the paper", "Half of the capacity", "More iterations"),
        "Other links",
    ]
    assert len(charts_of(page)) >= 8
    means = {row["rule"]: row for row in rows(small, "means")}
    assert float(means["touch 1, range 128"]["published"]) == 1.85
    savings = {row["program"]: row for row in rows(small, "savings")}
    assert float(savings["needle"]["published cost_share"]) == pytest.approx(0.249)
    assert (small / "test" / "traces" / "needle.txt").read_text().endswith("allowed\n")


def test_pictures_are_readable(small):
    page = (small / "report.html").read_text()
    found = charts_of(page)
    for name, chart in found.items():
        assert chart["layout"]["xaxis"]["automargin"], name
        for trace in chart["data"]:
            assert "_" not in trace.get("name", "").replace("srad_v1", ""), name
    for name in ("shootdowns", "footprint", "over-time-needle", "links"):
        axis = found[name]["layout"]["xaxis"]
        assert axis["title"]["text"]
        assert axis["type"] == "linear"
    assert found["footprint"]["data"][0]["x"] == pytest.approx([1, 2, 5, 10, 20, 30, 50, 70, 100])
    # Means alone, the best on top; the programs are in the table.
    (bars,) = found["beyond"]["data"]
    means = rows(small, "beyond")[-1]
    assert dict(zip(bars["y"], bars["x"], strict=True)) == {
        name: pytest.approx(float(value)) for name, value in means.items() if name not in ("schema", "program")
    }
    assert bars["x"] == sorted(bars["x"], reverse=True)
    assert {"interleave by bandwidth", "even", "memtis"} <= set(bars["y"])


def test_report_names_policies_without_moves(small):
    page = (small / "report.html").read_text()
    study = ccnuma.Study(small / "test", PROGRAMS.split(","), "test", True)
    for name, interval in (("kernel-tiering", 1), ("memtis", 0.5)):
        answers = [study.get(program, ccnuma.policy(name)) for program in study.programs]
        assert all(run["moved_pages"] == 0 and 1e3 * run["seconds"] < interval for run in answers)
        assert f"{name}: nothing moved: it decides every {interval:g} ms; the runs take " in page
    assert "migrate-on-fault: nothing moved" not in page
    assert "even: nothing moved" not in page
    assert [_core.gpu_policy_interval(name) for name in ("touch", "migrate-on-fault", "colloid")] == [0, 0, 0.0005]
    with pytest.raises(_core.InvalidError, match="no policy 'x' for a GPU"):
        _core.gpu_policy_interval("x")


def test_tables_equal_answers(small):
    study = ccnuma.Study(small / "test", PROGRAMS.split(","), "test", True)
    by_program = {row["program"]: row for row in rows(small, "combined")}
    for name in study.programs:
        remote = study.get(name, ccnuma.Rule("remote"))
        ranged = study.get(name, ccnuma.touch(1, 128))
        assert float(by_program[name]["and range 128"]) == pytest.approx(remote["cycles"] / ranged["cycles"])
        # All bytes that the program asks for go somewhere, and data that is not moved stays beyond.
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


def test_further_iterations_equal_difference_of_runs(small):
    study = ccnuma.Study(small / "test", PROGRAMS.split(","), "test", True)
    longer = ccnuma_iterations.Iterations(study)
    assert (longer.plain, longer.programs) == (["hotspot"], ["hotspot@test@3"])
    short, long = (
        {rule: part.get(name, rule) for rule in longer.rules}
        for part, name in ((study, "hotspot"), (longer, "hotspot@test@3"))
    )
    link = ccnuma.Rule("remote")
    assert 2 < long[link]["instructions"] / short[link]["instructions"] < 3.2
    for position, table in enumerate(("as in the study", "3 times as many", "each further one")):
        programs = {row["program"]: row for row in rows(small, f"iterations-{position}")}
        means = {row["iterations"]: row for row in rows(small, "iterations")}
        for label, rule in ccnuma_iterations.RULES.items():
            more = [run[link]["cycles"] for run in (short, long)], [run[rule]["cycles"] for run in (short, long)]
            of_link, of_rule = [one[position] if position < 2 else one[1] - one[0] for one in more]
            assert float(programs["hotspot"][label]) == pytest.approx(of_link / of_rule)
            assert float(means[table][label]) == pytest.approx(of_link / of_rule)


def test_interrupted_run_resumes(small):
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


def refused(folder, *words):
    done = run(folder, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "name another folder with --output" in done.stderr
    return done.stderr


def test_answers_of_another_version_refused(tmp_path):
    words = ("--small", "--only", "pathfinder", "--stop-after", "0")
    assert run(tmp_path, *words).returncode == 3
    path = tmp_path / "test" / "made.json"
    kept = path.read_text()
    assert json.loads(kept)["machines"] == {
        ccnuma.MACHINE: provenance.machine_hash(_core.Machine.read(ccnuma.MACHINE))
    }
    path.write_text(kept.replace(provenance.version(), "0.0.9, commit 0123456789ab"))
    assert f"{path.parent} was made with another Terrace (0.0.9, commit 0123456789ab): " in refused(
        tmp_path, *words
    )
    path.write_text(json.dumps({**json.loads(kept), "machines": {ccnuma.MACHINE: "0123456789ab"}}))
    assert f"{path.parent} was made with another {ccnuma.MACHINE}: " in refused(tmp_path, *words)
    # Answers of an older Terrace do not name their version.
    path.unlink()
    (tmp_path / "test" / "answers").mkdir()
    assert f"{path.parent} was made with another Terrace (" in refused(tmp_path, *words)
    (tmp_path / "test" / "answers").rmdir()
    # One of the links' machines alone.
    linked = tmp_path / "test" / "links" / "mi300a" / "made.json"
    linked.write_text(linked.read_text().replace(provenance.machine_hash(_core.Machine.read("mi300a")), "0" * 12))
    assert f"{linked.parent} was made with another mi300a: " in refused(tmp_path, *words)


def test_machine_hash_covers_all_values(tmp_path):
    text = (ROOT / "machines" / f"{ccnuma.MACHINE}.toml").read_text()
    hashes = []
    for old, new in (("", ""), ("shootdown = 100 ", "shootdown = 101 "), ("# The machine of", "# Of")):
        (tmp_path / "machine.toml").write_text(text.replace(old, new, 1))
        hashes.append(provenance.machine_hash(_core.Machine.read(str(tmp_path / "machine.toml"))))
    assert hashes[0] != hashes[1]
    assert hashes[0] == hashes[2]


def test_version_of_modified_build_has_hash(tmp_path):
    (tmp_path / "a.py").write_text("1")
    assert provenance.version_of("terrace 0.1.0 (commit 1234)\nTo", tmp_path) == "0.1.0, commit 1234"
    first = provenance.version_of("terrace 0.1.0 (commit 1234+)\nTo", tmp_path)
    assert first.startswith("0.1.0, commit 1234+, files ")
    assert first == provenance.version_of("terrace 0.1.0 (commit 1234+)\n", tmp_path)
    assert provenance.version_of("terrace 0.1.0\n", tmp_path) == first.replace(", commit 1234+", "")
    (tmp_path / "a.py").write_text("2")
    assert provenance.version_of("terrace 0.1.0 (commit 1234+)\n", tmp_path) != first


def test_report_states_machine_commit_and_date(small):
    page = (small / "report.html").read_text()
    there = json.loads((small / "test" / "made.json").read_text())
    assert f"{ccnuma.MACHINE} ({there['machines'][ccnuma.MACHINE]})" in page
    assert f"Terrace {provenance.version()}; begun {there['begun']}, written " in page


def test_time_limit_reached_is_reported(tmp_path):
    done = run(tmp_path, "--small", "--only", "pathfinder", "--stop-after", "0")
    assert done.returncode == 3
    assert "run the same command to resume" in done.stdout


def test_wrong_calls_are_refused(tmp_path):
    done = run(tmp_path, "--only", "pathfounder")
    assert done.returncode == 2
    assert "--only pathfounder: unknown program; known: " in done.stderr
    for only in ("bfs,bfs,", ""):
        with pytest.raises(WrongCallError, match="a name between commas is missing"):
            chosen_programs(only)
    assert chosen_programs("needle,bfs,needle") == ["needle", "bfs"]
    with pytest.raises(_core.InvalidError, match="has no size 'huge'; there are test, paper"):
        _core.write_warps("needle", "huge", str(tmp_path / "x.warps"))
    machine = _core.Machine.read(ccnuma.MACHINE)
    (tmp_path / "x.warps").write_bytes(b"TERWARPS\1\0\0\0\3")
    with pytest.raises(_core.Error, match=r"x\.warps, byte 12: the file ends within a block"):
        _core.simulate_gpu_share(machine, str(tmp_path / "x.warps"), 0)
    with pytest.raises(_core.InvalidError, match=r"the machine ddr5-cxl has no \[\[gpu\]\]"):
        _core.gpu_balance(_core.Machine.read("ddr5-cxl"))


def test_run_counters_are_named(tmp_path):
    machine, path = _core.Machine.read(ccnuma.MACHINE), str(tmp_path / "x.warps")
    for simulate, words in (
        (_core.simulate_gpu_policy, ("touch", 1)),
        (_core.simulate_gpu_share, (1.0, "where")),
        (_core.simulate_gpu_oracle, ([1], 0.5)),
    ):
        with pytest.raises(TypeError):
            simulate(machine, path, *words)


def test_machine_balance_equals_paper():
    assert _core.gpu_balance(_core.Machine.read(ccnuma.MACHINE)) == pytest.approx(5 / 7)


def test_page_figures_equal_machine_file(small):
    machine = _core.Machine.read(ccnuma.MACHINE)
    other = _core.gpu_with_remote_bandwidth(machine, 50e9)
    assert gpu_machine.bandwidths(machine) == "71.4 to 28.6"
    assert gpu_machine.bandwidths(other) == "80.0 to 20.0"
    assert (gpu_machine.beyond_bandwidth(machine), gpu_machine.beyond_bandwidth(other)) == (80e9, 50e9)
    assert gpu_machine.page_bytes(machine) == 4096
    page = (small / "report.html").read_text()
    for said in ("before the run at 80 GB/s", "by page of 4KiB", "ratio of bandwidths is 71.4 to 28.6"):
        assert said in page


def test_links_cover_every_shipped_gpu(small):
    shipped = {
        path.stem for path in (ROOT / "machines").glob("*.toml") if "gpu" in tomllib.loads(path.read_text())
    }
    # GPGPU-Sim's GTX 480, of another study, has no second memory that anyone built.
    assert shipped == {ccnuma.MACHINE, *ccnuma_links.MACHINES, "gtx480-gpgpusim"}
    shipped.remove("gtx480-gpgpusim")
    machines = {row["machine"]: row for row in rows(small, "machines")}
    assert set(machines) == shipped
    # The bandwidth is that of both memories, limited by the link.
    assert float(machines["h200-pcie5"]["own bandwidth_share"]) == pytest.approx(4800 / 4855)
    assert float(machines["mi300a"]["own bandwidth_share"]) == pytest.approx(5300 / 5404)
    assert float(machines["p100-pcie"]["own bandwidth_share"]) == pytest.approx(732 / 744)
    for row in machines.values():
        assert float(row["all local"]) == 1
        # A longer way to the same pages, and no more bandwidth than the GPU's own.
        assert float(row["over the link"]) < 1


def test_links_tables_equal_answers(small):
    study = ccnuma.Study(small / "test", PROGRAMS.split(","), "test", True)
    swept = {row["GB/s"]: row for row in rows(small, "links")}
    assert list(swept) == ["20", "80", "200"]
    base = rows(small, "machines")[0]
    assert base["machine"] == ccnuma.MACHINE
    for name, rule in ccnuma_links.RULES.items():
        speeds = [
            study.get(program, ccnuma.Rule("local"))["cycles"] / study.get(program, rule)["cycles"]
            for program in ccnuma_links.FEW_PROGRAMS
        ]
        mean = ccnuma_page.geometric_mean(speeds)
        assert float(base[name]) == float(swept["80"][name]) == pytest.approx(mean)
    beyond = [float(row["over the link"]) for row in swept.values()]
    assert beyond == sorted(beyond)
    # All-local runs do not depend on the far memory.
    local = {
        json.loads(path.read_text())["cycles"]
        for path in (small / "test").glob("**/answers/needle/local.json")
        if "links" not in path.parts or "gtx480" in path.parts[-4]
    }
    assert len(local) == 1


def test_variant_changes_remote_bandwidth():
    machine = _core.Machine.read(ccnuma.MACHINE)
    for gigabytes, balance in ((10, 200 / 210), (80, 5 / 7), (200, 0.5)):
        other = _core.gpu_with_remote_bandwidth(machine, gigabytes * 1e9)
        assert _core.gpu_balance(other) == pytest.approx(balance)
    # A link that is slower than what is behind it goes on being so.
    linked = _core.Machine.read("p100-pcie")
    assert _core.gpu_balance(_core.gpu_with_remote_bandwidth(linked, 200e9)) == _core.gpu_balance(linked)
    with pytest.raises(_core.InvalidError, match="the bandwidth of remote memory must be above 0"):
        _core.gpu_with_remote_bandwidth(machine, 0)
    with pytest.raises(_core.InvalidError, match=r"has no \[\[gpu\]\]"):
        _core.gpu_with_remote_bandwidth(_core.Machine.read("ddr5-cxl"), 1e9)
