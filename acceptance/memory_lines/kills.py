"""Programs with real memory that are killed: what is left of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import SETTINGS, TERRACE, Line, Measured, Unavailable, run

from memory_lines.faults import MEMORY, MIB, PROGRAM, mounted

KILLS = 50
ATTEMPTS = 20 * KILLS
DISK = 1024 * MIB
JOURNAL = MIB  # bytes
PATIENCE = 10.0  # seconds until what was killed is gone
# The disk's blocks that may be taken by what is no data: folders that grew.
TOLERANCE = MIB


@dataclass
class _Places:
    """Where something may be left."""

    folder: Path  # of the spill files: on a disk of its own, so that files without a name show in its free bytes
    session: Path  # of the login session, for half of the jobs: XDG_RUNTIME_DIR
    journals: Path
    found: list[str] = field(default_factory=list)

    def ledgers(self) -> set[Path]:
        """All files beside ledgers, and they."""
        shared = Path("/dev/shm") / f"terrace-{os.geteuid()}"
        return {
            one for folder in (self.session / "terrace", shared) if folder.is_dir() for one in folder.iterdir()
        }

    def free(self) -> int:
        status = os.statvfs(self.folder)
        return status.f_bfree * status.f_frsize

    def environment(self, has_session: bool) -> dict[str, str]:
        others = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
        return {
            **others,
            "TMPDIR": str(self.journals),
            **({"XDG_RUNTIME_DIR": str(self.session)} if has_session else {}),
        }


def _of_session(leader: int, *pattern: str) -> list[int]:
    """Its processes; those alone whose command the pattern describes."""
    done = subprocess.run(["pgrep", "-s", str(leader), *pattern], text=True, capture_output=True)
    return [int(one) for one in done.stdout.split()]


def _soon(done: Callable[[], bool]) -> bool:
    """Whether it comes true before long."""
    until = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    return done()


def _is_killed(places: _Places, options: Sequence[str | Path], turn: int, after: float) -> bool:
    """A job with its program, or with its launcher, killed after so many seconds. False where it was not there any
    more, or not yet."""
    with_launcher = turn % 2 == 1
    process = subprocess.Popen(
        [*map(str, (TERRACE, "run", *options, "--", *PROGRAM))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=places.environment(has_session=turn % 4 < 2),
    )
    time.sleep(after)
    victims = _of_session(process.pid, "-f", f"^{PROGRAM[0]}")
    began = bool(victims)
    for victim in [*victims, *([process.pid] if with_launcher and began else [])]:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            began = False
    status = process.wait(timeout=60)
    if not _soon(lambda: not _of_session(process.pid)):
        places.found.append(f"turn {turn}: processes {_of_session(process.pid)}")
    return began and status == -signal.SIGKILL


def _look(places: _Places, turn: int, free: int) -> None:
    """At what is left of a job on the disk."""
    places.found += [f"turn {turn}: {one.name}" for one in places.folder.iterdir() if one.name != "lost+found"]
    if not _soon(lambda: places.free() >= free - TOLERANCE):
        places.found.append(f"turn {turn}: {(free - places.free()) / MIB:.0f} MiB of the disk")


def kills() -> Measured:
    """At random moments: the program is killed, or the launcher with it; data over a file, or by intent.

    A launcher that is killed leaves the journals, so that `terrace merge` can read what was learned until then,
    and the ledger, which the next launcher removes."""
    if os.geteuid() != 0:
        raise Unavailable("mounts need root")
    run(["cmake", "--build", "--preset", "release", "--target", "large_data"])
    draw = random.Random(22)
    killed = turn = 0
    with (
        tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as below,
        tempfile.TemporaryDirectory() as session,
        tempfile.TemporaryDirectory() as journals,
        mounted(DISK, Path(below)) as disk,
    ):
        places = _Places(disk.folder, Path(session), Path(journals))
        before, free = places.ledgers(), places.free()
        over_file = ("--memory", MEMORY, "--spill", disk.folder, "-o", Path(journals) / "killed.profile")
        while killed < KILLS and turn < ATTEMPTS:
            options = over_file if turn % 8 < 4 else ("--intent", "bandwidth")
            killed += _is_killed(places, options, turn, draw.uniform(0.02, 1.5))
            _look(places, turn, free)
            turn += 1
        for has_session in (True, False):
            run([TERRACE, "run", "--intent", "bandwidth", "--", "true"], env=places.environment(has_session))
        places.found += [f"ledger {one}" for one in sorted(places.ledgers() - before)]
        kept = list(Path(journals).glob("terrace-*"))
        places.found += [f"{one.name} is large" for one in kept if _largest(one.rglob("*")) > JOURNAL]
    found = places.found
    text = f"{killed} killed of {turn} jobs, {len(found)} things left" + (
        f": {'; '.join(found[:4])}" if found else ""
    )
    text += f"; {len(kept)} folders of journals of launchers that were killed, for `terrace merge`"
    return Measured(text, killed == KILLS and not found)


def _largest(files: Iterable[Path]) -> int:
    return max((one.stat().st_size for one in files if one.is_file()), default=0)


LINES = [
    Line(
        "killed",
        "SIGKILL at 50 random moments: no process, file, disk space or, after the next launcher, ledger is left "
        "behind; journals stay for `terrace merge`",
        kills,
    ),
]
