# SPDX-License-Identifier: Apache-2.0
"""Reads the workload manifests, with which the experiments, `lab demo` and `lab validate` find programs:
workload.toml in each folder describes its program (keys: workloads/README.md).

Every list of workloads is derived from these files: a folder with a manifest is a workload. Programs for several
MPI ranks are in a folder of their own, workloads/mpi. This module needs no built part of Terrace.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terrace.errors import WrongCallError

MANIFEST = "workload.toml"
SMALL = "small"
SPILLED = "spilled"
# Sizes that every workload has: those without arguments of their own are `small`.
EVERYWHERE = {
    SMALL: "simulates in seconds; default of the others below",
    "tiny": "runs at once; tests of phases and of the verification",
    "test": "leaves a remainder where work is divided, if possible; tests of the result, natively",
    "golden": "the golden set",
    "coverage": "instrumentation against the tracer, instructions against cachegrind; a few MiB at most",
    "replay": "replays against executions: runs for some seconds, in more than 20 MiB",
    "repeat": "repeated runs with several threads that synchronise often",
}
# Sizes that only some workloads have: users of a size select the workloads that state it.
SOMEWHERE = {
    "S": "problem class S",
    "W": "problem class W",
    "A": "problem class A",
    "hooked": "replays against executions, in the integration tests",
    "calibrate": "`terrace lab validate`: fits into a core's own caches, runs for some hundredths of a second",
    "measure": "`terrace lab validate`: exceeds the caches, runs for a few tenths of a second",
    SPILLED: "`terrace lab experiment memory-size`: 80 MiB and more, a few iterations",
    "long": "ranks of objects by page references: 45 MiB and more, for dozens of sampling windows",
    "speed": "slowdown by instrumentation",
    "cachegrind": "slowdown compared to cachegrind, if `speed` takes too long",
}
CLASSES = ("S", "W", "A")
# Only some iterations are recorded in this class; the last one is repeated.
STUDIED = "C"
# Studies that select their programs from the manifests.
STUDIES = {
    "demo": "`terrace lab demo`",
    "unimem": "`terrace lab experiment unimem`",
    "two-level": "`terrace lab experiment two-level`",
    "baselines": "`terrace lab experiment baselines`",
    "carried": "acceptance: plans of class W in class A",
    "moves": "`terrace lab experiment moves`: in class C",
}
# Effect of more threads on the results.
OPENMP = ("same", "rounded", "races")
# Sizes that may be repeated with two threads.
TWO_THREADS = ("golden", "replay")
# Bytes of a rank's data in class C for programs that Unimem's study lacks: 256 MB are a quarter of it.
ASSUMED_FOOTPRINT = 1024e6

# Allowed keys of a manifest, by table.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "": (
        *("title", "after", "order", "shared", "openmp", "two_threads", "ranks"),
        *("size", "verify", "time", "loop", "study"),
    ),
    "size": (*EVERYWHERE, *SOMEWHERE),
    "verify": ("says", "against", "tolerance"),
    "time": ("says", "lines"),
    "loop": ("name", "iterations", "phases", "shown"),
    "study": ("in", "small", *CLASSES, STUDIED, "iterations", "also", "footprint", "arrays"),
}


@dataclass(frozen=True)
class Loop:
    """The main loop at the size `tiny`: its number of iterations, and its phases in each."""

    name: str
    iterations: int
    phases: tuple[str, ...]
    shown: str  # readable form, valid for any size


@dataclass(frozen=True)
class Study:
    """The studies that include a workload, and its arguments in them."""

    names: tuple[str, ...]
    small: tuple[str, ...]  # studies that include it in their short form
    words: Mapping[str, tuple[str, ...]]  # by class, with class C's number of iterations; few in class C itself
    iterations: int  # of class C; 0: it does not run in class C
    also: str  # another size of fast memory in class C, as a share of the footprint ("256/311"); empty: none
    footprint: float  # bytes of a rank's data in class C on 4 ranks
    published: bool  # whether Unimem's study includes it
    arrays: str  # file of the workload's folder that allocates its arrays; empty: unknown


@dataclass(frozen=True)
class Workload:
    """A program, and how to run it and to interpret its output."""

    folder: Path
    title: str
    after: str  # the published program that it follows; empty: none
    order: float
    shared: tuple[str, ...]
    openmp: str  # one of OPENMP; empty: single-threaded
    two_threads: tuple[str, ...]  # sizes that are repeated with two threads
    ranks: tuple[int, ...]  # numbers of MPI ranks on which it is verified; empty: it does not use MPI
    verified_by: str
    against: str
    tolerance: str
    time: str  # pattern of its printed seconds, in a group; empty: it prints none
    time_lines: str  # pattern of output that differs between runs; empty: none
    loop: Loop | None
    study: Study
    sizes: Mapping[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """Returns the name of the folder and of the program."""
        return self.folder.name

    def has(self, size: str) -> bool:
        """Returns whether `words` knows the size."""
        return size in self.sizes or size in EVERYWHERE

    def words(self, size: str) -> list[str]:
        """Returns the program's arguments. Raises WrongCallError for an unknown size."""
        if not self.has(size):
            raise WrongCallError(f"{self.folder / MANIFEST}: size.{size} is missing")
        return list(self.sizes.get(size, self.sizes[SMALL]))

    def verified(self, printed: str) -> bool:
        """Returns whether the program reports a correct result."""
        return re.search(self.verified_by, printed, re.MULTILINE) is not None

    def sources(self) -> list[Path]:
        """Returns the program's sources: its folder's, and those that it shares, except common/."""
        shared = [path for name in self.shared for path in _sources(self.folder.parent / name)]
        return sorted([*_sources(self.folder), *shared])


