"""Determines the origin of a result: a commit of this tree, a machine, a day. The acceptance harness and `make
results` use it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PROSE = ("docs/", "CHANGELOG.md")  # on which no figure depends; the result pages are written there
BLOCKS = ("README.md",)  # files of which only what is between the two markers is like that
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

Machine = dict[str, str | int]


class WrongTree(Exception):
    """The tree is not one that a result could name; the text says why."""


@dataclass(frozen=True)
class Version:
    """A commit, and whether the tree has changes that are in no commit."""

    commit: str
    dirty: bool

    @property
    def name(self) -> str:
        """Returns the name of its folder."""
        return self.commit[:12] + ("-dirty" if self.dirty else "")


def version(root: Path) -> Version:
    """Returns the version of a tree. Its commit is the last one that changed more than prose, so that committing
    the pages makes no other version. Raises WrongTree without a commit."""
    commit = _git(root, "rev-parse", "HEAD").strip()
    while (parent := _parent(root, commit)) and not _changed(root, parent, commit):
        commit = parent
    return Version(commit, bool(list_changed_files(root)))


def list_changed_files(root: Path) -> list[str]:
    """Returns files that differ from HEAD, without prose."""
    listed = _git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all", "-z").split("\0")
    names = [entry[3:] for entry in listed if entry]
    return [name for name in names if not _prose(name) and not _block_alone(root, name)]


def machine() -> Machine:
    """Describes this machine, as each kept measurement states it."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def today() -> str:
    """Returns the date as 2026-11-23."""
    return time.strftime("%Y-%m-%d")


def rest(text: str) -> str:
    """Returns a file without the text between its markers."""
    head, begin, tail = text.partition(BEGIN)
    _, end, after = tail.partition(END)
    return head + begin + end + after if end else text


def _block_alone(root: Path, name: str) -> bool:
    """Returns whether a file differs from its commit in nothing but the block of figures that steps write."""
    if name not in BLOCKS or not (root / name).is_file():
        return False
    try:
        before = _git(root, "show", f"HEAD:{name}")
    except WrongTree:  # it is new
        return False
    return rest(before) == rest((root / name).read_text(encoding="utf-8"))


def _changed(root: Path, before: str, after: str) -> bool:
    """Returns whether the commits differ in more than prose."""
    names = _git(root, "diff", "--name-only", "--no-renames", "-z", before, after).split("\0")
    for name in filter(None, names):
        if _prose(name):
            continue
        if name not in BLOCKS:
            return True
        try:
            texts = [_git(root, "show", f"{commit}:{name}") for commit in (before, after)]
        except WrongTree:  # one of them does not have it
            return True
        if rest(texts[0]) != rest(texts[1]):
            return True
    return False


def _prose(name: str) -> bool:
    return name.startswith(PROSE)


def _parent(root: Path, commit: str) -> str:
    """Returns the first parent, or ""."""
    _, *parents = _git(root, "rev-list", "--parents", "-n", "1", commit).split()
    return parents[0] if parents else ""


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise WrongTree(f"git {' '.join(words[:2])} in {root}: {said[-1]}")
    return done.stdout.decode(errors="replace")


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
    return found[1].strip() if found else platform.machine()
