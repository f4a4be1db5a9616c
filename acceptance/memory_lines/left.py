"""Finds resources that a job with real memory left behind: processes, files, space on a disk, ledgers, journals.
faults.py and kills.py call it after each job."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
PATIENCE = 10.0  # seconds until what has ended is gone
# The disk's blocks that may be taken by what is no data: folders that grew.
TOLERANCE = MIB


def of_session(leader: int, *pattern: str) -> list[int]:
    """Its processes; those alone whose command the pattern describes."""
    done = subprocess.run(["pgrep", "-s", str(leader), *pattern], text=True, capture_output=True)
    return [int(one) for one in done.stdout.split()]


def soon(done: Callable[[], bool]) -> bool:
    """Returns whether the condition becomes true within a short time."""
    until = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    return done()


@dataclass(frozen=True)
class State:
    """State of the places before a job."""

    free: int  # bytes of the disk
    ledgers: frozenset[Path]


@dataclass(frozen=True)
class Places:
    """Places where a job may leave resources behind."""

    # Folder of the backing files: on a disk of its own, so that unlinked files show in its free bytes.
    folder: Path | None
    journals: Path
    session: Path | None = None  # of the login session, for some of the jobs: XDG_RUNTIME_DIR

    def ledgers(self) -> frozenset[Path]:
        """Returns all files in the folders of ledgers."""
        folders = [Path("/dev/shm") / f"terrace-{os.geteuid()}"]
        folders += [self.session / "terrace"] if self.session else []
        return frozenset(one for folder in folders if folder.is_dir() for one in folder.iterdir())

    def free(self) -> int:
        if self.folder is None:
            return 0
        status = os.statvfs(self.folder)
        return status.f_bfree * status.f_frsize

    def state(self) -> State:
        return State(self.free(), self.ledgers())

    def environment(self, has_session: bool = False) -> dict[str, str]:
        """Returns the environment of a job of the login session, if it is one of those."""
        others = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
        return {
            **others,
            "TMPDIR": str(self.journals),
            **({"XDG_RUNTIME_DIR": str(self.session)} if has_session else {}),
        }

    def processes_left(self, leader: int) -> list[str]:
        """Returns the remaining processes of the session that `leader` started."""
        gone = soon(lambda: not of_session(leader))
        return [] if gone else [f"processes {of_session(leader)}"]

    def disk_left(self, free: int) -> list[str]:
        """Returns named files, and the bytes of unlinked ones."""
        if self.folder is None:
            return []
        found = [one.name for one in self.folder.iterdir() if one.name != "lost+found"]
        if not soon(lambda: self.free() >= free - TOLERANCE):
            found.append(f"{(free - self.free()) / MIB:.0f} MiB of the disk")
        return found

    def ledgers_left(self, before: frozenset[Path]) -> list[str]:
        soon(lambda: self.ledgers() <= before)  # jobs of others may come and go
        return [f"ledger {one}" for one in sorted(self.ledgers() - before)]

    def left_since(self, before: State, leader: int) -> list[str]:
        """Returns what a job left behind whose launcher has ended by itself."""
        return [
            *self.processes_left(leader),
            *self.disk_left(before.free),
            *self.ledgers_left(before.ledgers),
            *(f"journals {one.name}" for one in self.journals.iterdir()),
        ]