def _sources(path: Path) -> list[Path]:
    """Returns a folder's sources, or the source itself; none if the path does not exist."""
    return [path] if path.suffix == ".cpp" and path.is_file() else list(path.glob("*.cpp"))


def read_all(folder: Path) -> dict[str, Workload]:
    """Returns all workloads of a folder by name, in the order of tables.

    Raises WrongCallError if there is none, or for the first error in a manifest.
    """
    found = [read(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    if not found:
        raise WrongCallError(
            f"{folder}: no subfolder has a {MANIFEST}: run this in Terrace's source tree, or give --source"
        )
    return {one.name: one for one in sorted(found, key=lambda one: (one.order, one.name))}


def of_study(all_of_them: Mapping[str, Workload], study: str, *, small: bool = False) -> tuple[Workload, ...]:
    """Returns the workloads of a study; `small`: only those of its short form."""
    return tuple(w for w in all_of_them.values() if study in (w.study.small if small else w.study.names))


def chosen(names: str | None, default: Sequence[Workload]) -> tuple[Workload, ...]:
    """Returns the workloads that --only names, in the order of `default`.

    Raises WrongCallError for unknown names.
    """
    if names is None:
        return tuple(default)
    words = [word.strip() for word in names.split(",")]
    known = [workload.name for workload in default]
    for word in words:
        if word not in known:
            raise WrongCallError(f"--only {names}: unknown program '{word}'; known: {', '.join(known)}")
    return tuple(workload for workload in default if workload.name in words)


def read(folder: Path) -> Workload:
    """Reads the workload of a folder. Raises WrongCallError that names the file and the invalid key."""
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        top = _Table(path, "", tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongCallError(f"{path}: {error}") from error
    verify, time = top.table("verify"), top.table("time")
    size = top.table("size")
    workload = Workload(
        folder=folder,
        title=top.text("title"),
        after=top.text("after", ""),
        order=top.number("order", float("inf")),
        shared=top.words("shared"),
        openmp=top.one_of("openmp", OPENMP),
        two_threads=top.words("two_threads", TWO_THREADS),
        ranks=top.counts("ranks"),
        verified_by=verify.expression("says", groups=0),
        against=verify.text("against"),
        tolerance=verify.text("tolerance"),
        time=time.expression("says", groups=1, default=""),
        time_lines=time.expression("lines", groups=0, default=""),
        loop=_loop(top.table("loop")) if top.has("loop") else None,
        study=_study(top.table("study")),
        sizes={SMALL: tuple(size.text(SMALL).split()), **_words(size, _KEYS["size"])},
    )
    if workload.shared and not re.search(r"^shared = \[.*\]$", text, re.MULTILINE):
        raise top.error("shared", 'write it on one line, as shared = ["cfd"]: build.sh and CMake read that line')
    for name in workload.shared:
        if not _sources(folder.parent / name):
            raise top.error("shared", f"the folder '{name}' has no sources")
    if workload.two_threads and not workload.openmp:
        raise top.error("two_threads", "the workload has no openmp")
    return workload


def _words(table: _Table, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the argument lists that are present."""
    return {name: tuple(table.text(name).split()) for name in names if table.has(name)}


def _loop(table: _Table) -> Loop:
    """Reads a manifest's table of the main loop."""
    phases = tuple(table.phases("phases"))
    shown = table.text("shown", "") or _shown(table.raw("phases"))
    iterations = table.number("iterations")
    if iterations < 1 or not iterations.is_integer():
        raise table.error("iterations", f"{iterations:g} is not a positive integer")
    return Loop(table.text("name"), int(iterations), phases, shown)


def _study(table: _Table) -> Study:
    """Reads a manifest's table of the studies that run the program."""
    names = table.words("in", STUDIES)
    iterations = table.number("iterations", 0)
    if iterations < 0 or not iterations.is_integer():
        raise table.error("iterations", f"{iterations:g} is not a positive integer")
    if (iterations > 0) != table.has(STUDIED) or ("moves" in names) != table.has(STUDIED):
        raise table.error(STUDIED, "it requires iterations and the study moves: state all of them or none")
    of_class_c = _words(table, (STUDIED,))
    return Study(
        names=names,
        small=table.words("small", names),
        words=of_class_c
        | ({name: tuple(table.text(name).split()) for name in CLASSES} if names else _words(table, CLASSES)),
        iterations=int(iterations),
        also=table.text("also", ""),
        footprint=table.number("footprint", ASSUMED_FOOTPRINT),
        published=table.has("footprint"),
        arrays=table.text("arrays", ""),
    )


def _shown(phases: object) -> str:
    """ "init, 25 x (matvec, update)" of ["init", [25, "matvec", "update"]]."""
    assert isinstance(phases, list)  # guaranteed by _flat
    parts = [one if isinstance(one, str) else f"{one[0]} x ({_shown(one[1:])})" for one in phases]
    return ", ".join(parts)


class _Table:
    """A table of a manifest. Raises WrongCallError for unknown keys and for invalid values."""

    def __init__(self, path: Path, name: str, content: Mapping[str, Any]) -> None:
        self._path, self._name, self._content = path, name, content
        for key in content:
            if key not in _KEYS[name]:
                raise self.error(key, f"unknown key; known: {', '.join(_KEYS[name])}")

    def error(self, key: str, what: str) -> WrongCallError:
        """Returns the error for a key."""
        return WrongCallError(f"{self._path}: {self._name}{'.' if self._name else ''}{key}: {what}")

    def has(self, key: str) -> bool:
        """Returns whether the key is present."""
        return key in self._content

    def raw(self, key: str) -> object:
        """Returns the value as parsed."""
        if not self.has(key):
            raise self.error(key, "is missing")
        return self._content[key]

    def table(self, key: str) -> _Table:
        """Returns a sub-table; empty if it is missing."""
        content = self._content[key] if self.has(key) else {}
        if not isinstance(content, dict):
            raise self.error(key, "is not a table")
        return _Table(self._path, key, content)

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a string, which is required unless there is a default."""
        value = default if default is not None and not self.has(key) else self.raw(key)
        if not isinstance(value, str):
            raise self.error(key, f"{value} is not a string")
        return str(value)

    def number(self, key: str, default: float | None = None) -> float:
        """Returns a number, which is required unless there is a default."""
        value = default if default is not None and not self.has(key) else self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"{value} is not a number")
        return float(value)

    def words(self, key: str, known: Collection[str] | None = None) -> tuple[str, ...]:
        """Returns a list of strings; empty if it is missing."""
        value = self._content[key] if self.has(key) else []
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.error(key, f"{value} is not a list of strings")
        for word in value:
            if known is not None and word not in known:
                raise self.error(key, f"unknown value '{word}'; known: {', '.join(known)}")
        return tuple(value)

    def counts(self, key: str) -> tuple[int, ...]:
        """Returns a list of positive integers; empty if it is missing."""
        value = self._content[key] if self.has(key) else []
        if not isinstance(value, list) or not all(type(one) is int and one > 0 for one in value):
            raise self.error(key, f"{value} is not a list of positive integers")
        return tuple(value)

    def one_of(self, key: str, known: Sequence[str]) -> str:
        """Returns one of the known values, or an empty string."""
        value = self.text(key, "")
        if self.has(key) and value not in known:
            raise self.error(key, f"unknown value '{value}'; known: {', '.join(known)}")
        return value

    def expression(self, key: str, *, groups: int, default: str | None = None) -> str:
        """Returns a regular expression with that many groups."""
        value = self.text(key, default)
        try:
            count = re.compile(value).groups
        except re.error as error:
            raise self.error(key, f"'{value}' is not a regular expression: {error}") from error
        if value and count != groups:
            raise self.error(key, f"'{value}' has {count} groups instead of {groups}")
        return value

    def phases(self, key: str) -> list[str]:
        """Returns phase names in order. A nested list repeats its items as often as its first item states."""
        try:
            found = list(_flat(self.raw(key)))
        except (TypeError, ValueError):
            found = []
        if not found:
            raise self.error(key, 'write for example ["init", [25, "matvec", "update"], "residual"]')
        return found


def _flat(phases: object) -> Iterator[str]:
    """Yields the names of phases, with repeated groups written out once."""
    if not isinstance(phases, list):
        raise TypeError
    for one in phases:
        if isinstance(one, str):
            yield one
        else:
            times, *names = one
            if not isinstance(times, int) or isinstance(times, bool):
                raise TypeError
            yield from list(_flat(names)) * times
