"""Runs a program under QEMU's user mode with Terrace's tracer in it (tools/tracer), and names what came out.

Any executable will do, also one that cannot be rebuilt, of any instruction set that the QEMU here runs. Dynamic
programs of this machine's own instruction set also get a small library by LD_PRELOAD, which tells the tracer of
their blocks and markers.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from terrace.errors import NotStartedError, TerraceError, WrongCallError
from terrace.lab.study import terrace_program

# ELF's machine numbers (elf.h) by what QEMU calls them: little-endian, big-endian; of 64 bits, of 32.
_QEMU = {
    (3, 32): ("i386", None),
    (8, 64): ("mips64el", "mips64"),
    (8, 32): ("mipsel", "mips"),
    (21, 64): ("ppc64le", "ppc64"),
    (22, 64): (None, "s390x"),
    (40, 32): ("arm", "armeb"),
    (62, 64): ("x86_64", None),
    (183, 64): ("aarch64", "aarch64_be"),
    (243, 64): ("riscv64", None),
    (243, 32): ("riscv32", None),
    (258, 64): ("loongarch64", None),
}
_HERE = {"x86_64": "x86_64", "aarch64": "aarch64", "riscv64": "riscv64", "ppc64le": "ppc64le"}
_DYNAMIC = 3  # PT_INTERP


@dataclass(frozen=True)
class Executable:
    """What an ELF file says of itself."""

    path: Path
    isa: str
    dynamic: bool


def examine(program: str) -> Executable:
    """The executable that a command's first word means; raises WrongCallError when it is none, NotStartedError."""
    found = shutil.which(program)
    if found is None:
        number = errno.EACCES if "/" in program and Path(program).exists() else errno.ENOENT
        raise NotStartedError(program, OSError(number, os.strerror(number)))
    path = Path(found).resolve()
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 52 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
            raise WrongCallError(f"{path} is no ELF executable: the tracer takes programs, not scripts")
        wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
        (number,) = struct.unpack_from(order + "H", head, 18)
        names = _QEMU.get((number, 64 if wide else 32), (None, None))
        isa = names[head[5] - 1]
        if isa is None:
            raise WrongCallError(f"{path}: QEMU's user mode is not known to run ELF machine {number}")
        if wide:
            (at,) = struct.unpack_from(order + "Q", head, 32)
            entry, count = struct.unpack_from(order + "HH", head, 54)
        else:
            (at,) = struct.unpack_from(order + "I", head, 28)
            entry, count = struct.unpack_from(order + "HH", head, 42)
        file.seek(at)
        table = file.read(entry * count)
    kinds = [struct.unpack_from(order + "I", table, i * entry)[0] for i in range(len(table) // max(entry, 1))]
    return Executable(path, isa, _DYNAMIC in kinds)


def _part(name: str) -> Path:
    program = shutil.which(terrace_program())
    if program is not None:
        here = Path(program).resolve().parent
        for candidate in (here / ".." / "lib" / "terrace" / name, here / ".." / "access" / "qemu" / name):
            if candidate.exists():
                return candidate.resolve()
    raise TerraceError(f"{name} is not beside {program or 'terrace'}; install again")


def qemu_for(isa: str) -> str:
    """QEMU's program for an instruction set; raises TerraceError with what to install."""
    for name in (f"qemu-{isa}", f"qemu-{isa}-static"):
        found = shutil.which(name)
        if found:
            return found
    raise TerraceError(f"qemu-{isa} is not installed: the tracer runs in QEMU's user mode (Debian: qemu-user)")


def command(
    words: Sequence[str], output: Path, limit: int | None, loop_only: bool, sysroot: Path | None
) -> list[str]:
    """The command that runs `words` and writes their trace."""
    program = examine(words[0])
    # QEMU separates a plug-in's arguments by commas, and takes two for one that is meant.
    options = f"{_part('libterrace_qemu.so')},out={str(output.absolute()).replace(',', ',,')}"
    if limit is not None:
        options += f",limit={limit}"
    if loop_only:
        options += ",only=loop"
    line = [qemu_for(program.isa), "-plugin", options]
    if sysroot is not None:
        line += ["-L", str(sysroot)]
    if program.dynamic and program.isa == _HERE.get(platform.machine()):
        preload = str(_part("libterrace_traced.so"))
        others = os.environ.get("LD_PRELOAD")
        line += ["-E", f"LD_PRELOAD={preload}:{others}" if others else f"LD_PRELOAD={preload}"]
    return [*line, str(program.path), *words[1:]]


def record(
    words: Sequence[str],
    output: Path,
    *,
    limit: int | None = None,
    loop_only: bool = False,
    sysroot: Path | None = None,
    quiet: bool = False,
) -> int:
    """Runs the program to its end; its exit status, 128 and the signal's number if one ended it."""
    line = command(words, output, limit, loop_only, sysroot)
    done = subprocess.run(line, stdout=subprocess.DEVNULL if quiet else None)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
