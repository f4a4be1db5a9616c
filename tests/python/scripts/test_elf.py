"""Dependencies of a package as scripts/packaging reads them, compared with objdump and the loader."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "packaging"))
import elf  # noqa: E402

PREFIX = Path(sys.executable).parent.parent
FILES = [
    PREFIX / "bin/terrace",
    PREFIX / "bin/terrace-cc",
    PREFIX / "lib/terrace/libterrace.so",
    Path("/bin/bash"),
]


def dumped(path):
    return subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_names_and_versions_equal_objdump(path):
    text = dumped(path)
    assert elf.needed(path) == re.findall(r"NEEDED +(\S+)", text)
    references = text.partition("Version References:")[2]
    for library in ("GLIBC", "GLIBCXX"):
        wanted = {
            tuple(map(int, found.split("."))) for found in re.findall(rf" {library}_([0-9.]+)\n", references)
        }
        assert set(elf.versions(path, library)) == wanted
    assert elf.versions(path, "GLIBC")


def test_libraries_equal_the_loaders():
    """The loader prints them itself (LD_TRACE_LOADED_OBJECTS)."""
    done = subprocess.run([FILES[0]], capture_output=True, text=True, env={"LD_TRACE_LOADED_OBJECTS": "1"})
    assert elf.resolved(FILES[0]) == {
        name: Path(where) for name, where in re.findall(r"(\S+) => (/\S+)", done.stdout)
    }


def test_only_elf_files_have_dependencies(tmp_path):
    for name, content in (("script", b"#!/bin/sh\n"), ("short", b"\x7fELF"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        assert not elf.is_elf(tmp_path / name)
    assert elf.is_elf(FILES[0])
    assert elf.is_elf(FILES[2])
    assert not elf.is_elf(PREFIX / "lib/terrace/stand-ins/libtsan_preinit.o")


def test_missing_library_is_an_error(tmp_path):
    (tmp_path / "a.c").write_text("int a(void) { return 1; }\n")
    (tmp_path / "b.c").write_text("int a(void); int main(void) { return a(); }\n")
    subprocess.run(["gcc", "-shared", "-o", "libgone.so", "a.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "b.c", "-o", "b", "-L.", "-lgone"], cwd=tmp_path, check=True)
    with pytest.raises(SystemExit, match=r"needs libgone\.so"):
        elf.resolved(tmp_path / "b")
