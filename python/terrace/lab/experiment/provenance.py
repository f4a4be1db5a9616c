# SPDX-License-Identifier: Apache-2.0
"""Records the provenance of a study's answers: one Terrace version and its machine files per folder. Studies
refuse to mix answers of two versions."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import terrace
from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.lab.experiment.cells import document, write_whole
from terrace.lab.study import run_terrace

FILE = "made.json"
_DIGITS = 12  # of a hash


@cache
def version() -> str:
    """Returns Terrace's version with its commit: "0.1.0, commit 95546f0340d7"."""
    return version_of(run_terrace(["--version"]), Path(terrace.__file__).parent)


def version_of(said: str, package: Path) -> str:
    """Returns the version from the output of `terrace --version`.

    If the build contained uncommitted changes (`+`), the hash of the package's files is appended.
    """
    number, commit = re.findall(r"^terrace (\S+)(?: \(commit (\S+)\))?", said)[0]
    words = [number, *([f"commit {commit}"] if commit else [])]
    if not commit or commit.endswith("+"):
        words.append(f"files {_hash_of(package)}")
    return ", ".join(words)


def _hash_of(package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".so")):
        digest.update(f"{path.relative_to(package)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def machine_hash(machine: _core.Machine) -> str:
    """Returns the hash of the machine file's text without comments."""
    return hashlib.sha256(machine.to_toml().encode()).hexdigest()[:_DIGITS]


def ensure(folder: Path, machines: Sequence[_core.Machine]) -> None:
    """Records the provenance in an empty folder. Raises WrongCallError if existing answers have another one."""
    wanted = {machine.name: machine_hash(machine) for machine in machines}
    if not (folder / FILE).exists():
        if any((folder / part).exists() for part in ("answers", "traces")):
            raise _other(folder, "another Terrace (of a commit that is not known)")
        begun = time.strftime("%Y-%m-%d")
        write_whole(folder / FILE, document({"terrace": version(), "machines": wanted, "begun": begun}))
        return
    there = _read(folder)
    if there["terrace"] != version():
        raise _other(folder, f"another Terrace ({there['terrace']})")
    for name, digest in wanted.items():
        if there["machines"].get(name) != digest:
            raise _other(folder, f"another {name}")


def describe(folder: Path) -> str:
    """Returns the line of a report: machine files, Terrace, dates."""
    there = _read(folder)
    machines = ", ".join(f"{name} ({digest})" for name, digest in there["machines"].items())
    written = time.strftime("%Y-%m-%d")
    return f"Machine file {machines}; Terrace {there['terrace']}; begun {there['begun']}, written {written}."


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TerraceError(f"{path} cannot be read ({error}): name another folder with --output") from error
    return found


def _other(folder: Path, what: str) -> WrongCallError:
    return WrongCallError(f"{folder} was made with {what}: name another folder with --output")
