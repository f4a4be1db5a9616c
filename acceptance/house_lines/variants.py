"""A new variant is one new file: each kind is tried with a dummy in a copy of the tree.

The copy is cloned and built once. For each kind, `git status` has to show the dummy's file and nothing else, the
incremental build has to take it in, the command line has to know it, and what it does has to be seen in the store
or on the terminal. Without the file the same command has to fail, or to show something else.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness import ROOT, Line, Measured

DUMMIES = Path(__file__).parent / "dummies"
SIMULATE = ("simulate", "--quiet", "--machine", "unimem-lat4", "--cache", "l2=32KiB", "--cache", "l3=128KiB")


class Copy:
    """A clone of the tree, built, with a program to try things on."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self._out = folder / "out"
        self._out.mkdir()
        self._do("git", "clone", "--quiet", ROOT, self.tree)
        shutil.copytree(ROOT / ".venv", self.tree / ".venv", symlinks=True)
        self._do("cmake", "--preset", "release", "-DTERRACE_TESTS=OFF", "-DTERRACE_BENCH=OFF")
        self.build()
        self._runs = 0

    def _do(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        cwd = self.tree if self.tree.exists() else ROOT
        done = subprocess.run([str(word) for word in words], cwd=cwd, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
        return done

    def build(self) -> None:
        self._do("cmake", "--build", "--preset", "release", "--target", "demo_parts")
        self._do("cmake", "--install", "build/release", "--prefix", self.tree / ".venv", "--component", "sim")
        self._do("cmake", "--install", "build/release", "--prefix", self.tree / ".venv")

    def terrace(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(self.tree / ".venv" / "bin" / "terrace"), *map(str, words)]
        return subprocess.run(command, cwd=self._out, text=True, capture_output=True)

    def program(self, name: str, wrapped: bool = True) -> Path:
        folder = self._out / ("wrapped" if wrapped else "plain")
        if not (folder / name).exists():
            compiler = str(self.tree / ".venv" / "bin" / "terrace-c++") if wrapped else "c++"
            environment = {**os.environ, "CXX": compiler, "CXXFLAGS": "-O2 -g"}
            script = self.tree / "workloads" / "build.sh"
            subprocess.run(["sh", script, folder, name], env=environment, check=True, capture_output=True)
        return folder / name

    def store(self) -> Path:
        self._runs += 1
        return self._out / f"{self._runs}.terrace"

    def status(self) -> list[str]:
        return self._do("git", "status", "--porcelain", "-uall").stdout.split("\n")[:-1]

    def clean(self) -> None:
        self._do("git", "clean", "-fdq")
        self._do("git", "checkout", "--quiet", ".")


def ask(store: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(store)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@cache
def copy() -> Copy:
    return Copy(Path(tempfile.mkdtemp(prefix="terrace-variants.")))


# --- uses ----------------------------------------------------------------------------------------------------


def simulated(*options: str) -> Callable[[Copy], str]:
    """Simulates a run that selects the dummy; the store must name it. Returns the evidence, or ""."""

    def use(tree: Copy) -> str:
        store = tree.store()
        done = tree.terrace(
            *SIMULATE, "--fast", "512KiB", *options, "-o", store, "--", tree.program("cg"), "--class", "S"
        )
        if done.returncode != 0:
            return ""
        ((planner,),) = ask(store, "SELECT planner FROM run")
        ((moves,),) = ask(store, 'SELECT count(*) FROM "move"')
        ((phases,),) = ask(store, "SELECT count(*) FROM phase WHERE name LIKE '%@%'")
        return f"planner {planner}, {moves} moves, {phases} segments"

    return use


def moved(tree: Copy) -> str:
    """Runs a plan that moves data to memory of the kind "dummy"; returns the journal's moves."""
    store = tree.store()
    done = tree.terrace(
        *("run", "--quiet", "--machine", DUMMIES / "machine.toml", "--plan", DUMMIES / "plan.toml", "-o", store),
        *("--", tree.program("cg", wrapped=False), "--class", "S"),
    )
    if done.returncode != 0:
        return ""
    sql = "SELECT count(*), sum(refused) FROM \"move\" JOIN place ON place.id = target WHERE place.name = 'odd'"
    ((moves, refused),) = ask(store, sql)
    return f"{moves} moves to the odd place" if moves and not refused else ""


def said(expected: str, *words: str) -> Callable[[Copy], str]:
    def use(tree: Copy) -> str:
        done = tree.terrace(*words)
        return f"`terrace {' '.join(words)}` says {expected!r}" if expected in done.stdout else ""

    return use


def built(tree: Copy) -> str:
    """Builds the workload with the wrapper, simulates it, and verifies its result."""
    try:
        program = tree.program("dummy")
    except subprocess.CalledProcessError:
        return ""
    done = tree.terrace(*SIMULATE, "-o", tree.store(), "--", program)
    shutil.rmtree(program.parent)
    return "it runs and verifies" if "Verification SUCCESSFUL" in done.stdout else ""


# --- the kinds -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of variant: the dummy, where its file goes, and a use that shows it."""

    name: str
    dummy: str
    target: str
    use: Callable[[Copy], str]
    files: int = 1  # a workload is a folder with its source and its manifest


KINDS = (
    Kind("planner", "planner.cpp", "src/tiering/strategy/planners/dummy.cpp", simulated("--planner", "dummy")),
    Kind("policy", "policy.cpp", "src/tiering/strategy/policies/dummy.cpp", simulated("--planner", "dummy")),
    Kind(
        "static placement",
        "placement.cpp",
        "src/tiering/strategy/static/dummy.cpp",
        simulated("--planner", "dummy"),
    ),
    Kind("copier", "copier.cpp", "src/foundation/transfer/copiers/dummy.cpp", moved),
    Kind(
        "collector", "collector.cpp", "src/tiering/observe/collectors/dummy.cpp", simulated("--collector", "dummy")
    ),
    Kind(
        "progress source",
        "progress.cpp",
        "src/tiering/observe/progress/dummy.cpp",
        simulated("--progress", "dummy"),
    ),
    Kind("verb", "verb.py", "python/terrace/verbs/dummy.py", said("hello from a dummy", "dummy")),
    Kind("machine file", "machine.toml", "machines/dummy.toml", said("dummy", "machine", "dummy")),
    Kind("workload", "workload", "workloads/dummy", built, files=2),
)


def try_kind(tree: Copy, kind: Kind) -> tuple[str, bool]:
    """Adds a dummy variant of the kind; returns a description, and whether it was one new file that is in use, and
    not without it."""
    without = kind.use(tree)
    source, target = DUMMIES / kind.dummy, tree.tree / kind.target
    shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    try:
        status = tree.status()
        tree.build()
        seen = kind.use(tree)
    finally:
        tree.clean()
    fine = bool(seen) and seen != without and len(status) == kind.files
    fine = fine and all(line.startswith(f"?? {kind.target}") for line in status)
    return f"{kind.name}: {', '.join(status)}; {seen or 'not to be used'}; without it {without or 'refused'}", fine


def variants() -> Measured:
    tree = copy()
    results = []
    for kind in KINDS:
        results.append(try_kind(tree, kind))
        print(f"             {results[-1][0]}", file=sys.stderr, flush=True)
    shutil.rmtree(tree.tree.parent)
    return Measured("\n".join(words for words, _ in results), all(fine for _, fine in results))


LINES = [
    Line(
        "variants",
        "a dummy of each kind is one new file in a copy of the tree, built and used from the command line",
        variants,
    )
]
