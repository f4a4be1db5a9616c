# SPDX-License-Identifier: Apache-2.0
"""Small programs of the kinds that failed in public reports (tests/support/every_mode): each gives what it gives
without Terrace under every subcommand, built with gcc and with clang.

All start with a stack of 1 MiB, so that constant stack is part of what is compared.
"""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE

pytestmark = pytest.mark.soak

SOURCES, WRAPPERS = ROOT / "tests" / "support" / "every_mode", Path(sys.executable).parent
FAST = ["--fast", "2MiB"]
ON = ["--machine", "unimem-lat4", "-o", "mode.terrace"]
MODES = {
    "alone": [],
    "run": ["run"],
    "live": ["run", *FAST],
    "by intent": ["run", "--intent", "bandwidth"],
    "profiled": ["run", "--profile", "-o", "mode.terrace"],
    "out of core": ["run", "--memory", "64MiB", "--spill", "."],
    "record": ["record", *ON],
    "simulate": ["simulate", *ON, *FAST],
    "exact": ["simulate", *ON, "--exact"],
    "by plan": ["simulate", *ON, *FAST, "--plan", "mode.toml"],
}


def built(folder, compiler, source, *flags, hooked=False):
    """Builds a source with a compiler, or with the wrapper that stands for it."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    words = [compiler]
    if hooked:
        kind, name = ("CXX", "c++") if compiler.endswith("++") else ("CC", "cc")
        words = ["env", f"TERRACE_{kind}={compiler}", WRAPPERS / f"terrace-{name}"]
    program = folder / f"{Path(source).stem}{'-hooked' * hooked}{''.join(flags)}"
    subprocess.run([*words, *flags, SOURCES / source, "-o", program], check=True)
    return program


def ended(words, folder):
    """Runs with a stack of 1 MiB; returns status and output."""
    limited = ["sh", "-c", 'ulimit -s 1024 && exec "$@"', "sh", *words]
    done = subprocess.run(limited, text=True, capture_output=True, timeout=600, cwd=folder)
    return done.returncode, done.stdout


def compare(mode, native, program, folder):
    """Compares a run in a mode with the native program."""
    if mode == "by plan":
        record = [TERRACE, "record", "--machine", "unimem-lat4", "-o", "record.terrace", "--", *program]
        plan = [TERRACE, "plan", "record.terrace", *FAST, "--confidence", "0", "-o", "mode.toml"]
        if any(subprocess.run(words, capture_output=True, cwd=folder).returncode for words in (record, plan)):
            pytest.skip("the program has no data to plan for")
    wanted = ended(native, folder)
    assert wanted[0] in range(256)
    before = [TERRACE, *MODES[mode], "--"] if MODES[mode] else []
    assert ended([*before, *program], folder) == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("compiler", "source", "flags"),
    [
        ("gcc", "recursion.c", ["-O2"]),
        ("clang", "recursion.c", ["-O2"]),
        ("g++", "chain.cpp", ["-O2", "-std=c++20"]),
        ("clang++", "chain.cpp", ["-O2", "-std=c++20", "-fcoroutines-ts"]),  # clang 14 has an option of its own
        ("gcc", "relax.c", ["-O2", "-g"]),
        ("clang", "relax.c", ["-O2", "-g"]),
    ],
)
def test_tail_calls_coroutines_and_nested_loops(compiler, source, flags, mode, tmp_path):
    native, hooked = (built(tmp_path, compiler, source, *flags, hooked=hooked) for hooked in (False, True))
    compare(mode, [native], [hooked], tmp_path)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("kind", [[], ["-DLOCKS"]], ids=["reduction", "locks"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_loaded_openmp_library_gives_equal_output(compiler, kind, hooked, mode, tmp_path):
    library = built(tmp_path, compiler, "team.c", "-O2", "-fopenmp", "-shared", "-fPIC", *kind)
    native = built(tmp_path, compiler, "loader.c", "-O2")
    program = built(tmp_path, compiler, "loader.c", "-O2", hooked=True) if hooked else native
    compare(mode, [native, library], [program, library], tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_two_openmp_libraries_give_equal_output(mode, tmp_path):
    shared = ("-O2", "-fopenmp", "-shared", "-fPIC")
    words = [built(tmp_path, "gcc", "loader.c", "-O2")]
    for compiler in ("gcc", "clang"):
        (tmp_path / compiler).mkdir()
        words += [built(tmp_path / compiler, compiler, "team.c", *shared, *kind) for kind in ([], ["-DLOCKS"])]
    compare(mode, words, words, tmp_path)


@pytest.mark.parametrize("words", [["record"], ["record", "--every", "1"], ["simulate"]], ids=" ".join)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_time_step_loop_is_selected_as_main_loop(compiler, words, tmp_path):
    """Loops within the steps repeat more often than the steps do."""
    program, file = built(tmp_path, compiler, "relax.c", "-O2", "-g", hooked=True), tmp_path / "relax.terrace"
    options = ["--machine", "unimem-lat4", "--cache", "l3=1MiB", "-o", file]
    subprocess.run([TERRACE, *words, *options, "--", program], check=True, capture_output=True)
    with sqlite3.connect(file) as store:
        query = "SELECT name, turns_before + coalesce(iterations, 0) FROM main_loop"
        ((name, turns),) = store.execute(query).fetchall()
    assert name.startswith("main")
    assert turns in (4, 5)  # the first step may count as set-up
