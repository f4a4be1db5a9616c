"""The final message of a run is one line for any number of processes; `terrace show` has the details."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess

import pytest
from conftest import ROOT, run

TWO_KINDS = ("--machine", ROOT / "acceptance" / "programs_lines" / "same_node.toml", "--fast", "64MiB")
# A loop with marks, of as many turns as are asked for; 0: until it is killed.
MARKED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
static void mark(const char* marker, const char* name) {
  void (*const call)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, marker);
  if (call) call(name);
}
int main(int argc, char** argv) {
  const long n = 1 << 20, turns = atol(argv[1]);
  volatile double* a = calloc(n, sizeof *a);
  mark("terrace_loop_begin", "main");
  for (long k = 0; turns == 0 || k < turns; ++k) {
    mark("terrace_phase", "up");
    for (long i = 0; i < n; ++i) a[i] += 1;
  }
  mark("terrace_loop_end", 0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked")
    (folder / "marked.c").write_text(MARKED)
    subprocess.run(["gcc", "-O1", "marked.c", "-o", "marked", "-ldl"], cwd=folder, check=True)
    return folder / "marked"


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("{0} 8 & {0} 12; wait", ""),
        ("{0} 0 & {0} 12; kill -9 $!; wait", r"; marked \(\d+\) did not end by itself"),
        ("sleep 100 & {0} 12; kill -9 $!; wait", ""),
    ],
)
def test_several_processes_have_one_line(marked, script, left, tmp_path):
    done = run(*TWO_KINDS, "-o", "x.terrace", "--", "sh", "-c", script.format(marked), cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        r"terrace: 3 processes: .*\d+ iterations in .* of real time, \S+ each \(auto\)"
        r"(, \d+ moves of \w+|; nothing moved: [^;]+)?" + left + "; profile in x.terrace",
        line,
    ), line
    with sqlite3.connect(tmp_path / "x.terrace") as opened:
        assert opened.execute("SELECT count(*) FROM run").fetchone() == (3,)


@pytest.mark.parametrize(
    ("script", "pattern"),
    [
        ("kill -INT $$", r"terrace: [^\n]*\nterrace: sh was ended by SIGINT; the profile goes up to there\n"),
        (
            "{0} 8 & wait; kill -INT $$",
            r"terrace: 2 processes: [^\n]*; sh was ended by SIGINT; profile in x\.terrace\n",
        ),
    ],
)
def test_killing_signal_is_named(script, pattern, marked, tmp_path):
    done = run(*TWO_KINDS, "-o", "x.terrace", "--", "sh", "-c", script.format(marked), cwd=tmp_path)
    assert done.returncode == -signal.SIGINT
    assert re.fullmatch(pattern, done.stderr), done.stderr


def test_reason_for_no_moves_is_stated(marked, tmp_path):
    """In the same line."""
    done = run(*TWO_KINDS, "-o", "x.terrace", "--", marked, 40, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        r"terrace: 40 iterations in \S+ of real time, \S+ each \(auto\); "
        r"nothing moved: its data resides in near already; profile in x\.terrace",
        line,
    ), line


def test_process_that_ended_before_a_killed_one_is_reported(marked, tmp_path):
    """The launcher reads every process's journal."""
    script = f"{marked} 0 & sleep 0.2; kill -9 $!; {marked} 6"
    done = run(*TWO_KINDS, "-o", "x.terrace", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.stderr.count("\n") == 1
    with sqlite3.connect(tmp_path / "x.terrace") as opened:
        assert opened.execute("SELECT max(iterations) FROM main_loop").fetchone() == (6,)


BIG = """
#include <stdlib.h>
int main(void) {
  const size_t n = 100u << 20;
  volatile char* a = malloc(n);
  for (int k = 0; k < 4; ++k)
    for (size_t i = 0; i < n; i += 512) a[i] += 1;
  return 0;
}
"""


@pytest.mark.parametrize("script", ["exec {0}", "{0} & {0}; wait"])
def test_out_of_core_line_is_short_and_show_has_the_rest(script, disk, terrace, tmp_path):
    (tmp_path / "big.c").write_text(BIG)
    subprocess.run(["gcc", "-O1", "big.c", "-o", "big"], cwd=tmp_path, check=True)
    words = ("--memory", "64MiB", "--spill", disk, "-o", "x.terrace")
    done = run(*words, "--", "sh", "-c", script.format("./big"), cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert len(line) < 180, line
    if script.startswith("exec"):
        assert re.match(r"terrace: 100MiB of data in 64MiB of memory: read \w+ and wrote \w+; threads w", line)
        assert len(line) < (180 if "paged" in line else 130), line
    shown = terrace("show", tmp_path / "x.terrace").stdout
    account = r"^note: big \((\d+)\): 100MiB of data in 64MiB of memory: .*the disk was busy for "
    assert len(set(re.findall(account, shown, re.MULTILINE))) == (1 if script.startswith("exec") else 2)
