"""Stencil pages: their commands build and run their programs, and the tables of the reference are complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT

GUIDE = (ROOT / "docs" / "how-to" / "stencils.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "stencils.md").read_text(encoding="utf-8")
PREFIX = ROOT / ".venv"
PROGRAMS = BUILD / "workloads" / "stencils" / "terrace-stencils"
MACHINE = f"machine={ROOT / 'machines' / 'p100-nvlink.toml'}"
SOURCE = re.compile(r"// (\w+\.cpp): ")  # begins a block that is a whole file


def blocks(language):
    """Returns the blocks of a language on both pages."""
    return re.findall(rf"^```{language}\n(.*?)^```$", f"{GUIDE}\n{REFERENCE}", re.MULTILINE | re.DOTALL)


def commands(word):
    """Returns the only block of commands that contains the word."""
    (text,) = (block for block in blocks("sh") if word in block)
    return text


def tables(head):
    """Returns the rows of the reference's tables whose first column has that heading."""
    texts = [text.partition("\n\n")[0] for text in REFERENCE.split(f"\n| {head} |")[1:]]
    return [row for text in texts for row in text.splitlines()[2:]]


def column(head):
    """Returns the code words of the first column of each table with that heading, without values."""
    return [word.partition("=")[0] for row in tables(head) for word in re.findall("`([^`]+)`", row.split("|")[1])]


