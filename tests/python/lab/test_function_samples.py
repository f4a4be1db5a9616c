"""Samples of a native process by function: parsing of the kernel's records, and of arbitrary bytes."""

import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terrace import _core
from terrace.lab import function_samples, native
from terrace.lab.surroundings import AS_HERE


def record(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHH", kind, 0, 8 + len(body)) + body


def test_records_split_by_their_sizes() -> None:
    content = record(9, struct.pack("=Q", 7)) + record(1, bytes(16))
    assert list(function_samples.records(content)) == [(9, struct.pack("=Q", 7)), (1, bytes(16))]


@given(st.binary(max_size=200))
def test_records_of_arbitrary_bytes_end(content: bytes) -> None:
    """Each record is complete, and none is returned twice."""
    bodies = [body for _, body in function_samples.records(content)]
    assert sum(8 + len(body) for body in bodies) <= len(content)


def test_mapping_states_file_and_offset() -> None:
    body = struct.pack("=IIQQQ", 1, 1, 0x1000, 0x2000, 0x500) + b"/bin/p\0\0"
    assert function_samples.mapping(body) == function_samples.Mapping(0x1000, 0x3000, 0x500, "/bin/p")


# Nine tenths of the time in one function, a tenth in the other.
PROGRAM = """
static volatile double x = 1;
__attribute__((noinline)) static void more(void) { for (int i = 0; i < 18000000; ++i) x = x / 1.0000001; }
__attribute__((noinline)) static void less(void) { for (int i = 0; i < 2000000; ++i) x = x / 1.0000001; }
int main(void) { more(); less(); return 0; }
"""


def test_sampler_attributes_time_to_functions(tmp_path: Path) -> None:
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", tmp_path / "program.c", "-o", program], check=True)
    names = {one.name for one in _core.function_ranges(str(program))}
    assert {"more", "less", "main"} <= names
    try:
        run = native.run_whole([program], None, AS_HERE, period=250e-6)
    except native.NotSampledError as error:
        pytest.skip(str(error))
    assert run.status == 0 and run.where is not None
    took = run.where.time
    assert took["more"] / (took["more"] + took["less"]) == pytest.approx(0.9, abs=0.05)
    assert sum(took.values()) == pytest.approx(run.sample.processor, rel=0.3)


def test_names_of_a_non_program_are_empty(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    assert _core.function_ranges(str(tmp_path / "text")) == []
    assert _core.function_ranges(str(tmp_path / "none")) == []
