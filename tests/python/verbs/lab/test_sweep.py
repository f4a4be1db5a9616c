"""Sweeps compared with single replays of the same recording."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from terrace.lab.study import outcome

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <terrace/terrace.h>
int main(void) {
  const long n = 1 << 15;
  double* a = malloc(n * sizeof *a);
  double* b = malloc(n * sizeof *b);
  for (long i = 0; i < n; ++i) a[i] = b[i] = 1;
  terrace_loop_begin("main");
  for (int k = 0; k < 20; ++k) {
    terrace_phase("forth");
    for (long i = 0; i < n; ++i) a[i] += b[i * 37 % n];
    terrace_phase("back");
    for (long i = 0; i < n; ++i) b[i] += a[i];
  }
  terrace_loop_end();
  printf("%g\n", a[1] + b[1]);
}
"""
CACHE = ["--cache", "l2=32KiB", "--cache", "l3=60KiB"]
BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Records a small program's misses."""
    folder = tmp_path_factory.mktemp("sweep")
    source = folder / "app.c"
    source.write_text(SOURCE)
    program = folder / "app"
    library = next((BIN.parent / "lib" / "terrace").glob("libterrace.so"))
    build = [BIN / "terrace-cc", "-O1", "-g", f"-I{ROOT / 'include'}", source, "-o", program, library]
    subprocess.run(build, check=True)
    misses = folder / "app.misses"
    command = [BIN / "terrace", "simulate", "-q", "-m", "unimem-bw2", *CACHE, "--misses", misses,
               "-o", folder / "recorded.terrace", "--", program]  # fmt: skip
    subprocess.run(command, check=True)
    return misses


def single(recording, folder, machine, budget, planner):
    """Returns the result of one replay."""
    store = folder / f"{machine}-{budget}-{planner}.terrace"
    words = [BIN / "terrace", "replay", recording, "-q", "-m", machine, "-b", budget, "-p", planner, *CACHE]
    subprocess.run([*words, "-o", store], check=True)
    return outcome(store)


@pytest.mark.parametrize("jobs", [1, 3])
def test_points_equal_single_replays(recording, terrace, tmp_path, jobs):
    done = terrace("lab", "sweep", recording, "--machines", "unimem-bw2,unimem-lat4",
                   "--budgets", "100KiB,dram=200KiB", "--planners", "slow-only,auto", *CACHE,
                   "--jobs", jobs, "--json", "-o", tmp_path / "table.csv")  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    rows = document["rows"]
    assert [(row["machine"], row["budget"], row["planner"]) for row in rows] == [
        (machine, budget, planner)
        for machine in ("unimem-bw2", "unimem-lat4")
        for budget in ("100KiB", "dram=200KiB")
        for planner in ("slow-only", "auto")
    ]
    for row in rows:
        alone = single(recording, tmp_path, row["machine"], row["budget"], row["planner"])
        assert (row["loop_s"], row["iterations"]) == (alone.loop, 20)
        assert (row["moves"], row["moved_bytes"]) == (alone.moves, alone.moved_bytes)
    assert {row["loop_s"] for row in rows if row["planner"] == "slow-only"} != {
        row["loop_s"] for row in rows if row["planner"] == "auto"
    }
    with (tmp_path / "table.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(line["loop_s"]) for line in table] == [row["loop_s"] for row in rows]
    assert {line["schema"] for line in table} == {"1"}


def test_truncated_recording_is_reported_once(recording, terrace, tmp_path):
    short = tmp_path / "short.misses"
    short.write_bytes(recording.read_bytes()[:-9])
    done = terrace("lab", "sweep", short, "--machines", "unimem-bw2", "--planners", "slow-only,fast-only", *CACHE)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("is truncated: replayed ") == 1
    assert len(done.stdout.splitlines()) == 3


def test_wrong_calls_are_refused(recording, terrace, tmp_path):
    other_caches = terrace("lab", "sweep", recording, "--machines", "unimem-bw2,unimem-lat4")
    assert other_caches.returncode == 2
    assert "recorded with other caches than unimem-bw2 has" in other_caches.stderr
    assert terrace("lab", "sweep", recording, "--machines", "unimem-bw2,").returncode == 2
    suffix = terrace("lab", "sweep", recording, "--machines", "unimem-bw2", "-o", tmp_path / "table.txt")
    assert suffix.returncode == 2
    assert "must end in .json or .csv" in suffix.stderr
