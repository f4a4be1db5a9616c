"""Fetches archives of sources, checks their sums and keeps them, for `scripts/others`: Debian's come from the
mirrors that apt uses on this machine, those of Python packages by pip, those of public repositories by git.

git's own settings apply: where a repository has a mirror, `url.<mirror>.insteadOf` names it (git-config(1)).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from others_tool.recipe import Source

_MIRRORS = "$(SITE)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(IDENTIFIER)|$(SIGNED_BY)"


_ONE_AT_A_TIME = threading.Lock()  # recipes share archives and the download folder


class NoArchive(Exception):
    """It cannot be had; the text says which and why."""


def archive(source: Source, folder: Path) -> Path:
    """Returns the archive in that folder, and fetches it if it is absent. Raises NoArchive."""
    path = folder / f"{source.registry}-{source.name.rpartition('/')[2]}-{source.version}.tar"
    with _ONE_AT_A_TIME:
        _fetch(source, folder, path)
    return path


def _fetch(source: Source, folder: Path, path: Path) -> None:
    """Fetches an archive into a temporary folder, checks its sum, and moves it to `path`."""
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / "incoming"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        if source.registry == "git":
            _git(source, beside)
        else:
            (_debian if source.registry == "debian" else _pypi)(source, beside)
            _check(source, beside)
        next(beside.iterdir()).replace(path)
        beside.rmdir()


def _check(source: Source, folder: Path) -> None:
    """Raises NoArchive unless a folder has one file, of the sum that the recipe states."""
    files = list(folder.iterdir())
    if len(files) != 1:
        raise NoArchive(
            f"{source.name} {source.version}: {source.registry} gave {len(files)} files instead of one"
        )
    found = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if found != source.sha256:
        raise NoArchive(
            f"{source.name} {source.version}: {files[0].name} has the sum {found}, the recipe says {source.sha256}"
        )


def _pypi(source: Source, folder: Path) -> None:
    words: list[str | Path] = ["--quiet", "--no-deps", "--no-binary", source.name, "--dest", folder]
    _run([sys.executable, "-m", "pip", "download", *words, f"{source.name}=={source.version}"], source)


def _git(source: Source, folder: Path) -> None:
    """Fetches one commit without its history. git itself compares the content with the commit's id."""
    repository = folder.parent / "repository"
    shutil.rmtree(repository, ignore_errors=True)
    git: list[str | Path] = ["git", "--git-dir", repository]
    _run([*git, "init", "--quiet", "--bare"], source)
    _run([*git, "fetch", "--quiet", "--depth", "1", source.name, source.version], source)
    _run([*git, "archive", "--prefix", "source/", "--output", folder / "source.tar", source.version], source)
    shutil.rmtree(repository)


def _debian(source: Source, folder: Path) -> None:
    """Downloads an archive of sources from the Debian mirrors that apt knows."""
    listed = _apt(folder.parent / "apt", source, "--print-uris", "source", f"{source.name}={source.version}")
    for line in listed.splitlines():
        match = re.match(r"'(\S+)' (\S+) \d+", line)
        if match and match[2] == source.archive:
            _run(["curl", "-fsSL", "--retry", "3", "-o", folder / match[2], match[1]], source)
            return
    raise NoArchive(f"{source.name} {source.version}: apt knows no file {source.archive} of it")


def _apt(folder: Path, source: Source, *words: str) -> str:
    """Runs apt-get with a private list of this system's mirrors, for source packages; returns its output."""
    places, lists = folder / "deb-src.list", folder / "lists"
    options = [f"Dir::Etc::sourcelist={places}", "Dir::Etc::sourceparts=-", f"Dir::State::Lists={lists}"]
    options += [f"Dir::Cache={folder / 'cache'}"]
    command = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    if not lists.is_dir():
        (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        places.write_text("".join(f"{line}\n" for line in _mirrors(source)), encoding="utf-8")
        (lists / "partial").mkdir(parents=True)
        _run([*command, "update"], source)
    return _run([*command, "--only-source", *words], source)


def _mirrors(source: Source) -> list[str]:
    """Returns the lines of sources.list that give Debian's sources on the mirrors of this machine."""
    told = _run(["apt-get", "indextargets", "--format", _MIRRORS, "Identifier: Packages"], source)
    found = set()
    for line in told.splitlines():
        site, release, component, origin, _, signed = line.split("|")
        if origin == "Debian":
            options = "" if signed.startswith("$") or not signed else f"[signed-by={signed}] "
            found.add(f"deb-src {options}{site} {release} {component}")
    if not found:
        raise NoArchive(
            f"{source.name} {source.version}: apt has no mirror of Debian on this machine: add one to its sources"
        )
    return sorted(found)


def _run(command: Sequence[str | Path], source: Source) -> str:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900)
    except OSError as error:
        raise NoArchive(f"{source.name} {source.version}: {command[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        what = " ".join(Path(str(word)).name for word in command[:2])
        raise NoArchive(f"{source.name} {source.version}: {what} ended with {done.returncode}: {last}")
    return done.stdout
