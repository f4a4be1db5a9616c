"""The workloads: what each folder's workload.toml says of its program (workloads/README.md documents the keys).

Every list of workloads is made from these files: a folder with one is a workload, and no list is kept elsewhere.
This module needs nothing that has to be built.
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
# Sizes that every workload has, because those that it does not state are `small`.
EVERYWHERE = {
    SMALL: "simulates in seconds; what the others below are unless stated",
    "tiny": "runs at once; its phases and its verdict are tested",
    "test": "leaves a remainder where work is divided, if it can; its result is tested, natively",
    "golden": "the golden set",
    "coverage": "hooks against the tracer, and instructions against cachegrind; a few MiB at most",
    "replay": "replays against executions: runs for some seconds, in more than 20 MiB",
    "repeat": "repeated with several threads, which meet often",
}
# Sizes that only some have: who uses one takes the workloads that state it.
SOMEWHERE = {
    "S": "problem class S",
    "W": "problem class W",
    "A": "problem class A",
    "hooked": "replays against executions, in the integration tests",
    "calibrate": "`terrace lab validate`: stays in a core's own caches, for some hundredths of a second",
    "measure": "`terrace lab validate`: in memory rather than in caches, for a few tenths of a second",
    SPILLED: "`terrace lab experiment memory-size`: 80 MiB and more, a few iterations",
    "long": "ranks of objects by page references: 45 MiB and more, for dozens of their windows",
    "speed": "slowdown under the hooks",
    "cachegrind": "slowdown beside cachegrind's, where `speed` is too long for it",
}
CLASSES = ("S", "W", "A")
# Of which a few iterations are recorded, and the last is repeated.
STUDIED = "C"
# Studies that take their programs from here.
STUDIES = {
    "demo": "`terrace lab demo`",
    "unimem": "`terrace lab experiment unimem`",
    "two-level": "`terrace lab experiment two-level`",
    "baselines": "`terrace lab experiment baselines`",
    "carried": "acceptance: plans of class W in class A",
    "moves": "`terrace lab experiment moves`: in class C",
}
# What more threads do to the results.
OPENMP = ("same", "rounded", "races")
# Sizes that may be run once more with two threads.
TWO_THREADS = ("golden", "replay")
# Bytes of a rank's data in class C where Unimem's study has no such program: 256 MB hold a quarter.
ASSUMED_FOOTPRINT = 1024e6

# By table, what a manifest may hold.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "": ("title", "after", "order", "shared", "openmp", "two_threads", "size", "verify", "time", "loop", "study"),
    "size": (*EVERYWHERE, *SOMEWHERE),
    "verify": ("says", "against", "tolerance"),
    "time": ("says", "lines"),
    "loop": ("name", "iterations", "phases", "shown"),
    "study": ("in", "small", *CLASSES, STUDIED, "iterations", "also", "footprint", "arrays"),
}


@dataclass(frozen=True)
class Loop:
    """The main loop at the size `tiny`: how often it goes round, and what it marks each time."""

    name: str
    iterations: int
    phases: tuple[str, ...]
    shown: str  # for readers: at any size


@dataclass(frozen=True)
class Study:
    """In which studies a workload is, and what they call it with."""

    names: tuple[str, ...]
    small: tuple[str, ...]  # those in which it stays when few programs are asked for
    words: Mapping[str, tuple[str, ...]]  # by class, with class C's number of iterations; in class C with few
    iterations: int  # class C's own; 0: it is not run there
    also: str  # there: another size of fast memory, as a share of the footprint ("256/311"); empty: none
    footprint: float  # bytes of a rank's data in class C on 4 ranks
    published: bool  # whether Unimem's study has it
    arrays: str  # the file of the workload's folder in which its arrays are made; empty: unknown


@dataclass(frozen=True)
class Workload:
    """A program, and how it is run and understood."""

    folder: Path
    title: str
    after: str  # the published program; empty where there is none
    order: float
    shared: tuple[str, ...]
    openmp: str  # one of OPENMP, or empty: it has one thread
    two_threads: tuple[str, ...]  # sizes that are run once more with two
    verified_by: str
    against: str
    tolerance: str
    time: str  # what it prints as its seconds, in a group; empty where it prints none
    time_lines: str  # what of its output changes from run to run; empty: nothing
    loop: Loop | None
    study: Study
    sizes: Mapping[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """Its folder's, and its program's."""
        return self.folder.name

    def has(self, size: str) -> bool:
        """Whether `words` knows the size."""
        return size in self.sizes or size in EVERYWHERE

    def words(self, size: str) -> list[str]:
        """What the program is called with. Raises WrongCallError for a size that it does not have."""
        if not self.has(size):
            raise WrongCallError(f"{self.folder / MANIFEST}: there is no size.{size}")
        return list(self.sizes.get(size, self.sizes[SMALL]))

    def verified(self, printed: str) -> bool:
        """Whether the program says that its result is right."""
        return re.search(self.verified_by, printed, re.MULTILINE) is not None

    def sources(self) -> list[Path]:
        """Of the program: its folder's and those of the folders that it shares, without common/."""
        folders = [self.folder, *(self.folder.parent / name for name in self.shared)]
        return sorted(path for folder in folders for path in folder.glob("*.cpp"))


