"""DHAT files: counts of a program with known accesses; damaged files are refused in one line."""

import json
import shutil
import subprocess

import pytest
from damage import damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from terrace import _core
from terrace.imports import dhat, dhat_names
from terrace.imports.measured import DamagedError, Object
from terrace.store.reader import Store

# Two arrays: one is read three times, the other written and read three times. A block that lives a hundred times.
PROGRAM = r"""
#include <stdlib.h>
static double* make(long n) { return calloc(n, sizeof(double)); }
int main(void) {
  volatile double* a = make(100000);
  volatile double* b = malloc(100000 * sizeof *b);
  double sum = 0;
  for (int k = 0; k < 3; ++k)
    for (long i = 0; i < 100000; ++i) {
      b[i] = k;
      sum += a[i] + b[i];
    }
  for (int i = 0; i < 100; ++i) {
    volatile char* c = malloc(100);
    c[0] = 1;
    free((void*)c);
  }
  return sum < 0;
}
"""
POINT = {"tb": 64, "tbk": 1, "mb": 64, "mbk": 1, "rb": 128, "wb": 32, "fs": [1]}
SMALL = {
    "dhatFileVersion": 2,
    "mode": "heap",
    "bkacc": True,
    "cmd": "./a b",
    "pid": 7,
    "te": 1000,
    "pps": [POINT],
    "ftbl": ["[root]", "0x1: main (a.c:3)"],
}


