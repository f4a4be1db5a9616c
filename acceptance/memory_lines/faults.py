"""Injects faults into out-of-core programs: full and failing disks, system calls that the kernel refuses. Criteria
of acceptance/memory.

The program computes as in memory, and a message says what is wrong. If data cannot be read back, the program ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Criterion, Measured, Unavailable, run

from memory_lines.left import Places
from memory_lines.mounts import Disk, mounted

BUILD = ROOT / "build" / "release"
DENY = BUILD / "bench" / "bin" / "deny"
PROGRAM = [str(BUILD / "tests" / "integration" / "large_data"), "192"]
CALLS = [str(BUILD / "bench" / "bin" / "intent_calls"), "64"]  # terrace_alloc, terrace_apply
MEMORY = "96MiB"
MIB = 1 << 20
DISK, METADATA = 512 * MIB, 8 * MIB  # sizes of a failing disk, and of its metadata at the beginning
WRITTEN = 192 * MIB  # twice the block that the program grows, and gives back: some of it is of what stays
BUS_ERROR = -signal.SIGBUS  # the launcher ends as the program does
# All by which the kernel is told where pages are to be.
POLICIES = ("mbind", "set_mempolicy", "get_mempolicy", "move_pages")


@dataclass(frozen=True)
class FaultOutcome:
    """Result of a run under a fault."""

    status: int
    output: str  # the program's
    lines: tuple[str, ...]  # Terrace's that are no account of the run, and what its calls answered
    left: tuple[str, ...]  # things that were not there before


_ACCOUNTS = ("of data in", "of data by", "data fitted", "no access was seen", "profile in", "iterations in")
_NO_LOOP = "no main loop"

While = Callable[[subprocess.Popen[str]], None]  # something happens to a program that runs


def _run(
    options: Sequence[str | Path],
    before: Sequence[str | Path] = (),
    program: Sequence[str] = PROGRAM,
    while_it_runs: While = lambda process: None,
    folder: Path | None = None,
) -> FaultOutcome:
    """Runs a program under `terrace run` with these options, started by the words of `before`. The folder is that
    of backing files, on a disk of its own."""
    with tempfile.TemporaryDirectory() as profiles, tempfile.TemporaryDirectory() as journals:
        kept = [] if "--intent" in options else ["-o", f"{profiles}/run.terrace"]
        words = [*before, TERRACE, "run", *options, *kept, "--", *program]
        places = Places(folder, Path(journals))
        state = places.state()
        process = subprocess.Popen(
            list(map(str, words)),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=places.environment(),
        )
        while_it_runs(process)
        output, errors = process.communicate(timeout=300)
        left = [*places.left_since(state, process.pid)]
        left += [one.name for one in Path(profiles).iterdir() if one.name != "run.terrace"]
    said = [line for line in errors.splitlines() if line.startswith(("terrace:", "calls:"))]
    lines = tuple(line for line in said if not any(account in line for account in (*_ACCOUNTS, _NO_LOOP)))
    return FaultOutcome(process.returncode, output, lines, tuple(left))


def _over_file(
    folder: Path, before: Sequence[str | Path] = (), while_it_runs: While = lambda process: None
) -> FaultOutcome:
    return _run(["--memory", MEMORY, "--spill", folder], before, PROGRAM, while_it_runs, folder)


@contextlib.contextmanager
def _disk(size: int) -> Iterator[Disk]:
    with tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as name, mounted(size, Path(name)) as disk:
        yield disk


def _full_disk() -> FaultOutcome:
    """Runs out of core on a disk with space for a half of the evicted data."""
    with _disk(80 * MIB) as disk:
        return _over_file(disk.folder)


def _refuses_writes() -> FaultOutcome:
    """Runs out of core on a disk whose second half has I/O errors, while the file system has free space."""
    with _disk(DISK) as disk:
        disk.shrink(DISK // 2)
        return _over_file(disk.folder)


def _refuses_reads() -> FaultOutcome:
    """Runs out of core on a disk that fails with I/O errors when a part of the data has been written."""
    with _disk(DISK) as disk:

        def fail(process: subprocess.Popen[str]) -> None:
            begun = disk.written()
            while process.poll() is None and disk.written() < begun + WRITTEN:
                time.sleep(0.01)
            disk.shrink(METADATA)

        return _over_file(disk.folder, while_it_runs=fail)


def _fine_disk(before: Sequence[str | Path]) -> Callable[[], FaultOutcome]:
    """Returns an out-of-core run on an intact disk of the program's own, so that remaining files show."""

    def whole() -> FaultOutcome:
        with _disk(DISK) as disk:
            return _over_file(disk.folder, before)

    return whole


def _in_own_mounts(change: str, *then: str | Path) -> list[str | Path]:
    """Returns the first words of a command that runs in a mount namespace with other mounts."""
    return ["unshare", "-m", "sh", "-c", f'{change}; exec "$@"', "sh", *then]


# The first words of a command that may not do something.
_NO_USERFAULTFD = _in_own_mounts(  # neither by the call nor by the device
    "test ! -e /dev/userfaultfd || mount --bind /dev/null /dev/userfaultfd", DENY, "userfaultfd", "--"
)
_NO_POLICIES: list[str | Path] = [DENY, *POLICIES, "--"]
_NO_IO_URING: list[str | Path] = [DENY, "io_uring_setup", "--"]
_READ_ONLY_PROC = _in_own_mounts("mount -o remount,ro,bind /proc")

