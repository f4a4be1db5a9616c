"""Variables of ELF files, compared with nm; damaged files have none, or fewer."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terrace.imports.data_symbols import ElfData, elf_data

PROGRAM = """
double large[3000];
static char inner[5000] = {1};
int small[10];
const char fixed[6000] = {2};
int main(void) { return large[1] + inner[2] + small[3] + fixed[4]; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "a.c", "-o", "a"], cwd=folder, check=True)
    return folder / "a"


def test_elf_data_variables_equal_nm(program):
    listed = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines() if len(line.split()) == 4]
    wanted = {(name, int(low, 16), int(size, 16)) for low, size, kind, name in rows if kind in "BbDdRr"}
    found = elf_data(program, 4096)
    assert {(one.name, one.address, one.size) for one in found.variables} == {
        one for one in wanted if one[2] >= 4096
    }
    assert {one.name for one in found.variables} == {"large", "inner", "fixed"}
    # Written data lie in a segment that may be.
    writable = [one for one in found.segments if one.writable]
    for one in found.variables:
        within = any(part.address <= one.address < part.address + part.in_memory for part in writable)
        assert within == (one.name != "fixed")


def test_elf_data_other_file_is_empty(tmp_path):
    (tmp_path / "text").write_text("no ELF")
    assert elf_data(tmp_path / "text", 1) == ElfData([], [])
    assert elf_data(tmp_path / "none", 1) == ElfData([], [])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_elf_data_damaged_file_does_not_raise(program, tmp_path_factory, data):
    text = bytearray(program.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        # Headers decide: they are hit half of the time.
        where = data.draw(st.one_of(st.integers(0, 800), st.integers(0, len(text) - 1)))
        text[where] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del text[data.draw(st.integers(0, len(text))) :]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(bytes(text))
    elf_data(path, 4096)