@pytest.fixture(scope="module")
def counted_file(tmp_path_factory):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    folder = tmp_path_factory.mktemp("dhat")
    (folder / "counted.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "counted.c", "-o", "counted"], cwd=folder, check=True)
    command = ["valgrind", "--tool=dhat", "--dhat-out-file=counted.dhat", "./counted"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder / "counted.dhat"


def test_dhat_known_program_counts_its_accesses(counted_file):
    blocks = {block.name: block for block in dhat.read(counted_file).blocks}
    a, b, c = blocks["make counted.c:3"], blocks["main counted.c:6"], blocks["main counted.c:14"]
    assert (a.size, a.reads, a.writes) == (800_000, 2_400_000, 0)
    assert (b.size, b.reads, b.writes) == (800_000, 2_400_000, 2_400_000)
    assert (c.size, c.reads, c.writes) == (100, 0, 100)  # a hundred bytes at most at a time


def test_dhat_profile_readable_by_every_subcommand(counted_file, terrace, tmp_path):
    profile = tmp_path / "counted.terrace"
    done = terrace("import", counted_file, "-o", profile, "--machine", "knl-7210-flat")
    assert done.returncode == 0, done.stderr
    store = Store(profile)
    lines = dict(
        store._all(
            "SELECT object.name, sum(cell.read_lines) FROM cell JOIN object ON cell.chunk BETWEEN first_chunk "
            "AND first_chunk + chunks - 1 GROUP BY object.id"
        )
    )
    assert lines["make counted.c:3"] == pytest.approx(2_400_000 / 64)
    shown = json.loads(terrace("show", profile, "--json").stdout)
    assert shown["objects"][0]["name"] == "main counted.c:6"  # twice the other's traffic
    assert any("knows no time" in note["text"] for note in shown["notes"])
    # b's bytes are accessed twice as often as a's: with room for one, it is b.
    plan = terrace("plan", profile, "--budget", "hbm=1MiB", "-o", tmp_path / "p.toml")
    assert plan.returncode == 0, plan.stderr
    assert "main counted.c:6" in (tmp_path / "p.toml").read_text()
    assert terrace("bounds", profile).returncode == 0
    # The name that is given is the name that is written; one of the subcommand's own is a new one.
    before = profile.stat()
    terrace("import", counted_file, "-o", profile, "--machine", "knl-7210-flat")
    assert profile.stat().st_ino != before.st_ino
    assert not (tmp_path / "counted-2.terrace").exists()
    given = tmp_path / "of.dhat"
    given.write_bytes(counted_file.read_bytes())
    for name in ("of.dhat.terrace", "of.dhat-2.terrace"):
        said = terrace("import", given, "--machine", "knl-7210-flat").stderr
        assert said.endswith(f"profile in {tmp_path / name}\n")
        assert (tmp_path / name).exists()
    refused = terrace("import", given, "-o", given, "--machine", "knl-7210-flat")
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"terrace: {given}: a file is there that is no profile")
    assert given.read_bytes() == counted_file.read_bytes()


def test_dhat_profile_keeps_accesses(counted_file):
    counted = dhat.read(counted_file)
    phase = dhat.measured(counted, 64, 1e9).phases[0]
    assert sum(cell.reads for cell in phase.cells.values()) * 64 == pytest.approx(
        sum(block.reads for block in counted.blocks)
    )
    assert sum(cell.writes for cell in phase.cells.values()) * 64 == pytest.approx(
        sum(block.writes for block in counted.blocks)
    )


@pytest.mark.parametrize(
    "stack, name",
    [
        (["0x1: malloc (in /usr/libexec/valgrind/vgpreload_dhat.so)", "0x2: f (a.c:1)"], "f a.c:1"),
        (["0x1: operator new(unsigned long) (in /x/vgpreload_dhat.so)", "0x2: g() (a.cpp:9)"], "g() a.cpp:9"),
        (["0x1: malloc (in /x/vgpreload_a.so)", "0x2: fopen (in /lib/libc.so.6)", "0x3: h (h.c:2)"], "h h.c:2"),
        (["0x1: malloc (in /x/vgpreload_a.so)", "0x2: k (in /bin/k)"], "k"),
        (["0x1: malloc (in /x/vgpreload_a.so)", "0x2: fopen (in /lib/libc.so.6)"], "fopen"),
        ([], "(unknown)"),
    ],
)
def test_dhat_blocks_named_by_allocating_code(stack, name):
    assert dhat_names.by_words(stack) == name


@pytest.mark.parametrize(
    "change, words",
    [
        ({"dhatFileVersion": 3}, "version 3"),
        ({"mode": "copy"}, "mode 'copy'"),
        ({"bkacc": False}, "not counted"),
        ({"ftbl": [1]}, "ftbl"),
        ({"pps": {}}, "pps"),
        ({"pps": [{**POINT, "fs": [2]}]}, "program point 0: key 'fs'"),
        ({"pps": [{**POINT, "rb": -1}]}, "program point 0: key 'rb'"),
        ({"pps": [{**POINT, "mb": "64"}]}, "program point 0: key 'mb'"),
        ({"pid": None}, "pid"),
        ({"cmd": 1}, "cmd"),
    ],
)
def test_dhat_invalid_document_states_error(change, words):
    with pytest.raises(DamagedError, match=words) as refused:
        dhat.parse(json.dumps({**SMALL, **change}).encode(), "x.dhat")
    assert str(refused.value).startswith("x.dhat: ")
    assert "\n" not in str(refused.value)


def test_import_invalid_file_refused_in_one_line(terrace, tmp_path):
    (tmp_path / "cut.dhat").write_text(json.dumps(SMALL)[:-20])
    done = terrace("import", tmp_path / "cut.dhat", "-o", tmp_path / "o.terrace")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "o.terrace").exists()
    assert terrace("import", tmp_path / "none").returncode == 2
    (tmp_path / "good.dhat").write_text(json.dumps(SMALL))
    assert terrace("import", tmp_path / "good.dhat", "--interval", "1").returncode == 2


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_dhat_damaged_file_refused(data):
    text = damaged(data, json.dumps(SMALL).encode(), 4)
    try:
        counted = dhat.parse(text)
        if any(block.size for block in counted.blocks):
            measured = dhat.measured(counted, 64, 1e9)
            assert all(one.chunks >= 1 for one in measured.objects)
    except DamagedError as error:
        assert "\n" not in " ".join(str(error).split())


@given(st.integers(1, 1 << 50))
def test_object_chunks_cover_it(size):
    one = Object("x", "heap", size)
    assert one.chunk_size % 4096 == 0
    assert 1 <= one.chunks <= 64
    assert (one.chunks - 1) * one.chunk_size < size <= one.chunks * one.chunk_size


def test_memory_at_home_equals_machine_file():
    line, latency, bandwidth, frequency = _core.memory_at_home(_core.Machine.read("knl-7210-flat"))
    assert line == 64
    assert 50e-9 < latency < 500e-9
    assert 1e9 < bandwidth < 1e12
    assert frequency == pytest.approx(1.3e9)
