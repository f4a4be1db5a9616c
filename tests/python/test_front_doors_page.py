"""docs/how-to/c-cpp-fortran-api.md: its files are compiled and run by its commands, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "how-to" / "c-cpp-fortran-api.md"
PREFIX = ROOT / ".venv"
FILE_NAME = re.compile(r"^(?://|/\*|!) (\S+\.\w+)")


def blocks() -> list[tuple[str, str]]:
    """Yields language and text of each code block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_every_block_is_a_file_or_commands():
    for language, text in blocks():
        assert language in ("c", "cpp", "fortran", "sh"), language
        assert language == "sh" or FILE_NAME.match(text), f"no name in the first line of {text[:60]}"


def test_every_file_is_compiled_and_run(tmp_path):
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    environment = os.environ | {
        "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig",
    }
    used, made = "", set()
    for language, text in blocks():
        if language != "sh":
            name = FILE_NAME.match(text)[1]
            (tmp_path / name).write_text(text)
            made.add(name)
            continue
        used += text
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, text + done.stdout + done.stderr
        assert "warning" not in done.stderr, done.stderr
        assert done.stdout, text
        if "terrace run" in text:  # the last command: the first ones ran without
            assert "plain memory" not in done.stdout.splitlines()[-1], done.stdout
    assert all(name in used for name in made)


def test_binary_of_memkind_runs_with_terraces_library(tmp_path):
    """As on the page: a stand-in to link with, and Terrace's library to run with."""
    (stream,) = (text for language, text in blocks() if language == "c" and "hbw_malloc" in text)
    names = ["check_available", "free", "malloc", "verify_memory_region"]
    (tmp_path / "memkind.c").write_text(
        "".join(f"void hbw_{name}(void) {{ __builtin_trap(); }}\n" for name in names)
    )
    (tmp_path / "stream.c").write_text(stream)
    library = tmp_path / "libmemkind.so.0"
    soname = "-Wl,-soname,libmemkind.so.0"
    subprocess.run(["cc", "-shared", "-fPIC", soname, "memkind.c", "-o", library], cwd=tmp_path, check=True)
    include = PREFIX / "include" / "terrace"
    program = tmp_path / "stream"
    subprocess.run(["cc", f"-I{include}", "stream.c", library, "-o", program], cwd=tmp_path, check=True)
    environment = os.environ | {"LD_LIBRARY_PATH": str(Path(PREFIX) / "lib" / "terrace" / "memkind")}
    for nodes, answer in (("0", "yes"), ("none", "no")):
        done = subprocess.run(
            [program], env=environment | {"MEMKIND_HBW_NODES": nodes}, capture_output=True, text=True, check=True
        )
        assert done.stdout.endswith(f"sum 4000000, in high bandwidth memory: {answer}\n")


def test_example_of_the_header_is_a_program(tmp_path):
    """The one in terrace.hpp's first lines."""
    lines = (PREFIX / "include" / "terrace" / "terrace.hpp").read_text().splitlines()
    shown = [line[7:] for line in lines if line.startswith("//     ")]
    (tmp_path / "example.cpp").write_text("\n".join([*shown, ""]))
    include = f"-I{PREFIX / 'include'}"
    subprocess.run(["c++", "-std=c++20", "-O1", include, "example.cpp", "-o", "example"], cwd=tmp_path, check=True)
    assert "int main() {" in shown
    for before in ((), (PREFIX / "bin" / "terrace", "run", "--quiet", "-o", "example.terrace", "--")):
        done = subprocess.run([*before, "./example"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
  void* const library = dlopen(words[1], RTLD_NOW);
  if (!library) return puts(dlerror()), 1;
  void* (*const allocate)(unsigned long) = (void* (*)(unsigned long))dlsym(library, words[2]);
  char* const block = allocate(count * 1000);
  block[2999] = 1;
  return 0;
}
"""


@pytest.mark.parametrize("library", ["libterrace-hbw.so", "libterrace.so"])
def test_libraries_can_be_opened_at_run_time(tmp_path, library):
    """Requires little thread-local data, because a running program has little static TLS space left."""
    (tmp_path / "loads.c").write_text(LOADS)
    subprocess.run(["cc", "-O1", "loads.c", "-o", "loads"], cwd=tmp_path, check=True)
    path = PREFIX / "lib" / "terrace" / library
    done = subprocess.run([tmp_path / "loads", path, "hbw_malloc"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