def run(*command, folder=None, **variables):
    environment = os.environ | {"PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"} | variables
    return subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def said(text):
    """Returns the names listed by a refusal."""
    return sorted(re.findall(r"(?:there are|set one of) (.*)", text)[0].split(", "))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder in which the guide's first commands have built its program, with their output."""
    path = tmp_path_factory.mktemp("stencils")
    for source in blocks("cpp"):
        if name := SOURCE.match(source):
            (path / name[1]).write_text(source)
    assert {file.name for file in path.iterdir()} == {"heat.cpp", "spread.cpp", "resumed.cpp"}
    done = run("bash", "-euo", "pipefail", "-c", commands("executor=parallel ./heat"), folder=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    (path / "printed").write_text(done.stdout)
    return path


def test_program_prints_the_same_in_every_mode(folder):
    lines = (folder / "printed").read_text().splitlines()
    runs = re.findall(r"\./heat$", commands("executor=parallel ./heat"), re.MULTILINE)
    assert len(lines) == len(runs) == 5
    (shown,) = blocks("text")
    assert set(lines) == {shown.strip()}


def test_program_passes_its_checks(folder):
    done = run("bash", "-euo", "pipefail", "-c", commands("TERRACE_STENCIL_CHECKS"), folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_program_with_a_fixed_boundary_value_gains_heat(folder):
    (fragment,) = (block for block in blocks("cpp") if not SOURCE.match(block))
    source = (folder / "heat.cpp").read_text()
    mirror, loop = "    mirror({{0, n}, {-1, 0}}, 0, 1);\n", "  for (int step = 1;"
    assert source.count(mirror) == source.count(loop) == 1
    (folder / "fixed.cpp").write_text(source.replace(mirror, "").replace(loop, fragment + loop))
    build = commands("TERRACE_STENCIL_CHECKS").replace("heat.cpp", "fixed.cpp").replace("checked", "fixed")
    printed = set()
    for executor in ("serial", "tiled"):
        done = run("bash", "-uo", "pipefail", "-c", build, folder=folder, TERRACE_STENCIL=f"executor={executor}")
        assert (done.returncode, done.stderr) == (1, "")  # heat is not conserved
        printed.add(done.stdout)
    (line,) = printed
    assert float(re.match(r"heat (\S+), ", line)[1]) > 100 * 25


def test_cmake_builds_the_program(folder):
    (text,) = blocks("cmake")
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(heat LANGUAGES CXX)\n{text}"
    )
    for words in (("-B", "build", f"-DCMAKE_PREFIX_PATH={PREFIX}"), ("--build", "build")):
        done = run("cmake", *words, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    assert run("build/heat", "50", folder=folder).returncode == 0


def mpi_in(path):
    """Returns a folder with `mpicxx` and `mpirun` of one working MPI; several may be installed."""
    (path / "empty.cpp").write_text("#include <mpi.h>\n")
    for kind in ("", ".mpich", ".openmpi"):
        compiler, starter = (shutil.which(f"{name}{kind}") for name in ("mpicxx", "mpirun"))
        if compiler and starter and run(compiler, "-fsyntax-only", path / "empty.cpp").returncode == 0:
            for name, command in (("mpicxx", compiler), ("mpirun", starter)):
                (path / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
                (path / name).chmod(0o755)
            return path
    return None


def test_program_on_ranks_prints_the_same(folder, tmp_path):
    if mpi_in(tmp_path) is None:
        pytest.skip("no MPI: no mpicxx that compiles")
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = run("bash", "-euo", "pipefail", "-c", commands("mpirun"), folder=folder, **found)
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = done.stdout.splitlines()
    assert one == two
    assert one.startswith("heat ")


def test_program_resumes_from_its_checkpoint(folder, tmp_path):
    for component in ("stencil", "stencil_hdf5"):
        done = run("cmake", "--install", BUILD, "--prefix", tmp_path, "--component", component)
        assert done.returncode == 0, done.stdout + done.stderr
    found = {"PKG_CONFIG_PATH": str(tmp_path / "lib" / "pkgconfig")}
    done = run("bash", "-euo", "pipefail", "-c", commands("./resumed"), folder=folder, **found)
    assert done.returncode == 0, done.stdout + done.stderr
    whole, part, rest = done.stdout.splitlines()
    assert whole == rest
    assert whole.startswith("step 60, ")
    assert part.startswith("step 35, ")


def test_every_option_and_executor_is_listed(folder):
    assert sorted(column("option")) == said(run("./heat", folder=folder, TERRACE_STENCIL="x=1").stderr)
    assert sorted(column("executor")) == said(run("./heat", folder=folder, TERRACE_STENCIL="executor=x").stderr)


def test_refusals_equal_the_page(folder):
    messages = [re.match(r"\| `([^`]+)` \|", row)[1] for row in tables("error")]
    patterns = [re.sub(r"\\\.\\\.\\\.|\bN\b|FOLDER", ".*", re.escape(message)) for message in messages]
    too_far = (str(PROGRAMS), "wave", "dims=3", "cells=64", "steps=2")  # a loop that reads nine planes
    without_folder = (("./heat",), "memory=4MiB,folder=/no/where", 1)
    for program, words, status in ((too_far, "memory=256KiB", 2), without_folder):
        done = run(*program, folder=folder, TERRACE_STENCIL=f"executor=streamed,{words}")
        assert done.returncode == status
        assert any(re.search(pattern, done.stderr) for pattern in patterns), done.stderr


def test_every_statistic_is_listed():
    header = (ROOT / "include" / "terrace" / "stencil" / "statistics.hpp").read_text()
    of_a_loop, of_all = (text.partition("};")[0] for text in re.split(r"^struct \w+ {", header, flags=re.M)[1:])
    member = re.compile(r"^  \S.*? (\w+)(?: = 0)?;", re.MULTILINE)
    assert set(member.findall(of_all)) <= set(column("member"))
    (by_loop,) = re.findall(r"^\| `by_loop`.*$", REFERENCE, re.MULTILINE)
    assert all(f"`{name}`" in by_loop for name in member.findall(of_a_loop))


def test_every_mode_and_argument_is_listed():
    assert sorted(column("mode")) == said(run(PROGRAMS, "jacobi", "how=x", MACHINE).stderr)
    refusal = run(PROGRAMS, "jacobi", "x=1", MACHINE).stderr
    own = ["cells", "iterations", "chain", "source", "checkpoint", "every", "restart"]
    assert sorted([*column("argument"), *own]) == said(refusal)


def test_every_program_is_listed_with_its_arguments():
    listed = re.findall(r"^(\w+) .*\n((?:  .*\n)+)", run(PROGRAMS).stdout, re.MULTILINE)
    assert sorted(column("program")) == sorted(name for name, _ in listed)
    for name, about in listed:
        (row,) = (row for row in tables("program") if row.startswith(f"| `{name}`"))
        assert re.findall(r"`(\w+)`", row.split("|")[2]) == re.findall(r"^  (\w+)=", about, re.MULTILINE)


def test_every_key_is_listed():
    found = json.loads(run(PROGRAMS, "jacobi", "cells=64", MACHINE).stdout)
    assert set(found) - {"schema"} == set(column("key of the JSON"))
    here = json.loads(run(PROGRAMS, "jacobi", "cells=64", TERRACE_STENCIL="executor=serial").stdout)
    assert all(f"`{key}`" in REFERENCE for key in set(here) - {"schema"})
    assert all(f"`{key}`" in REFERENCE for result in here["results"].values() for key in result)


def test_examples_run():
    pattern = re.compile(r"^    (terrace-stencils.*?)(?: {2,}#.*)?$", re.MULTILINE)
    shown = set(pattern.findall(REFERENCE))
    assert len(shown) == 3
    assert len(pattern.findall(GUIDE)) == 1
    assert shown.issuperset(pattern.findall(GUIDE))
    for command in sorted(shown):
        done = run(PROGRAMS, *command.split()[1:], folder=ROOT)
        assert done.returncode == 0, done.stderr


def test_plans_are_shown_as_on_the_page(folder):
    path = f"{PREFIX / 'bin'}:{os.environ['PATH']}"
    done = run("bash", "-euo", "pipefail", "-c", commands("terrace show"), folder=folder, PATH=path)
    assert done.returncode == 0, done.stderr
    assert "140 loops, ran 9 times" in done.stdout
    assert (folder / "heat.html").exists()


def test_every_key_of_the_plans_is_listed(folder):
    def keys(value):
        if isinstance(value, dict):
            yield from value
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(one)

    table = "\n".join(tables("key of the file"))
    plain = (
        "name block element begin end is_temporary seconds dataset access low high offsets reductions loops runs"
    )
    plain += " dimension chunk most_chunks steps first_tile last_tile"
    how = "executor=streamed,threads=1,memory=4MiB,folder=.,plans=keys.plans"
    assert run("./heat", folder=folder, TERRACE_STENCIL=how).returncode == 0
    assert set(keys(json.loads((folder / "keys.plans").read_text()))) - set(plain.split()) <= set(
        re.findall("`([^`]+)`", table)
    )
