# SPDX-License-Identifier: Apache-2.0
"""Names DHAT's blocks by the allocating code, as `terrace run` names the same objects.

`terrace run` uses the innermost stack frame that belongs neither to an allocator nor to a run-time library. For
the program's own code this module resolves functions and lines from the same symbol tables. For libraries it
uses DHAT's text, because the file does not record their load addresses.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from terrace import _core

# Load bias that valgrind gives a position-independent executable (coregrind/m_ume/elf.c).
_BIAS = 0x108000
_FRAME = re.compile(
    r"(?P<address>0x[0-9A-Fa-f]+): (?P<function>.*?)(?: \((?P<where>[^()]*(?:\([^()]*\)[^()]*)*)\))?$"
)
_PRELOADED = re.compile(r"in .*/(vgpreload|valgrind)")
_RUNTIME = re.compile(r"in .*/(libc\.so|libc-|libstdc\+\+|libgfortran|ld-linux|libgomp|libomp)")
_SYSTEM = re.compile(r"in (/usr)?/lib")
_ALLOCATORS = re.compile(
    r"^(\?\?\?|malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|strdup|strndup"
    r"|operator new(\[\])?.*|_Znwm|_Znam|.*allocator(_traits)?<.*|.*::_M_.*|.*\b_M_(allocate|create)\w*.*)(\(|$)"
)
_MIN_MATCHING_SHARE = 0.5  # minimum share of the program's frames that must match its symbols

Namer = Callable[[Sequence[str]], str]


def by_words(stack: Sequence[str]) -> str:
    """Returns the name from DHAT's own text: "makea cg.cpp:120"."""
    fallback = ""
    for frame in stack:
        name, rank = _of_words(frame)
        if rank == _OWN:
            return name
        fallback = fallback or name
    return fallback or "(unknown)"


_OTHER, _RUN_TIME, _OWN = range(3)


def _of_words(frame: str) -> tuple[str, int]:
    """Returns the name of a frame by DHAT's text, and how far it is from the program's own code."""
    parts = _FRAME.match(frame)
    if not parts:
        return "", _OTHER
    function, where = parts["function"], parts["where"] or ""
    if _PRELOADED.search(where) or _ALLOCATORS.match(function):
        return "", _OTHER
    function = re.sub(r"@@?[A-Za-z_0-9.]+$", "", function)
    name = f"{function} {where}" if where and not where.startswith("in ") else function
    return name, _RUN_TIME if _RUNTIME.search(where) else _OWN


def namer(command: str, frames: Sequence[str], folder: Path) -> Namer | None:
    """Returns a function that names stacks from the program's symbols, or None if it is missing or has changed.

    `frames`: all frames in the file; `folder`: where the file lies, which is searched for the program as well.
    """
    words = command.split()
    found = next((path for path in _places(words[0], folder) if path.is_file()), None) if words else None
    if found is None:
        return None
    sites = _core.ProgramSites(str(found), _BIAS)
    return (lambda stack: _by_tables(stack, sites)) if _is_of(sites, frames) else None


def _places(program: str, folder: Path) -> Iterable[Path]:
    yield Path(program)
    yield folder / program
    if "/" not in program and (known := shutil.which(program)):
        yield Path(known)


def _is_of(sites: _core.ProgramSites, frames: Sequence[str]) -> bool:
    """Returns whether most of the program's frames match the functions that DHAT recorded."""
    said: dict[int, set[str]] = {}
    for frame in frames:
        if parts := _FRAME.match(frame):
            said.setdefault(int(parts["address"], 16), set()).add(_leaf(parts["function"]))
    known = [(leaves, site.function) for address, leaves in said.items() if (site := sites.find(address))]
    alike = sum(_leaf(function) in leaves for leaves, function in known)
    return bool(known) and alike >= _MIN_MATCHING_SHARE * len(known)


def _leaf(function: str) -> str:
    """Returns the last component: "Solver" of app::Solver::Solver(unsigned long)."""
    plain = re.sub(r"\(.*|<.*>|@.*", "", function)
    return plain.rpartition("::")[2].rpartition(".")[2]


def _by_tables(stack: Sequence[str], sites: _core.ProgramSites) -> str:
    """Select the frame as src/tiering/agent/lifecycle/callers.cpp does: of equal ones, the earlier."""
    best, rank = "(unknown)", 0
    last = -1
    for frame in stack:
        parts = _FRAME.match(frame)
        if not parts:
            continue
        address = int(parts["address"], 16)
        if address == last:
            continue  # inlined: the symbol tables contain the enclosing function
        site = sites.find(address)
        if site is not None:
            last = address
            if not site.is_allocator:
                return str(site.name)
            name, new_rank = site.name, 2
        else:
            name, kind = _of_words(frame)
            if kind == _OWN and not _SYSTEM.match(parts["where"] or ""):
                return name
            new_rank = (0, 1, 3)[kind]
        if new_rank > rank:
            best, rank = name, new_rank
    return str(best)
