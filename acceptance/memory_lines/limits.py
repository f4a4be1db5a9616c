"""Programs under a limit of memory and of a disk's speed: control groups, as batch systems set them."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Unavailable

_FIRST = Path("/sys/fs/cgroup")
_numbers = itertools.count()


@dataclass(frozen=True)
class Run:
    """How a program ended, and what it was given."""

    status: int
    output: str
    peak: int  # bytes of memory, the kernel's own included


@dataclass(frozen=True)
class _Kind:
    """Where limits are written."""

    folder: Path
    limit: str
    peak: str
    members: str


def _kind() -> _Kind:
    if (_FIRST / "memory" / "memory.limit_in_bytes").exists():
        return _Kind(_FIRST / "memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "tasks")
    if (_FIRST / "cgroup.controllers").exists() and "memory" in (_FIRST / "cgroup.controllers").read_text():
        return _Kind(_FIRST, "memory.max", "memory.peak", "cgroup.procs")
    raise Unavailable("no control group for memory")


def run_limited(
    command: Sequence[str | Path], memory: int, env: Mapping[str, str] | None = None, timeout: float = 900
) -> Run:
    """Runs a command with so many bytes of memory; what lies beyond goes to swap, where there is some."""
    if os.geteuid() != 0:
        raise Unavailable("control groups need root")
    kind = _kind()
    group = kind.folder / f"terrace-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        (group / kind.limit).write_text(str(memory))
        words = ["/bin/sh", "-c", f'echo $$ > {group / kind.members} && exec "$@"', "sh", *map(str, command)]
        done = subprocess.run(
            words, text=True, capture_output=True, timeout=timeout, env={**os.environ, **(env or {})}
        )
        peak = int((group / kind.peak).read_text()) if (group / kind.peak).exists() else 0
        return Run(done.returncode, done.stdout + done.stderr, peak)
    finally:
        group.rmdir()


@contextlib.contextmanager
def swap_file(path: Path, size: int) -> Iterator[None]:
    """Swap to a file of so many bytes, alone."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    path.chmod(0o600)
    subprocess.run(["mkswap", path], check=True, capture_output=True)
    on = subprocess.run(["swapon", path], text=True, capture_output=True)
    if on.returncode != 0:
        path.unlink()
        raise Unavailable(f"no swap: {on.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["swapoff", path], check=True, capture_output=True)
        path.unlink()
