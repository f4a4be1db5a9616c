# SPDX-License-Identifier: Apache-2.0
"""A new variant is one new file: each kind is tried with a dummy of tests/support/variants in a copy of the tree.

`git status` shows the dummy's file and nothing else, the incremental build takes it in, the command line knows it,
and what it does is seen in the store or on the terminal. Without the file the same command fails, or shows another
thing.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess

import pytest
from conftest import ROOT

DUMMIES = ROOT / "tests" / "support" / "variants"
VENV = ROOT / ".venv"
SIMULATE = ("simulate", "--quiet", "--machine", "unimem-lat4", "--cache", "l2=32KiB", "--cache", "l3=128KiB")


@pytest.mark.parametrize("dummy", sorted(DUMMIES.glob("*.cpp")), ids=lambda path: path.stem)
def test_dummy_compiles(dummy):
    folders = ("src/foundation", "src/tiering", "src", "include")
    words = ["c++", "-std=c++20", "-fsyntax-only", *(f"-I{ROOT / folder}" for folder in folders), dummy]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


class Copy:
    """A clone of the tree, built, with a program to try things on."""

    def __init__(self, folder):
        self.tree, self._out, self._runs = folder / "tree", folder / "out", 0
        self._out.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, self.tree], check=True)
        shutil.copytree(VENV, self.tree / ".venv", symlinks=True)
        self.do("cmake", "--preset", "release", "-DTERRACE_TESTS=OFF", "-DTERRACE_BENCH=OFF")
        self.build()

    def do(self, *words):
        done = subprocess.run(words, cwd=self.tree, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout[-600:] + done.stderr[-600:]
        return done.stdout

    def build(self):
        self.do("cmake", "--build", "--preset", "release", "--target", "demo_parts")
        for component in (("--component", "sim"), ()):
            self.do("cmake", "--install", "build/release", "--prefix", self.tree / ".venv", *component)

    def terrace(self, *words):
        command = [self.tree / ".venv" / "bin" / "terrace", *words]
        return subprocess.run(command, cwd=self._out, text=True, capture_output=True)

    def program(self, name, wrapped=True):
        folder = self._out / ("wrapped" if wrapped else "plain")
        if not (folder / name).exists():
            compiler = str(self.tree / ".venv" / "bin" / "terrace-c++") if wrapped else "c++"
            given = {**os.environ, "CXX": compiler, "CXXFLAGS": "-O2 -g"}
            script = self.tree / "workloads" / "build.sh"
            subprocess.run(["sh", script, folder, name], env=given, check=True, capture_output=True)
        return folder / name

    def asked(self, words, program, *queries):
        """Runs a program in class S; returns the first value of each query of its store, none if it failed."""
        self._runs += 1
        store = self._out / f"{self._runs}.terrace"
        if self.terrace(*words, "-o", store, "--", program, "--class", "S").returncode != 0:
            return []
        with contextlib.closing(sqlite3.connect(store)) as connection:
            return [connection.execute(query).fetchone()[0] for query in queries]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    yield Copy(folder)
    shutil.rmtree(folder)


# --- uses: each returns what shows the dummy, nothing where it cannot be used ------------------------------------


def simulated(*options):
    """Simulates a run that selects the dummy."""
    counts = ('SELECT count(*) FROM "move"', "SELECT count(*) FROM phase WHERE name LIKE '%@%'")
    words = (*SIMULATE, "--fast", "512KiB", *options)
    return lambda copy: copy.asked(words, copy.program("cg"), "SELECT planner FROM run", *counts)


def on_the_odd_place(options, wanted, refused):
    """Runs on a machine with memory of the kind "dummy", the faster one."""
    words = ("run", "--quiet", "--machine", DUMMIES / "machine.toml", *options)

    def use(copy):
        found, failed = copy.asked(words, copy.program("cg", wrapped=False), wanted, refused) or (0, 1)
        return [found] if found and not failed else []

    return use


_MOVES = "FROM \"move\" JOIN place ON place.id = target WHERE place.name = 'odd'"
moved = on_the_odd_place(
    ("--plan", DUMMIES / "plan.toml"), f"SELECT count(*) {_MOVES}", f"SELECT sum(refused) {_MOVES}"
)


def said(expected, *words):
    return lambda copy: [expected] if expected in copy.terrace(*words).stdout else []


def built(copy):
    """Builds the workload with the wrapper, simulates it, and verifies its result."""
    try:
        program = copy.program("dummy")
    except subprocess.CalledProcessError:
        return []
    store = program.with_suffix(".terrace")
    done = copy.terrace(*SIMULATE, "-o", store, "--", program)
    shutil.rmtree(program.parent)
    return ["verified"] if "Verification SUCCESSFUL" in done.stdout else []


STRATEGY, OBSERVE = "src/tiering/strategy", "src/tiering/observe"
KINDS = {
    "planner.cpp": (f"{STRATEGY}/planners/dummy.cpp", simulated("--planner", "dummy")),
    "policy.cpp": (f"{STRATEGY}/policies/dummy.cpp", simulated("--planner", "dummy")),
    "placement.cpp": (f"{STRATEGY}/static/dummy.cpp", simulated("--planner", "dummy")),
    "copier.cpp": ("src/foundation/transfer/copiers/dummy.cpp", moved),
    "collector.cpp": (f"{OBSERVE}/collectors/dummy.cpp", simulated("--collector", "dummy")),
    "progress.cpp": (f"{OBSERVE}/progress/dummy.cpp", simulated("--progress", "dummy")),
    "verb.py": ("python/terrace/verbs/dummy.py", said("hello from a dummy", "dummy")),
    "machine.toml": ("machines/dummy.toml", said("dummy", "machine", "dummy")),
    "workload": ("workloads/dummy", built),  # a folder with its source and its manifest
}


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_variant_is_one_new_file(kind, copy):
    place, use = KINDS[kind]
    without = use(copy)
    source, target = DUMMIES / kind, copy.tree / place
    shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    try:
        status = copy.do("git", "status", "--porcelain", "-uall").splitlines()
        copy.build()
        seen = use(copy)
    finally:
        copy.do("git", "clean", "-fdq")
        copy.do("git", "checkout", "--quiet", ".")
    assert seen and seen != without
    assert len(status) == (2 if source.is_dir() else 1)
    assert all(line.startswith(f"?? {place}") for line in status)