_AT_TOUCH: Sequence[str] = ("--intent", "bandwidth")
_AT_ONCE: Sequence[str] = (*_AT_TOUCH, "--eager")


@dataclass(frozen=True)
class Fault:
    """A fault and its expected outcome."""

    measure: Callable[[], FaultOutcome]
    lines: tuple[str, ...] = ()  # expressions of what each line says, in this order; no others
    also: str = ""  # expression of an optional further line
    status: int = 0
    program: Sequence[str] = tuple(PROGRAM)  # whose own output is the right one

    def is_told_by(self, lines: Sequence[str]) -> bool:
        """Returns whether these are exactly the expected lines."""
        told = [line for line in lines if not (self.also and re.search(self.also, line))]
        return len(told) == len(self.lines) and all(map(re.search, self.lines, told))


def _by_intent(
    name: str, before: Sequence[str | Path], at_touch: str, at_once: str, calls: Sequence[str]
) -> dict[str, Fault]:
    """Returns the faults of allocation by intent: of pages at first touch, at once and by calls, with the messages
    that each must print."""

    def fault(options: Sequence[str], program: Sequence[str], *lines: str) -> Fault:
        said = tuple(line for line in lines if line)
        return Fault(lambda: _run(options, before, program), said, program=program)

    return {
        f"{name}, --intent": fault(_AT_TOUCH, PROGRAM, at_touch),
        f"{name}, --intent --eager": fault(_AT_ONCE, PROGRAM, at_once),
        f"{name}, calls": fault((), CALLS, *calls),
    }


_STAYS = "the rest stays in memory "
_NO_SPACE, _IO_ERROR = r"\(.*: No space left on device\)$", r"\(.*: Input/output error\)$"
_NOT_PLACED = "the system did not let all data by intent be placed: Operation not permitted"
_CALLS_REFUSED = tuple(
    f"^calls: {call}: the system does not let all of it be placed: Operation not permitted"
    for call in ("terrace_alloc", "terrace_apply")
)
FAULTS: dict[str, Fault] = {
    "disk full in the middle": Fault(_full_disk, (f"has no space for all data: {_STAYS}{_NO_SPACE}",)),
    "I/O errors of writes": Fault(_refuses_writes, (f"cannot be written: {_STAYS.strip()}; .*{_IO_ERROR}",)),
    "I/O errors of reads": Fault(
        _refuses_reads,
        (f"cannot be read: .*{_IO_ERROR}", "did not end by itself"),
        status=BUS_ERROR,
        also=f"cannot be written: {_STAYS.strip()}; .*{_IO_ERROR}",  # if a page is written before that
    ),
    "no userfaultfd, --memory": Fault(_fine_disk(_NO_USERFAULTFD), ("which is slower",)),
    **_by_intent("no userfaultfd", _NO_USERFAULTFD, "because this process may not wait for page faults", "", ()),
    "no io_uring, --memory": Fault(_fine_disk(_NO_IO_URING)),
    "no mbind, --memory": Fault(_fine_disk(_NO_POLICIES)),
    **_by_intent(
        "no mbind",
        _NO_POLICIES,
        _NOT_PLACED,
        _NOT_PLACED,
        (*_CALLS_REFUSED, _NOT_PLACED),
    ),
    **_by_intent("one node", (), "", "", ()),
    "read-only /proc, --memory": Fault(_fine_disk(_READ_ONLY_PROC)),
    **_by_intent("read-only /proc", _READ_ONLY_PROC, "", "", ()),
}


def faults() -> Measured:
    """Compares the program's own output with that without Terrace, and Terrace's lines with the documented
    ones."""
    if os.geteuid() != 0:
        raise Unavailable("only root can mount the file systems that fail: run as root")
    targets = ("paging_benchmarks", "intent_calls", "large_data")
    run(["cmake", "--build", "--preset", "release", "--target", *targets])
    alone = {tuple(program): run(program).stdout for program in (PROGRAM, CALLS)}
    rows = []
    for name, fault in FAULTS.items():
        ended = fault.measure()
        right = ended.status == fault.status and (fault.status != 0 or ended.output == alone[tuple(fault.program)])
        rows.append(_row(name, right, fault.is_told_by(ended.lines), ended))
    return judged(rows)


def _row(name: str, right: bool, said: bool, ended: FaultOutcome) -> dict[str, Any]:
    """Returns the row of a fault for the result page."""
    return {
        "fault": name,
        "ends_as_it_should": right,
        "says_it": said,
        "leaves_nothing": not ended.left,
        "status": ended.status,
        "says": " / ".join(ended.lines) or "nothing",
        "left": "; ".join(ended.left) or "nothing",
    }


def judged(rows: Sequence[dict[str, Any]]) -> Measured:
    """Returns each fault with whether it had the expected outcome in all respects."""
    wrong = [row for row in rows if not (row["ends_as_it_should"] and row["says_it"] and row["leaves_nothing"])]
    told = [
        f"not {row['fault']}: status {row['status']}, says {row['says']}, leaves {row['left']}" for row in wrong
    ]
    return Measured("\n".join([f"{len(rows) - len(wrong)} of {len(rows)}", *told]), not wrong, rows)


CRITERIA = [
    Criterion(
        "faults",
        "disk full, I/O errors, no userfaultfd, no io_uring, no mbind, one node, read-only /proc: the program "
        "goes on with the same result, one clear line where something is missing; a bus error, and a line, where "
        "data cannot be read back; no process, file, disk space or ledger is left behind",
        faults,
    ),
]
