"""Runs programs under a limit of memory and of a disk's speed, in control groups as batch systems set them.
Criteria that run out of core use it."""

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

from harness import Unavailable

from memory_lines.disks import DiskBytes, device_of, moved

_FIRST = Path("/sys/fs/cgroup")
_numbers = itertools.count()


@dataclass(frozen=True)
class Run:
    """How a program ended, and what it was given."""

    status: int | None  # or None, if it was stopped because it took too long
    output: str
    seconds: float
    peak: int  # bytes of memory, the kernel's own included
    killed: bool = False  # by the kernel, out of memory within the limit
    disk: DiskBytes | None = None  # moved by the disk in the meantime, by the kernel's counters, if it has any


@dataclass(frozen=True)
class _Kind:
    """Files of a control group in which limits are written."""

    folder: Path
    limit: str
    peak: str
    members: str
    events: str  # has a line "oom_kill COUNT"


def _kind() -> _Kind:
    """Returns the files of this machine's memory control groups, version 1 or 2."""
    if (_FIRST / "memory" / "memory.limit_in_bytes").exists():
        first = _FIRST / "memory"
        return _Kind(first, "memory.limit_in_bytes", "memory.max_usage_in_bytes", "tasks", "memory.oom_control")
    if (_FIRST / "cgroup.controllers").exists() and "memory" in (_FIRST / "cgroup.controllers").read_text():
        return _Kind(_FIRST, "memory.max", "memory.peak", "cgroup.procs", "memory.events")
    raise Unavailable(f"no control group for memory in {_FIRST}: mount version 1 or 2 with the memory controller")


def run_limited(
    command: Sequence[str | Path],
    memory: int,
    env: Mapping[str, str] | None = None,
    timeout: float = 900,
    folder: Path | None = None,
) -> Run:
    """Runs a command with so many bytes of memory; what lies beyond goes to swap, where there is some. The disk
    below a folder is watched."""
    if os.geteuid() != 0:
        raise Unavailable("only root can make control groups: run as root")
    kind = _kind()
    group = kind.folder / f"terrace-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    device = device_of(folder) if folder else None
    if device:
        os.sync()  # pending writes of other programs must not count for this run
    try:
        (group / kind.limit).write_text(str(memory))
        words = ["/bin/sh", "-c", f'echo $$ > {group / kind.members} && exec "$@"', "sh", *map(str, command)]
        before = moved(device) if device else None
        begun = time.monotonic()
        process = subprocess.Popen(
            words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
        )
        try:
            output, _ = process.communicate(timeout=timeout)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            _kill_all(group / kind.members)
            output, _ = process.communicate()
            status = None
        except BaseException:  # end the program before the exception leaves this function
            _kill_all(group / kind.members)
            process.wait()
            raise
        took = time.monotonic() - begun
        disk = moved(device).since(before) if device and before else None
        peak = int((group / kind.peak).read_text()) if (group / kind.peak).exists() else 0
        return Run(status, output, took, peak, _killed(group / kind.events), disk)
    finally:
        _remove(group)


def _killed(events: Path) -> bool:
    """Returns whether the kernel's out-of-memory killer has ended a process of the group."""
    counts = dict(line.split() for line in events.read_text().splitlines()) if events.exists() else {}
    return counts.get("oom_kill", "0") != "0"


def _kill_all(members: Path) -> None:
    for process in members.read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)


def _remove(group: Path) -> None:
    """Removes the group; retries, because the kernel may still count a process that has just ended."""
    for _ in range(50):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def _disk_of(folder: Path) -> str:
    """Returns MAJOR:MINOR of the whole disk that a folder is on."""
    device = device_of(folder)
    if device is None:
        raise Unavailable(f"{folder} is on no disk of its own")
    whole = device.parent if (device / "partition").exists() else device
    return (whole / "dev").read_text().strip()


@contextlib.contextmanager
def throttled(folder: Path, read: int, write: int) -> Iterator[None]:
    """Limits the bytes a second of the disk under a folder, for all processes and for the kernel's paging."""
    first = _FIRST / "blkio"
    if not (first / "blkio.throttle.read_bps_device").exists():
        raise Unavailable("no control group that throttles a disk for all (blkio of version 1)")
    disk = _disk_of(folder)

    def limit(direction: str, speed: int) -> None:
        (first / f"blkio.throttle.{direction}_bps_device").write_text(f"{disk} {speed}")

    try:
        limit("read", read)
        limit("write", write)
        yield
    finally:
        limit("read", 0)
        limit("write", 0)


@contextlib.contextmanager
def swap_file(path: Path, size: int) -> Iterator[None]:
    """Enables swap to a file of so many bytes, as the only swap."""
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
