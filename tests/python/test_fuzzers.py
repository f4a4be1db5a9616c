# SPDX-License-Identifier: Apache-2.0
"""Fuzzers of tests/fuzz, seeded with real files: each runs for TERRACE_FUZZ_SECONDS (600) and finds no crash."""

import ctypes
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from gpu_placement_lines import traces
from harness import TERRACE
from terrace import _core
from virtual_time_lines.common import OWN, program, simulate, workload

pytestmark = pytest.mark.soak

SECONDS = int(os.environ.get("TERRACE_FUZZ_SECONDS", "600"))
BUILD, SOURCES = ROOT / "build" / "fuzz", ROOT / "tests" / "fuzz"
LENGTH = "-max_len=65536"
HEAD, COLUMNS, SPAN = (
    "<II8sIIIIq",
    3,
    255,
)  # src/tiering/sim/recording/recording_frame.hpp; tests/fuzz/recording_input.hpp


def decompressed(stored, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    into = ctypes.create_string_buffer(max(size, 1))
    assert zstd.ZSTD_decompress(into, ctypes.c_size_t(size), stored, ctypes.c_size_t(len(stored))) == size
    return into.raw[:size]


def journal_seeds(folder):
    """Yields a real journal, and its smallest record of each type in the fuzzer's second form."""
    options = ["--exact", "--keep-journals", "--machine", "unimem-lat4", "--fast", "256KiB"]
    simulate(
        folder / "mg.terrace", options, [workload("mg", True), "--class", "S", "--iterations", "30"],
        TMPDIR=str(folder),
    )  # fmt: skip
    (journal,) = folder.glob("terrace-*/*.journal")
    text = journal.read_bytes()
    yield b"\0" + text[: 1 << 14]
    at, smallest = 64, {}
    while at + 16 <= len(text):
        length, kind = struct.unpack_from("<IH", text, at)
        if length < 16:
            break
        payload = text[at + 16 : at + length]
        if len(payload) < 1 << 14 and len(payload) <= len(smallest.get(kind, payload)):
            smallest[kind] = payload
        at += (length + 7) & ~7
    for kind, payload in smallest.items():
        yield b"\1" + struct.pack("<BH", kind, len(payload)) + payload


def trace_seeds(folder):
    if shutil.which(f"qemu-{os.uname().machine}") is None:
        pytest.skip("no qemu-user, which traces a program")
    subprocess.run([TERRACE, "lab", "trace", "-o", folder / "true.trace", "--", "/bin/true"], check=True)
    yield b"\0" + (folder / "true.trace").read_bytes()


def recordings(folder):
    """Yields real recordings, each with its columns as a byte of length and so many bytes."""
    for pattern, threads in (("stream", 2), ("index8", 1)):
        file = folder / f"{pattern}.misses"
        options = ["--machine", "unimem-lat4", "--cache", "l3=64KiB", "--misses", file]
        words = [program(OWN / "patterns.c", "-fopenmp"), pattern, "200", str(threads)]
        simulate(folder / "seed.terrace", options, words, OMP_SCHEDULE="static")
        content, at, spans = file.read_bytes(), 0, b""
        while at < len(content):
            number = struct.unpack_from(HEAD, content, at)[4]
            sizes = struct.unpack_from("<" + "III" * COLUMNS, content, at + struct.calcsize(HEAD))
            at += struct.calcsize(HEAD) + 12 * COLUMNS + 4
            for stored, size in zip(sizes[0::3], sizes[1::3], strict=True):
                column = decompressed(content[at : at + stored], size)
                at += stored
                if number > 0:  # a process's first frame is its header
                    spans += bytes([min(len(column), SPAN)]) + column[:SPAN]
        yield content, spans


def recording_seeds(folder):
    for content, spans in recordings(folder):
        yield b"\0" + content
        yield b"\1" + spans


def replay_seeds(folder):
    return (spans for _, spans in recordings(folder))


def warp_seeds(folder):
    """Yields traces of warps, whole and as blocks: kind, length of the content, content."""
    for name in ("needle", "pathfinder", "particlefilter"):
        path = folder / f"{name}.warps"
        _core.write_warps(name, "test", str(path))
        trace, at, spans = path.read_bytes(), 12, b""
        while at < len(trace):
            kind, stored, size, _ = struct.unpack_from("<4I", trace, at)
            held = trace[at + 16 : at + 16 + stored]
            held = (decompressed(held, size) if kind == 3 else held)[:0xFFFF]
            spans += struct.pack("<BH", kind, len(held)) + held
            at += 16 + stored
        yield b"\0" + trace
        yield b"\1" + spans


def accelsim_seeds(folder):
    for made in (traces.stream(folder, 2), traces.chase(folder, 20), traces.scatter(folder, 1, 8)):
        own = Path(made)
        parts = ("kernelslist.g", "allocations", "kernel-1.traceg")
        yield b"\0".join(own.with_name(name).read_bytes() for name in parts)


FUZZERS = {
    "machine_file_fuzz": (lambda folder: (), f"-dict={SOURCES / 'machine.dict'}", ROOT / "machines"),
    "mpi_objects_fuzz": (
        lambda folder: (),
        f"-dict={SOURCES / 'mpi_objects.dict'}",
        ROOT / "share" / "mpi_objects",
    ),
    "journal_fuzz": (journal_seeds,),
    "trace_fuzz": (trace_seeds, LENGTH),
    "recording_fuzz": (recording_seeds, LENGTH),
    "replay_fuzz": (replay_seeds, LENGTH),
    "warp_file_fuzz": (warp_seeds, LENGTH),
    "accelsim_fuzz": (accelsim_seeds, LENGTH, f"-dict={SOURCES / 'accelsim.dict'}"),
}


@pytest.fixture(scope="module")
def binaries():
    if shutil.which("clang++") is None:
        pytest.skip("no clang++, and gcc has no libFuzzer")
    clang = ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]
    options = ["-DTERRACE_WORKLOADS=OFF", "-DTERRACE_FUZZ=ON", "-DTERRACE_SANITIZE=fuzzer-no-link,address"]
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *clang, *options], check=True)
    subprocess.run(["ninja", "-C", BUILD, *FUZZERS], check=True)
    return BUILD / "tests" / "fuzz"


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzzer_finds_no_crash(name, binaries, tmp_path):
    seeds, *words = FUZZERS[name]
    (tmp_path / "made").mkdir()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds(tmp_path / "made")):
        (corpus / f"seed{number}").write_bytes(seed)
    limits = [
        f"-max_total_time={SECONDS}",
        "-seed=1",
        "-print_final_stats=1",
        f"-artifact_prefix={tmp_path}/found-",
    ]
    done = subprocess.run(
        [binaries / name, *limits, corpus, *words], capture_output=True, text=True, errors="replace", cwd=tmp_path,
        timeout=SECONDS + 300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(tmp_path.glob("found-*")) == []
    assert int(re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)[1]) > 0
    assert int(re.search(r"Done \d+ runs in (\d+) second", done.stderr)[1]) >= SECONDS
