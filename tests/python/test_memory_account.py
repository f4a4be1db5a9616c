"""`terrace run --memory` and `--intent`: the final report as text and JSON, and remaining files."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, TERRACE, run

# Touches so many MiB, allocated or in a shared mapping, and ends with a status.
BIG = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const size_t size = (size_t)atol(argv[2]) << 20;
  const int shared = MAP_SHARED | MAP_ANONYMOUS;
  char* data = !strcmp(argv[1], "heap") ? malloc(size) : mmap(0, size, PROT_READ | PROT_WRITE, shared, -1, 0);
  const int both = !strcmp(argv[1], "both");
  if (both) memset(malloc(8 << 20), 1, 8 << 20);
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < size; i += 4096) data[i] += (char)(i >> 12) + 1;
  if (both) sleep(1);  // ten looks at what it has
  return argc > 3 ? atoi(argv[3]) : 0;
}
"""

CALLS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
int main(void) {
  void* (*alloc)(size_t, const char*) = (void* (*)(size_t, const char*))dlsym(RTLD_DEFAULT, "terrace_alloc");
  char* const data = alloc ? alloc(16 << 20, "latency") : 0;
  return data == 0 || memset(data, 1, 16 << 20) != data;
}
"""

# Calls them all, uses what it gets, and says how much of it is in memory.
CALLS_OVER_FILE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <terrace/terrace.h>
int main(void) {
  enum { SIZE = 50 << 20 };
  char* const data[] = {terrace_alloc(SIZE, "latency"), terrace_malloc("data", SIZE), malloc(SIZE)};
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 3; ++i) memset(data[i], round + 1, SIZE);
  const int said[] = {terrace_apply(data[2], SIZE, "latency"), terrace_intent("latency"), terrace_intent(0)};
  printf("%d %d %d\n", said[0], said[1], said[2]);
  char* const more = malloc(SIZE);
  memset(more, 1, SIZE);
  char line[200];
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status))
    if (!strncmp(line, "VmRSS:", 6)) printf("%ld\n", atol(line + 6) >> 10);
  return 0;
}
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    (folder / "big.c").write_text(BIG)
    subprocess.run(["gcc", "-O1", folder / "big.c", "-o", folder / "big"], check=True)
    return folder / "big"


@pytest.mark.parametrize(
    ("period", "form"), [("0.25", r"\d+\.\d\d s: "), ("0.5", r"\d+\.\d s: "), ("1", r"\d+ s: ")]
)
def test_reports_have_the_resolution_of_their_period(big, disk, period, form):
    done = run("--memory", "64MiB", "--spill", disk, "--report-every", period, "--", "sleep", "1.2")
    reports = done.stderr.splitlines()[:-1]
    assert reports
    assert all(re.match("terrace: " + form, line) for line in reports)
    assert len(reports) == len({line.split(":")[1] for line in reports})


def test_limit_beyond_the_machine_is_warned_of(big, disk):
    done = run("--memory", "9T", "--spill", disk, "--", big, "heap", 8, 3)
    assert done.returncode == 3
    warning, closing = done.stderr.splitlines()
    assert "--memory 9TiB: " in warning
    assert "so that is not a limit" in warning
    assert closing.startswith("terrace: all of its data fitted into 9TiB of memory: ")


@pytest.mark.parametrize("folder", ["here", "/proc"])
def test_nothing_recorded_writes_no_profile(big, disk, tmp_path, folder):
    """Also in a folder that is not writable."""
    where = tmp_path if folder == "here" else folder
    done = run("--memory", "64MiB", "--spill", disk, "--", big, "heap", 100, 0, cwd=where)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    (line,) = done.stderr.splitlines()
    assert line.startswith("terrace: 100MiB of data in 64MiB of memory: read ")
    assert "threads waited" in line


def test_unwritable_profile_keeps_the_status(big, disk, tmp_path):
    words = ("--memory", "64MiB", "--spill", disk, "-o", "/proc/run.terrace", "--", big, "heap", 8, 0)
    done = run(*words, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "the journals stay in" in done.stderr


def test_no_advice_on_instrumentation_if_accesses_are_unneeded(big, disk, tmp_path):
    done = run("--memory", "64MiB", "--spill", disk, "-o", tmp_path / "run.terrace", "--", big, "heap", 8)
    (line,) = done.stderr.splitlines()
    assert line.startswith("terrace: all of its data fitted into 64MiB of memory: ")
    assert (tmp_path / "run.terrace").exists()
    assert "terrace-cc" not in done.stderr


def test_show_prints_paging_not_loops(big, disk, tmp_path, terrace):
    profile = tmp_path / "run.terrace"
    assert run("--memory", "64MiB", "--spill", disk, "-o", profile, "--", big, "heap", 100).returncode == 0
    shown = terrace("show", profile).stdout
    assert "observed paging (--memory), not accesses" in shown
    assert "100MiB of data in 64MiB of memory: read " in " ".join(shown.split())
    assert "loop" not in shown


def test_json_has_the_report(big, disk, tmp_path):
    words = ("--memory", "64MiB", "--spill", disk, "--json")
    for output in ((), ("-o", tmp_path / "run.terrace")):
        done = run(*words, *output, "--", big, "heap", 100, cwd=tmp_path)
        said = json.loads(done.stderr)
        assert said["schema"] == 1
        of = said["over_file"]
        assert (of["processes"], of["memory_bytes"], of["data_bytes"]) == (1, 64 << 20, 100 << 20)
        assert of["written_bytes"] > 0
        assert of["limited"] is True
        assert of["refused_bytes"] == 0


def test_json_has_the_warnings(big, disk, tmp_path):
    done = run("--memory", "9T", "--spill", disk, "--json", "--", big, "heap", 8, cwd=tmp_path)
    (note,) = json.loads(done.stderr)["notes"]
    assert "so that is not a limit" in note


def test_json_has_placement_by_intent(big, tmp_path):
    said = json.loads(run("--intent", "capacity", "--json", "--", big, "heap", 32, cwd=tmp_path).stderr)
    of = said.pop("by_intent")
    assert said == {"schema": 1, "file": None}
    assert of["processes"] == 1
    placed = of["intents"]["capacity"]
    assert sum(placed["bytes_by_place"].values()) + placed["kernel_bytes"] == 32 << 20
    assert list(tmp_path.iterdir()) == []

    nothing = json.loads(run("--intent", "capacity", "--json", "--", big, "shared", 8).stderr)
    assert nothing["by_intent"] == {"processes": 0, "intents": {}}
    assert nothing["notes"][0].startswith("nothing was placed by capacity: ")

    quiet = run("--intent", "capacity", "--json", "--quiet", "--", big, "heap", 32)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_json_has_api_calls(tmp_path):
    (tmp_path / "calls.c").write_text(CALLS)
    subprocess.run(["gcc", "-O1", tmp_path / "calls.c", "-o", tmp_path / "calls", "-ldl"], check=True)
    done = run("--json", "--", tmp_path / "calls", cwd=tmp_path)
    assert done.returncode == 0
    said = json.loads(done.stderr)
    assert said["file"] is None
    assert sum(said["by_intent"]["intents"]["latency"]["bytes_by_place"].values()) == 16 << 20
    told = run("--", tmp_path / "calls", cwd=tmp_path).stderr
    assert told.startswith("terrace: 16MiB of data by latency: ")


def test_allocation_by_intent_keeps_the_limit(disk, tmp_path):
    (tmp_path / "calls.c").write_text(CALLS_OVER_FILE)
    words = ["gcc", "-O1", f"-I{ROOT}/include", tmp_path / "calls.c", "-o", tmp_path / "calls"]
    library = BUILD / "src" / "agent"
    subprocess.run([*words, f"-L{library}", "-lterrace", f"-Wl,-rpath,{library}"], check=True)
    done = run("--memory", "100MiB", "--spill", disk, "--", tmp_path / "calls", cwd=tmp_path)
    assert done.returncode == 0
    statuses, there = done.stdout.splitlines()
    assert statuses == "4 4 4"
    assert int(there) < 110
    (line,) = [line for line in done.stderr.splitlines() if " of data in " in line]
    data = re.match(r"terrace: (\d+)MiB of data in 100MiB of memory: read ", line)
    assert data is not None and int(data[1]) >= 190
    assert "beyond the limit" not in line


def test_virtual_time_has_the_same_keys(tmp_path):
    """A limit above the place's capacity has no effect, and all data fit; the keys are those of a real run."""
    (tmp_path / "big.c").write_text(BIG)
    compiler = Path(sys.executable).with_name("terrace-cc")
    subprocess.run([compiler, "-O1", tmp_path / "big.c", "-o", tmp_path / "big"], check=True)
    words = ("--machine", "ddr5-nvme", "--memory", "1TiB")
    program = ("--", tmp_path / "big", "heap", 32)
    lines = run(*words, *program, verb="simulate", cwd=tmp_path).stderr.splitlines()
    assert lines[0] == "terrace: --memory 1TiB: ddr of ddr5-nvme has 128GiB, so that is not a limit"
    assert any(line.startswith("terrace: all of its data fitted into ") for line in lines)
    said = json.loads(run(*words, "--json", *program, verb="simulate", cwd=tmp_path).stderr)
    assert "so that is not a limit" in said["notes"][0]
    assert said["over_file"]["limited"] is True
    assert said["over_file"]["threads_waited_s"] >= 0
    assert "waited_s" not in said["over_file"]


