"""What goes wrong on other people's machines: full and failing disks, killed processes, calls that are refused.

The program does as it does in memory, a line says what is wrong, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Line, Measured, Unavailable, run

BUILD = ROOT / "build" / "release"
DENY = BUILD / "bench" / "bin" / "deny"
PROGRAM = [str(BUILD / "tests" / "integration" / "large_data"), "192"]
MEMORY = "96MiB"
KILLS = 50
JOURNAL = 1 << 20  # bytes
MIB = 1 << 20


@dataclass(frozen=True)
class Ended:
    """What a run under a fault said."""

    status: int
    output: str  # the program's
    lines: tuple[str, ...]  # Terrace's that are no account of the run


_ACCOUNTS = ("of data in", "data fitted", "no access was seen", "profile in", "iterations in", "no main loop")


def _run(folder: Path, before: Sequence[str | Path] = ()) -> Ended:
    with tempfile.TemporaryDirectory() as profiles:
        words = [*before, TERRACE, "run", "--memory", MEMORY, "--spill", folder, "-o", f"{profiles}/run.terrace"]
        done = subprocess.run(
            [*map(str, words), "--", *PROGRAM], text=True, capture_output=True, timeout=300
        )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if line.startswith("terrace:")]
    lines = tuple(line for line in said if not any(account in line for account in _ACCOUNTS))
    return Ended(done.returncode, done.stdout, lines)


def _alone() -> str:
    return run(PROGRAM).stdout


@contextlib.contextmanager
def _mounted(size: int, backing: Path) -> Iterator[Path]:
    """An ext4 file system of so many bytes in a sparse file."""
    with backing.open("wb") as file:
        file.truncate(size)
    run(["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1", backing])
    with tempfile.TemporaryDirectory() as name:
        run(["mount", "-o", "loop", backing, name])
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], capture_output=True)


@contextlib.contextmanager
def _memory_disk(size: int) -> Iterator[Path]:
    """A folder in memory of so many bytes."""
    with tempfile.TemporaryDirectory() as name:
        run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", name])
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], capture_output=True)


def _full_disk() -> Ended:
    """Room for a half of what leaves."""
    with (
        tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name,
        _mounted(80 * MIB, Path(name) / "disk") as folder,
    ):
        return _run(folder)


def _failing_disk() -> Ended:
    """The file system has room, and the disk below it refuses writes after some."""
    with _memory_disk(80 * MIB) as below, _mounted(512 * MIB, below / "disk") as folder:
        return _run(folder)


def _denied(*calls: str) -> Callable[[], Ended]:
    def measure() -> Ended:
        with tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name:
            return _run(Path(name), [DENY, *calls, "--"])

    return measure


def _without_userfaultfd() -> Ended:
    """Neither by the call nor by the device."""
    with tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name:
        hide = 'test ! -e /dev/userfaultfd || mount --bind /dev/null /dev/userfaultfd; exec "$@"'
        return _run(Path(name), ["unshare", "-m", "sh", "-c", hide, "sh", DENY, "userfaultfd", "--"])


def _read_only_proc() -> Ended:
    with tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name:
        return _run(Path(name), ["unshare", "-m", "sh", "-c", 'mount -o remount,ro,bind /proc; exec "$@"', "sh"])


# What happens, how; and whether a line of Terrace's has to say so.
FAULTS: dict[str, tuple[Callable[[], Ended], str]] = {
    "disk full in the middle": (_full_disk, "stays in memory"),
    "I/O errors": (_failing_disk, "stays in memory"),
    "no userfaultfd": (_without_userfaultfd, "runs with the memory that it gets"),
    "no io_uring": (_denied("io_uring_setup"), ""),
    "no mbind": (_denied("mbind", "move_pages", "set_mempolicy", "get_mempolicy"), ""),
    "read-only /proc": (_read_only_proc, ""),
}


def faults() -> Measured:
    """All but being killed: the program's own output as without Terrace, one line where something is wrong."""
    if os.geteuid() != 0:
        raise Unavailable("mounts need root")
    run(["cmake", "--build", "--preset", "release", "--target", "paging_benchmarks", "large_data"])
    alone, rows, holds = _alone(), [], True
    for name, (measure, wanted) in FAULTS.items():
        ended = measure()
        right = ended.status == 0 and ended.output == alone
        said = len(ended.lines) == (1 if wanted else 0) and all(wanted in line for line in ended.lines)
        holds = holds and right and said
        rows.append(_row(name, right, said, ended))
    wrong = [row["fault"] for row in rows if not (row["goes_on"] and row["one_line"])]
    text = f"{len(rows) - len(wrong)} of {len(rows)}" + (f"; not {', '.join(wrong)}" if wrong else "")
    return Measured(text, holds, rows)


def _row(name: str, right: bool, said: bool, ended: Ended) -> dict[str, Any]:
    return {"fault": name, "goes_on": right, "one_line": said, "says": " | ".join(ended.lines) or "nothing"}


def _left(folder: Path) -> list[str]:
    """Processes and files of a run that was killed."""
    processes = subprocess.run(["pgrep", "-f", PROGRAM[0]], text=True, capture_output=True).stdout.split()
    return [*(f"process {one}" for one in processes), *(one.name for one in folder.iterdir())]


def kills() -> Measured:
    """The program is killed, or the launcher with it, at a random moment.

    A launcher that is killed leaves the journals, so that `terrace merge` can read what was learned until then."""
    run(["cmake", "--build", "--preset", "release", "--target", "large_data"])
    draw = random.Random(22)
    found: list[str] = []
    with tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name, tempfile.TemporaryDirectory() as profiles:
        folder = Path(name)
        for turn in range(KILLS):
            words = [TERRACE, "run", "--memory", MEMORY, "--spill", folder, "-o", f"{profiles}/{turn}.terrace"]
            process = subprocess.Popen(
                [*map(str, words), "--", *PROGRAM],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "TMPDIR": profiles},
            )
            time.sleep(draw.uniform(0.05, 1.5))
            if turn % 2 == 0:
                subprocess.run(["pkill", "-KILL", "-f", f"^{PROGRAM[0]}"], capture_output=True)
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
            time.sleep(0.2)
            found += [f"turn {turn}: {one}" for one in _left(folder)]
        journals = list(Path(profiles).glob("terrace-*"))
        for one in journals:
            if any(part.stat().st_size > JOURNAL for part in one.iterdir()):
                found.append(f"{one.name} is large")
    text = f"{KILLS} kills, {len(found)} things left" + (f": {'; '.join(found[:4])}" if found else "")
    text += f"; {len(journals)} folders of journals of launchers that were killed, for `terrace merge`"
    return Measured(text, not found)


LINES = [
    Line(
        "faults",
        "disk full, I/O errors, no userfaultfd, no io_uring, no mbind, read-only /proc: the program goes on with "
        "the same result, one clear line where something is missing",
        faults,
    ),
    Line("killed", "SIGKILL at 50 random moments: nothing is left behind", kills),
]
