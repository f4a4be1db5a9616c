"""The tracer from the user's view: trace, misses and coverage of a program with countable misses."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terrace.lab import tracing
from terrace.verbs.lab import coverage
from terrace.verbs.lab.coverage import Row, _match

SWEEP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double weights[8192] = {1.5, 2.5};

int main(int argc, char** argv) {
  void (*begin)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "terrace_loop_begin");
  void (*phase)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "terrace_phase");
  void (*end)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "terrace_loop_end");
  const int n = 131072, marked = argc < 2 && begin;
  double* a = malloc(n * sizeof *a);
  double* b = malloc(n * sizeof *b);
  double sum = 0;
  for (int i = 0; i < n; ++i) a[i] = i;
  if (marked) begin("main");
  for (int round = 0; round < 4; ++round) {
    if (marked) phase("scale");
    for (int i = 0; i < n; ++i) b[i] = 2 * a[i] + weights[i & 8191];
    if (marked) phase("copy");
    memcpy(a, b, n * sizeof *a);
  }
  if (marked) end();
  for (int i = 0; i < n; ++i) sum += a[i];
  printf("%.0f\\n", sum);
  return argc > 2 ? 7 : 0;
}
"""
LINES = 131072 * 8 // 64
CACHES = ("--machine", "unimem-lat4", "--cache", "l2=32KiB", "--cache", "l3=128KiB")


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> tuple[Path, Path]:
    """Builds the program with gcc, and with the wrapper."""
    folder = tmp_path_factory.mktemp("sweep")
    source = folder / "sweep.c"
    source.write_text(SWEEP)
    built = []
    for name, compiler in (("native", "gcc"), ("hooked", Path(sys.executable).with_name("terrace-cc"))):
        program = folder / name
        subprocess.run([compiler, "-O2", "-g", source, "-o", program, "-ldl"], check=True)
        built.append(program)
    return built[0], built[1]


needs_qemu = pytest.mark.skipif(
    not shutil.which(f"qemu-{os.uname().machine}"), reason="qemu-user is not installed"
)