def test_limit_below_a_cache_is_reported_in_virtual_time(tmp_path):
    (tmp_path / "big.c").write_text(BIG)
    compiler = Path(sys.executable).with_name("terrace-cc")
    subprocess.run([compiler, "-O1", tmp_path / "big.c", "-o", tmp_path / "big"], check=True)
    program = ("--", tmp_path / "big", "heap", 32)
    said = "terrace: --memory 64MiB: the l3 cache of ddr5-nvme has 105MiB; only cache misses access memory, so"
    small = run("--machine", "ddr5-nvme", "--memory", "64MiB", *program, verb="simulate", cwd=tmp_path)
    assert small.stderr.startswith(said)
    large = run("--machine", "ddr5-nvme", "--memory", "128MiB", *program, verb="simulate", cwd=tmp_path)
    assert "cache misses" not in large.stderr


def test_several_processes_have_one_line(big, disk, tmp_path):
    script = f"for i in 1 2 3 4 5; do {big} heap 80; done"
    done = run("--memory", "64MiB", "--spill", disk, "--", "sh", "-c", script, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.startswith("terrace: 5 processes, 400MiB of data in 64MiB of memory each: read ")
    assert "those of big (" in line
    few = run("--memory", "64MiB", "--spill", disk, "--", "sh", "-c", f"{big} heap 80; {big} heap 80")
    (line,) = few.stderr.splitlines()
    assert line.startswith("terrace: 2 processes, 160MiB of data in 64MiB of memory each: read ")
    assert "those of big (" in line


def test_unmanaged_data_is_reported(big, disk):
    done = run("--memory", "64MiB", "--spill", disk, "--", big, "shared", 300)
    assert done.returncode == 0
    first, last = done.stderr.splitlines()
    assert "memory that cannot be out of core" in first and "give at least" in first
    assert last.startswith(
        "terrace: its data are in mappings below 4MiB, which stay in memory, or in what else is not taken"
    )
    assert last.endswith("MiB beyond the limit")
    some = run("--memory", "256MiB", "--spill", disk, "--", big, "both", 300).stderr.splitlines()[-1]
    assert some.startswith(
        "terrace: its data are in mappings below 4MiB, which stay in memory, or in what else is not taken"
    )
    assert some.endswith("MiB beyond the limit; 8MiB could be in the file")


def test_program_without_terrace_is_reported(big, disk, tmp_path):
    made = subprocess.run(["gcc", "-static", big.with_suffix(".c"), "-o", tmp_path / "alone"], capture_output=True)
    if made.returncode != 0:
        pytest.skip("no static library of C")
    for option in (("--memory", "64MiB", "--spill", disk), ("--intent", "bandwidth")):
        done = run(*option, "--", tmp_path / "alone", "heap", 100, 5)
        assert done.returncode == 5
        assert done.stderr.count("\n") == 1
        assert "never loaded Terrace: it is statically linked, and" in done.stderr
        assert option[0] in done.stderr
        said = json.loads(run(*option, "--json", "--", tmp_path / "alone", "heap", 8, cwd=tmp_path).stderr)
        assert "never loaded Terrace" in said["notes"][0]
        assert said.get("over_file", {"limited": False})["limited"] is False


def test_no_data_by_intent_is_reported(big):
    done = run("--intent", "bandwidth", "--", big, "shared", 8)
    (line,) = done.stderr.splitlines()
    assert line.startswith("terrace: nothing was placed by bandwidth: ")
    assert "allocated no block of 4MiB or more" in line


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000 << 10, 1000 << 10))