def read_all(folder: Path) -> dict[str, Workload]:
    """Every workload of the folder by name, in the order of tables. Raises WrongCallError where there is none, and
    for the first thing that is wrong in a manifest."""
    found = [read(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    if not found:
        raise WrongCallError(
            f"{folder}: no folder in it has a {MANIFEST}: run this in Terrace's source tree, or give --source"
        )
    return {one.name: one for one in sorted(found, key=lambda one: (one.order, one.name))}


def of_study(all_of_them: Mapping[str, Workload], study: str, *, small: bool = False) -> tuple[Workload, ...]:
    """Those that say that they are in the study; `small`: the few for a short one."""
    return tuple(w for w in all_of_them.values() if study in (w.study.small if small else w.study.names))


def chosen(names: str | None, default: Sequence[Workload]) -> tuple[Workload, ...]:
    """The workloads that --only names, in the default's order. Raises WrongCallError for one that is not there."""
    if names is None:
        return tuple(default)
    words = [word.strip() for word in names.split(",")]
    known = [workload.name for workload in default]
    for word in words:
        if word not in known:
            raise WrongCallError(f"--only {names}: there is no '{word}' here; there are {', '.join(known)}")
    return tuple(workload for workload in default if workload.name in words)


def read(folder: Path) -> Workload:
    """The workload of a folder. Raises WrongCallError that names the file and the key which is wrong."""
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
        if not list((folder.parent / name).glob("*.cpp")):
            raise top.error("shared", f"there are no sources in '{name}'")
    if workload.two_threads and not workload.openmp:
        raise top.error("two_threads", "the workload has no openmp")
    return workload


def _words(table: _Table, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Those of the command lines that are there."""
    return {name: tuple(table.text(name).split()) for name in names if table.has(name)}


def _loop(table: _Table) -> Loop:
    phases = tuple(table.phases("phases"))
    shown = table.text("shown", "") or _shown(table.raw("phases"))
    iterations = table.number("iterations")
    if iterations < 1 or not iterations.is_integer():
        raise table.error("iterations", f"{iterations:g} is no whole number above 0")
    return Loop(table.text("name"), int(iterations), phases, shown)


def _study(table: _Table) -> Study:
    names = table.words("in", STUDIES)
    iterations = table.number("iterations", 0)
    if iterations < 0 or not iterations.is_integer():
        raise table.error("iterations", f"{iterations:g} is no whole number above 0")
    if (iterations > 0) != table.has(STUDIED) or ("moves" in names) != table.has(STUDIED):
        raise table.error(STUDIED, "it goes with iterations and the study moves: state all of them or none")
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
    assert isinstance(phases, list)  # _flat has seen to it
    parts = [one if isinstance(one, str) else f"{one[0]} x ({_shown(one[1:])})" for one in phases]
    return ", ".join(parts)


class _Table:
    """A table of a manifest. Raises WrongCallError for unknown keys, and for values that are not as asked."""

    def __init__(self, path: Path, name: str, content: Mapping[str, Any]) -> None:
        self._path, self._name, self._content = path, name, content
        for key in content:
            if key not in _KEYS[name]:
                raise self.error(key, f"unknown key; there are {', '.join(_KEYS[name])}")

    def error(self, key: str, what: str) -> WrongCallError:
        """What is wrong with a key."""
        return WrongCallError(f"{self._path}: {self._name}{'.' if self._name else ''}{key}: {what}")

    def has(self, key: str) -> bool:
        """Whether it is there."""
        return key in self._content

    def raw(self, key: str) -> object:
        """As the file has it."""
        if not self.has(key):
            raise self.error(key, "is missing")
        return self._content[key]

    def table(self, key: str) -> _Table:
        """A table below it; empty where there is none."""
        content = self._content[key] if self.has(key) else {}
        if not isinstance(content, dict):
            raise self.error(key, "is no table")
        return _Table(self._path, key, content)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; must be there unless it has a default."""
        value = default if default is not None and not self.has(key) else self.raw(key)
        if not isinstance(value, str):
            raise self.error(key, f"{value} is no text")
        return str(value)

    def number(self, key: str, default: float | None = None) -> float:
        """A number; must be there unless it has a default."""
        value = default if default is not None and not self.has(key) else self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"{value} is no number")
        return float(value)

    def words(self, key: str, known: Collection[str] | None = None) -> tuple[str, ...]:
        """A list of words, empty where there is none."""
        value = self._content[key] if self.has(key) else []
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.error(key, f"{value} is no list of words")
        for word in value:
            if known is not None and word not in known:
                raise self.error(key, f"there is no '{word}'; there are {', '.join(known)}")
        return tuple(value)

    def one_of(self, key: str, known: Sequence[str]) -> str:
        """One of these, or empty."""
        value = self.text(key, "")
        if self.has(key) and value not in known:
            raise self.error(key, f"there is no '{value}'; there are {', '.join(known)}")
        return value

    def expression(self, key: str, *, groups: int, default: str | None = None) -> str:
        """A regular expression with so many groups."""
        value = self.text(key, default)
        try:
            count = re.compile(value).groups
        except re.error as error:
            raise self.error(key, f"'{value}' is no regular expression: {error}") from error
        if value and count != groups:
            raise self.error(key, f"'{value}' has {count} groups, not {groups}")
        return value

    def phases(self, key: str) -> list[str]:
        """Names in their order; a list in the list is its first item's number of times the others."""
        try:
            found = list(_flat(self.raw(key)))
        except (TypeError, ValueError):
            found = []
        if not found:
            raise self.error(key, 'write for example ["init", [25, "matvec", "update"], "residual"]')
        return found


def _flat(phases: object) -> Iterator[str]:
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
