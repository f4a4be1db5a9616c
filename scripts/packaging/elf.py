# SPDX-License-Identifier: Apache-2.0
"""Reads the libraries and the symbol versions that ELF files need, with readelf and ldd, for wheel.py and
deb.py."""

import re
import subprocess
from pathlib import Path


def is_elf(path: Path) -> bool:
    """Returns whether a file is an ELF executable or a shared library."""
    with path.open("rb") as file:
        head = file.read(18)
    return len(head) == 18 and head[:4] == b"\x7fELF" and head[16] in (2, 3)


def needed(path: Path) -> list[str]:
    """Returns the names of the libraries that a file needs directly."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", _output_of("readelf", "-dW", path))


def resolved(path: Path) -> dict[str, Path]:
    """Returns the paths of all libraries that a file needs, transitively. Raises SystemExit if one is missing."""
    text = _output_of("ldd", path)
    if missing := re.findall(r"(\S+) => not found", text):
        raise SystemExit(f"{path} needs {', '.join(missing)}, which this machine does not have")
    return {name: Path(where) for name, where in re.findall(r"(\S+) => (/\S+)", text)}


def versions(path: Path, library: str) -> list[tuple[int, ...]]:
    """Returns the symbol versions of a library that a file needs: for GLIBC, [(2, 14), (2, 34)]."""
    section = _output_of("readelf", "-VW", path).partition("Version needs section")[2]
    found = re.findall(rf"Name: {library}_([0-9.]+)\b", section)
    return sorted({tuple(map(int, text.split("."))) for text in found})


def _output_of(*command: object) -> str:
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