@pytest.mark.parametrize("options", [("--memory", "64MiB", "--spill", "/var/tmp"), ("-o", "run.terrace")])
def test_file_size_limit_is_an_error(tmp_path, options):
    words = [TERRACE, "run", *options, "--", "true"]
    # Python ignores the signal itself: it is to be as in a shell.
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, preexec_fn=small_files)
    assert done.returncode in (1, 2), done.stderr
    assert "File too large" in done.stderr


def test_ledger_of_a_killed_launcher_is_removed(tmp_path):
    folder = tmp_path / "terrace"
    folder.mkdir(mode=0o700)
    left = folder / "7.ledger.999999999.part"
    mine = folder / f"7.ledger.{os.getpid()}.part"
    for file in (left, mine):
        file.touch()
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    assert run("--intent", "bandwidth", "--", "true", env=environment).returncode == 0
    assert list(folder.iterdir()) == [mine]


def test_different_budget_in_one_job_is_reported(tmp_path):
    """The second launch cannot share the first one's ledger."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "SLURM_JOB_ID": "4711"}
    inner = (TERRACE, "run", "--intent", "capacity")
    done = run("-q", "--fast", "1GiB", "--", *inner, "--fast", "2GiB", "--", "true", env=environment, cwd=tmp_path)
    assert done.returncode == 0
    said = (
        "terrace: job 4711 has a ledger for other places or budgets on this node; this launch uses a private one"
    )
    assert done.stderr.startswith(said)
    same = run("-q", "--fast", "1GiB", "--", *inner, "--fast", "1GiB", "--", "true", env=environment, cwd=tmp_path)
    assert "ledger" not in same.stderr


def unmount(folder):
    """Retries: Linux closes the files of an io_uring some time after their process has ended."""
    for _ in range(100):
        if subprocess.run(["umount", folder], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"{folder} stays busy")


@pytest.fixture
def small_disk(disk):
    """Returns a file system of about 100 MiB."""
    image, folder = disk / "image", disk / "small"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(128 << 20)
    words = (["mkfs.ext4", "-q", "-F", "-m", "0", image], ["mount", "-o", "loop", image, folder])
    if any(subprocess.run(one, capture_output=True).returncode != 0 for one in words):
        pytest.skip("no file system can be mounted")
    yield folder
    unmount(folder)


def test_block_without_space_is_reported_once(big, small_disk):
    done = run("--memory", "64MiB", "--spill", f"{small_disk}/.", "--", big, "heap", 305, 4)
    assert done.returncode == 4
    first, last = done.stderr.splitlines()
    assert first.startswith("terrace: the backing file has no space for all data: the rest stays in memory")
    assert f"({small_disk}: " in first
    assert "306MiB of data in 64MiB of memory" in last
    assert last.endswith("beyond the limit stayed in memory: the file did not take it")
    assert "small blocks" not in last
