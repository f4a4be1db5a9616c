"""The readers of traces and of recordings, and replays as a whole, under a fuzzer."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from pathlib import Path

from fuzzing import GOAL_SECONDS, build_fuzzers, fuzz, write_corpus
from harness import TERRACE, Line, Measured, run

from virtual_time.common import OWN, fresh, program, simulate
from virtual_time.tracer import needs_qemu

FUZZERS = ("trace_fuzz", "recording_fuzz", "replay_fuzz")
SPAN = 255  # bytes of a column that the fuzzers' own form has
COLUMNS = 3
HEAD = "<II8sIIIIq"  # src/tiering/sim/recording_frame.hpp


def decompressed(stored: bytes, size: int) -> bytes:
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    into = ctypes.create_string_buffer(max(size, 1))
    got = zstd.ZSTD_decompress(into, ctypes.c_size_t(size), stored, ctypes.c_size_t(len(stored)))
    if got != size:
        raise RuntimeError("a column of a recording cannot be decompressed")
    return into.raw[:size]


def _frames(recording: bytes) -> Iterator[list[bytes]]:
    """Yields the columns of each frame after a process's first, which is its header."""
    at = 0
    while at < len(recording):
        number = struct.unpack_from(HEAD, recording, at)[4]
        sizes = struct.unpack_from("<" + "III" * COLUMNS, recording, at + struct.calcsize(HEAD))
        at += struct.calcsize(HEAD) + 12 * COLUMNS + 4
        columns = []
        for stored, size in zip(sizes[0::3], sizes[1::3], strict=True):
            columns.append(decompressed(recording[at : at + stored], size))
            at += stored
        if number > 0:
            yield columns


def _in_spans(recording: bytes) -> bytes:
    """Encodes a recording for tests/fuzz/recording_input.hpp: each column's length in a byte, and its
    beginning."""
    spans = bytearray()
    for columns in _frames(recording):
        for column in columns:
            spans += bytes([min(len(column), SPAN)]) + column[:SPAN]
    return bytes(spans)


def _seeds(folder: Path) -> dict[str, list[bytes]]:
    """Returns a real trace and real recordings, whole and in the form that reaches the columns' content."""
    needs_qemu()
    trace = folder / "true.trace"
    run([TERRACE, "lab", "trace", "-o", trace, "--", Path("/bin/true")])
    seeds: dict[str, list[bytes]] = {name: [] for name in FUZZERS}
    seeds["trace_fuzz"].append(b"\0" + trace.read_bytes())
    patterns = program(OWN / "patterns.c", "-fopenmp")
    for pattern, threads in (("stream", 2), ("index8", 1)):
        recording = folder / f"{pattern}.misses"
        options = ["--machine", "unimem-lat4", "--cache", "l3=64KiB", "--misses", str(recording)]
        simulate(folder / "seed.terrace", options, [patterns, pattern, "200", str(threads)], OMP_SCHEDULE="static")
        content = recording.read_bytes()
        spans = _in_spans(content)
        seeds["recording_fuzz"] += [b"\0" + content, b"\1" + spans]
        seeds["replay_fuzz"].append(spans)
    return seeds


def fuzzers() -> Measured:
    """Runs the fuzzers of the readers and of replays."""
    binaries, folder = build_fuzzers(FUZZERS), fresh("fuzz")
    for name, seeds in _seeds(folder).items():
        write_corpus(folder / name, seeds)
    return fuzz(binaries, folder, {name: ["-max_len=65536"] for name in FUZZERS})


LINES = [
    Line("fuzzers", f"readers of traces and recordings, and replays: {GOAL_SECONDS} s each, no crash", fuzzers)
]
