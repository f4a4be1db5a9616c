"""Experiment memory-size in its small setting, compared with single replays and with the bound."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import charts_of
from terrace.errors import TerraceError
from terrace.lab.experiment.cells import Answer, Answers, Cell
from terrace.lab.experiment.memory_size import MACHINES, cells, report
from terrace.lab.experiment.setting import Setting
from terrace.lab.workloads import SPILLED, read_all
from terrace.store.reader import Store
from terrace.store.spilled import read_last_loop

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[3]


MIB = 32  # of an array


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Runs the experiment on one program, with arrays of half the size."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "workloads", source / "workloads")
    (source / "include").symlink_to(ROOT / "include")
    manifest = source / "workloads" / "stream" / "workload.toml"
    text = manifest.read_text()
    assert 'spilled = "--size 64MiB ' in text
    manifest.write_text(text.replace('spilled = "--size 64MiB ', f'spilled = "--size {MIB}MiB '))
    folder = tmp_path_factory.mktemp("memory-size")
    words = ["lab", "experiment", "memory-size", "--small", "--only", "stream", "--source", str(source)]
    command = [sys.executable, "-P", "-m", "terrace", *words, "-o", str(folder), "-j", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder


def rows(folder, machine):
    with (folder / f"losses-{machine}.csv").open() as file:
        return list(csv.DictReader(file))


def test_report_has_tables_and_pictures(small):
    charts = charts_of((small / "report.html").read_text())
    for machine in MACHINES:
        assert [row["memory"] for row in rows(small, machine)] == ["2/3", "1/2"]
        assert len(charts[f"{machine}-1"]["data"]) == 2


def test_losses_are_plausible(small):
    for machine in MACHINES:
        for row in rows(small, machine):
            of = {key: float(row[key]) for key in row if key.endswith(("_s", "_bytes", "gap"))}
            assert of["in_memory_s"] <= of["bound_s"] <= of["loop_s"]
            assert of["read_bytes"] >= of["least_read_bytes"] > 0
            assert of["written_bytes"] >= of["least_written_bytes"] > 0
            # The kernels touch ten arrays an iteration; no more can be read.
            assert of["read_bytes"] < 6 * 10 * MIB * 2**20
            assert of["loss_gap"] == pytest.approx(of["loop_s"] / of["in_memory_s"] - 1)
    nvme, nfs = rows(small, "ddr5-nvme"), rows(small, "ddr5-nfs")
    assert all(float(a["loop_s"]) < float(b["loop_s"]) for a, b in zip(nvme, nfs, strict=True))


def test_row_equals_a_replay(small, tmp_path):
    cell = Cell("stream", "ddr5-nvme", "over-file 1", "1/2")
    kept = Answers(small).get(cell)
    facts = json.loads(next((small / "recordings").glob("stream.*.json")).read_text())
    caches = facts["options"][: facts["options"].index("--cores")]
    store = tmp_path / "r.terrace"
    words = ["replay", next((small / "recordings").glob("stream.*.misses")), "-q", "--planner", "slow-only"]
    options = [*caches, "--machine", "ddr5-nvme", "--memory", facts["footprint_bytes"] // 2, "-o", store]
    command = [BIN / "terrace", *words, *options]
    subprocess.run([str(word) for word in command], check=True, timeout=300)
    read = Store(store)
    loop, spilled = read.loop(read.run()), read_last_loop(read, read.run())
    assert kept.loop_s == loop.ended - loop.begun
    assert (kept.read_bytes, kept.written_bytes) == (spilled.bytes_read, spilled.bytes_written)
    assert kept.least_s == spilled.least_time


def test_table_beating_the_bound_is_refused(tmp_path):
    program = read_all(ROOT / "workloads")["stream"]
    setting = Setting((program,), SPILLED, small=True)
    answers = Answers(tmp_path)
    for cell in cells(setting):
        answers.save(cell, Answer(loop_s=1.0, iterations=1, fast_bytes=1, footprint_bytes=2))
    report(setting, answers)
    first = next(cell for cell in cells(setting) if cell.size)
    answers.save(first, Answer(loop_s=1.0, iterations=1, fast_bytes=1, footprint_bytes=2, least_s=1.5))
    with pytest.raises(TerraceError, match="beats the proven bound"):
        report(setting, answers)