@needs_qemu
def test_misses_counted_by_object_and_code(terrace, programs, tmp_path):
    trace = tmp_path / "a,b.trace"
    done = terrace("lab", "trace", "-o", trace, "--", programs[0])
    assert done.returncode == 0, done.stderr
    assert done.stdout == subprocess.run([programs[0]], capture_output=True, text=True).stdout
    assert done.stderr.startswith(f"terrace: {trace}: ")
    found = terrace("lab", "misses", trace, *CACHES, "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["loops_only"] and document["whole"]
    blocks = [o for o in document["objects"] if o["kind"] == "heap"]
    assert [o["size"] for o in blocks] == [131072 * 8] * 2
    # Each block is met once by the loop and once by the copy, in each of four rounds; what the loop wrote last and
    # the copy reads first is long gone.
    for block in blocks:
        assert block["lines"] == {"program": 4 * LINES, "memory functions": 4 * LINES, "libraries": 0}
    assert {place["site"].split(":")[0] for place in document["places"][:2]} == {"main sweep.c"}
    text = terrace("lab", "misses", trace, *CACHES).stdout
    assert "lines from memory in" in text.splitlines()[-1]


@needs_qemu
def test_trace_exits_with_the_programs_status(terrace, programs, tmp_path):
    trace = tmp_path / "end.trace"
    assert terrace("lab", "trace", "-o", trace, "--", programs[0], "no", "markers").returncode == 7
    whole = json.loads(terrace("lab", "misses", trace, *CACHES, "--json").stdout)
    assert not whole["loops_only"]
    trace.write_bytes(trace.read_bytes()[:-100])
    cut = terrace("lab", "misses", trace, *CACHES)
    assert cut.returncode == 0
    assert "truncated: " in cut.stderr and "whole frames read" in cut.stderr


@needs_qemu
@pytest.mark.soak
def test_truncated_trace_is_read_to_its_last_whole_frame(terrace, programs, tmp_path):
    trace, found = tmp_path / "whole.trace", set()
    terrace("lab", "trace", "-o", trace, "--", programs[0])
    whole = trace.read_bytes()
    for number in range(200):
        trace.write_bytes(whole[: len(whole) * number // 200])
        done = terrace("lab", "misses", trace, *CACHES, "--json")
        frames = re.search(r"truncated: (\d+) whole frames read", done.stderr)
        refused = done.returncode == 1 and "no trace of Terrace's" in done.stderr  # not even the header
        assert refused or (done.returncode == 0 and frames), (number, done.stderr)
        found |= {int(frames[1])} if frames else set()
    assert len(found) > 1


@needs_qemu
def test_coverage_instrumentation_observes_all_instrumented_code(terrace, programs):
    native, hooked = programs
    done = terrace("lab", "coverage", *CACHES, "--native", native, "--json", "--", hooked)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = {o["name"]: o for o in document["objects"]}
    blocks = [o for name, o in rows.items() if name.startswith("main sweep.c:")]
    assert [o["traced"] for o in blocks] == [8 * LINES] * 2
    assert [o["hooked"] for o in blocks] == [8 * LINES] * 2
    # The table of constants is user code's, and compilers do not report it.
    constants = rows["weights" if "weights" in rows else "(constants)"]
    assert constants["traced"] > 0 and constants["hooked"] == 0
    assert document["rest"][0]["object"] == constants["name"]
    assert document["rest"][0]["where"][0]["site"].startswith("main sweep.c:")
    expected = 16 * LINES / document["traced"]
    assert document["seen_share"] == pytest.approx(expected, abs=0.001)
    text = terrace("lab", "coverage", *CACHES, "--native", native, "--", hooked).stdout
    assert "last-level misses of user code are observed" in text.splitlines()[-1]


@needs_qemu
def test_coverage_program_without_main_loop_refused(terrace, programs):
    done = terrace("lab", "coverage", *CACHES, "--native", programs[0], "--", programs[1], "no")
    assert done.returncode == 1
    assert "marks no main loop" in done.stderr and done.stderr.count("\n") == 1


def test_trace_untraceable_program_states_reason(terrace, tmp_path, monkeypatch):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    for words, status, says in (
        (("trace", "--", "no-such-program"), 127, "No such file or directory"),
        (("trace", "--", script), 2, "not an ELF executable"),
        (("trace", "--limit", "12 parsecs", "--", "true"), 2, "12 parsecs"),
        (("misses", tmp_path / "none.trace", *CACHES), 2, "trace file not found"),
        (("misses", script, *CACHES), 2, "no trace of Terrace's"),
        (("misses", script, "-m", "no-such-machine"), 2, "no-such-machine"),
        (("misses", script, "-m", "unimem-lat4", "--cache", "l9=1KiB"), 2, "l9"),
        (("misses", script, "-m", "unimem-lat4", "--domain", "9"), 2, "domains"),
    ):
        done = terrace("lab", *words)
        assert done.returncode == status, done.stderr
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("terrace: "), done.stderr
        assert says in done.stderr
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    done = terrace("lab", "trace", "--", "/bin/true")
    assert done.returncode == 1
    assert "Debian package: qemu-user" in done.stderr


def test_examine_reads_elf_headers(tmp_path):
    here = tracing.examine("true")
    assert here.dynamic and here.isa == os.uname().machine
    # A header of AArch64, big-endian, without segments.
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x02"
    head[18:20] = (183).to_bytes(2, "big")
    other = tmp_path / "other"
    other.write_bytes(head)
    other.chmod(0o700)
    assert tracing.examine(str(other)) == tracing.Executable(other.resolve(), "aarch64_be", False)


def test_blocks_match_in_order_by_pages():
    assert _match([4096 * 5, 100000, 4096], [4096 * 5, 99000, 77777, 4000]) == [(0, 0), (1, 1), (2, 3)]
    assert _match([], [1]) == []


def test_coverage_excess_does_not_compensate():
    found = coverage.Coverage([Row("a", 100, 200), Row("b", 100, 50)], [], [])
    assert found.seen_share == 0.75
    assert found.beyond_share == 0.5
