"""Lists the required programs, and the command that installs missing ones, for the criteria that run them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from harness import Unavailable

_LIST = Path(__file__).with_name("packages.txt")


def packages() -> dict[str, str]:
    """Returns the package of each command, or of each file by a pattern."""
    lines = (line.split() for line in _LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {words[0]: words[1] for words in lines if words}


def require(commands: Iterable[str]) -> None:
    """Raises Unavailable with the packages that are missing."""
    known = packages()
    missing = {known[one] for one in commands if not is_there(one)}
    if missing:
        raise Unavailable(f"programs are missing: apt-get install {' '.join(sorted(missing))}")


def is_there(name: str) -> bool:
    return bool(_files(name)) if name.startswith("/") else shutil.which(name) is not None


def found(pattern: str) -> str:
    """Returns the newest file of a pattern."""
    return str(_files(pattern)[-1])


def _files(pattern: str) -> list[Path]:
    return sorted(Path("/").glob(pattern.lstrip("/")))
