"""What ELF files need: names of libraries and versions of symbols, as readelf and ldd say them."""

import re
import subprocess
from pathlib import Path


def is_elf(path: Path) -> bool:
    """A program or a shared library; object files and archives need nothing."""
    with path.open("rb") as file:
        head = file.read(18)
    return len(head) == 18 and head[:4] == b"\x7fELF" and head[16] in (2, 3)


def needed(path: Path) -> list[str]:
    """The names of libraries that it asks for itself."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", _said("readelf", "-dW", path))


def resolved(path: Path) -> dict[str, Path]:
    """Where this machine has all that it needs, those that these need included. Raises where one is missing."""
    text = _said("ldd", path)
    if missing := re.findall(r"(\S+) => not found", text):
        raise SystemExit(f"{path} needs {', '.join(missing)}, which this machine does not have")
    return {name: Path(where) for name, where in re.findall(r"(\S+) => (/\S+)", text)}


def versions(path: Path, library: str) -> list[tuple[int, ...]]:
    """The versions of a library's symbols that it asks for: of GLIBC, [(2, 14), (2, 34)]."""
    section = _said("readelf", "-VW", path).partition("Version needs section")[2]
    found = re.findall(rf"Name: {library}_([0-9.]+)\b", section)
    return sorted({tuple(map(int, text.split("."))) for text in found})


def _said(*command: object) -> str:
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
