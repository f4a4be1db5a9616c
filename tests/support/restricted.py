"""Commands that run a program on a restricted system (missing files, rights or system calls).

Those that need the superuser's rights (a mount namespace, another user) raise RestrictedError where those are not
there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
PLACING = ("mbind", "move_pages", "get_mempolicy", "set_mempolicy")
EVERYTHING = (
    *PLACING,
    "perf_event_open",
    "userfaultfd",
    "ptrace",
    "process_vm_readv",
    "io_uring_setup",
    "mincore",
)

Words = list[str]
Condition = Callable[[Path, Sequence[str]], Words]


class RestrictedError(Exception):
    """The condition cannot be made here; the text says why."""


def compiled(folder: Path, source: Path | str, name: str, *options: str) -> Path:
    """Builds a program or library of C code in the folder, once."""
    made = folder / name
    if not made.exists():
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        own = folder / f"{name}.c"
        own.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["gcc", "-O2", *options, own, "-o", made], text=True, capture_output=True, timeout=120
        )
        if done.returncode != 0:
            raise RestrictedError(f"gcc {' '.join(options)}: {done.stderr.strip()[-200:]}")
    return made


def refusing(error: str, *calls: str) -> Condition:
    """Returns the command with system calls that the kernel refuses with an error."""

    def words(folder: Path, command: Sequence[str]) -> Words:
        refuse = compiled(folder, SUPPORT / "refuse.c", "refuse")
        return [str(refuse), *(f"{call}={error}" for call in calls), "--", *command]

    return words


def shell(before: str) -> Condition:
    """Returns the command after some words of the shell, which end in no `exec`; $FOLDER is a folder of the test's
    own."""

    def words(folder: Path, command: Sequence[str]) -> Words:
        return ["/bin/sh", "-c", f'FOLDER="$1"; shift; {before} exec "$@"', "sh", str(folder), *command]

    return words


def mounted(before: str) -> Condition:
    """Returns the command in a mount namespace of its own."""

    def words(folder: Path, command: Sequence[str]) -> Words:
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            raise RestrictedError("a mount namespace takes the superuser's rights")
        return ["unshare", "-m", *shell(f"{before} || exit 99;")(folder, command)]

    return words


def as_nobody(folder: Path, command: Sequence[str]) -> Words:
    """Returns the command as a user without read access to the home folder that the environment names."""
    if os.geteuid() != 0:
        raise RestrictedError("another user takes the superuser's rights")
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "HOME=/root", *command]


def small_tmpdir(kib: int) -> Condition:
    """Returns the command with a small TMPDIR: a session fits into 8 KiB, a process's counts do not."""
    return mounted(
        f"mkdir -p $FOLDER/small && mount -t tmpfs -o size={kib}k none $FOLDER/small && "
        "export TMPDIR=$FOLDER/small"
    )


CONDITIONS: dict[str, Condition] = {
    "all there": shell(""),
    "no perf events": refusing("EACCES", "perf_event_open"),
    "no userfaultfd, not permitted": refusing("EPERM", "userfaultfd"),
    "no userfaultfd, not built in": refusing("ENOSYS", "userfaultfd"),
    "no ptrace": refusing("EPERM", "ptrace", "process_vm_readv"),
    "no placing, not permitted": refusing("EPERM", *PLACING),
    "no placing, not built in": refusing("ENOSYS", *PLACING),
    "no io_uring": refusing("EPERM", "io_uring_setup"),
    "no advice": refusing("EPERM", "madvise", "mincore"),
    "nothing of all that": refusing("ENOSYS", *EVERYTHING),
    "/proc read-only": mounted("mount -o remount,bind,ro /proc"),
    "no /proc": mounted("mount -t tmpfs none /proc"),
    "no /sys": mounted("mount -t tmpfs none /sys"),
    "no /proc, no /sys": mounted("mount -t tmpfs none /sys && mount -t tmpfs none /proc"),
    "no /dev/shm": mounted("mount -t tmpfs -o ro none /dev/shm"),
    "/dev/shm full": mounted("mount -t tmpfs -o size=64k none /dev/shm"),
    "few files": shell("ulimit -n 10;"),
    "2 GiB of address space": shell("ulimit -v 2097152;"),
    "400 MiB of address space": shell("ulimit -v 409600;"),
    "small files": shell("ulimit -f 8;"),
    "no TMPDIR": shell("export TMPDIR=$FOLDER/none;"),
    "TMPDIR full": mounted(
        "mkdir -p $FOLDER/full && mount -t tmpfs -o size=64k none $FOLDER/full && "
        "{ dd if=/dev/zero of=$FOLDER/full/all bs=4k count=64 2>/dev/null; export TMPDIR=$FOLDER/full; }"
    ),
    "TMPDIR of 64 KiB": small_tmpdir(64),
    "TMPDIR of 8 KiB": small_tmpdir(8),
    "TMPDIR read-only": mounted(
        "mkdir -p $FOLDER/ro && mount -t tmpfs -o ro none $FOLDER/ro && export TMPDIR=$FOLDER/ro"
    ),
    "HOME of somebody else": as_nobody,
    "no HOME": shell("export HOME=$FOLDER/none;"),
    "no environment": shell('set -- env -i "$@";'),
    "standard input closed": shell("exec <&-;"),
    "standard output closed": shell("exec >&-;"),
    "standard error closed": shell("exec 2>&-;"),
    "nothing open": shell("exec <&- >&- 2>&-;"),
}
