# SPDX-License-Identifier: Apache-2.0
"""Runs programs under a memory limit of the kernel: in a control group, version 1 or 2, as batch systems do.
`terrace lab demo` uses it."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from terrace.errors import TerraceError

_ROOT = Path("/sys/fs/cgroup")
_groups = itertools.count()


class NoLimitError(TerraceError):
    """The kernel does not grant a memory limit to this user."""


@dataclass(frozen=True)
class LimitedRun:
    """Result of a run under a limit."""

    seconds: float  # of the wall clock
    status: int | None  # exit status; None: stopped, because it took too long
    output: str  # standard output
    errors: str  # standard error


def _files() -> tuple[Path, str, str]:
    """Returns the folder of groups, and the names of the files of the limit and of the members."""
    if (_ROOT / "memory" / "memory.limit_in_bytes").exists():
        return _ROOT / "memory", "memory.limit_in_bytes", "tasks"
    controllers = _ROOT / "cgroup.controllers"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return _ROOT, "memory.max", "cgroup.procs"
    raise NoLimitError(f"the kernel has no control group for memory in {_ROOT}")


@contextlib.contextmanager
def limited_group(memory: int) -> Iterator[Path]:
    """Yields the members file of a new control group that may use `memory` bytes. Raises NoLimitError."""
    folder, limit, members = _files()
    group = folder / f"terrace-demo-{os.getpid()}-{next(_groups)}"
    try:
        group.mkdir()
    except OSError as error:
        raise NoLimitError(f"no control group can be made in {folder}: {error.strerror}") from error
    try:
        try:
            (group / limit).write_text(str(memory))
        except OSError as error:
            raise NoLimitError(
                f"the memory limit of the control group {group} cannot be set: {error.strerror}"
            ) from error
        yield group / members
    finally:
        _remove(group, members)


def _remove(group: Path, members: str) -> None:
    """Ends what still runs in the group, and removes it as soon as the kernel lets it go."""
    for _ in range(50):
        with contextlib.suppress(OSError, ValueError):
            for process in (group / members).read_text().split():
                os.kill(int(process), signal.SIGKILL)
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def run_limited(
    command: Sequence[str | os.PathLike[str]],
    memory: int,
    environment: Mapping[str, str],
    timeout: float,
) -> LimitedRun:
    """Runs a command with `memory` bytes at most. Raises NoLimitError if the kernel grants no limit."""
    with limited_group(memory) as members:
        words = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(members), *(str(word) for word in command)]
        begun = time.monotonic()
        process = subprocess.Popen(
            words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return LimitedRun(time.monotonic() - begun, None, output, errors)
        return LimitedRun(time.monotonic() - begun, process.returncode, output, errors)
