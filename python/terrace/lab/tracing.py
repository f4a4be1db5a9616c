# SPDX-License-Identifier: Apache-2.0
"""Traces a program's memory accesses under QEMU's user mode with Terrace's plug-in (tools/tracer), for `terrace
lab trace` and `lab coverage`.

Works with any executable of any instruction set that the installed QEMU supports, without rebuilding it.
Dynamically linked programs of the host's instruction set also load a small library by LD_PRELOAD, which reports
allocations and markers to the plug-in.
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

# QEMU's names of ELF machine numbers (elf.h): little-endian and big-endian, 64 and 32 bits.
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
    """Properties of an ELF file."""

    path: Path
    isa: str
    dynamic: bool


def examine(program: str) -> Executable:
    """Resolves a command's first word.

    Raises WrongCallError if it is not an ELF file, NotStartedError if missing.
    """
    found = shutil.which(program)
    if found is None:
        number = errno.EACCES if "/" in program and Path(program).exists() else errno.ENOENT
        raise NotStartedError(program, OSError(number, os.strerror(number)))
    path = Path(found).resolve()
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 52 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
            raise WrongCallError(
                f"{path} is not an ELF executable: the tracer runs programs, not scripts; name the program itself"
            )
        wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
        (number,) = struct.unpack_from(order + "H", head, 18)
        names = _QEMU.get((number, 64 if wide else 32), (None, None))
        isa = names[head[5] - 1]
        if isa is None:
            raise WrongCallError(
                f"{path}: QEMU's user mode does not support ELF machine {number}; "
                "build the program for another architecture"
            )
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
    """Returns the path of a file of the tracer, installed or in the build folder."""
    program = shutil.which(terrace_program())
    if program is not None:
        here = Path(program).resolve().parent
        for candidate in (here / ".." / "lib" / "terrace" / name, here / ".." / "access" / "qemu" / name):
            if candidate.exists():
                return candidate.resolve()
    raise TerraceError(f"the tracer's file {name} was not found next to {program or 'terrace'}; reinstall Terrace")


def qemu_for(isa: str) -> str:
    """Returns QEMU's executable for an instruction set. Raises TerraceError with the package to install."""
    for name in (f"qemu-{isa}", f"qemu-{isa}-static"):
        found = shutil.which(name)
        if found:
            return found
    raise TerraceError(
        f"qemu-{isa}, which runs the traced program, was not found; install it (Debian package: qemu-user)"
    )


def command(
    words: Sequence[str], output: Path, limit: int | None, loop_only: bool, sysroot: Path | None
) -> list[str]:
    """Returns the command that runs `words` and writes their trace."""
    program = examine(words[0])
    # QEMU separates a plug-in's arguments by commas; two commas stand for one in a value.
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
    """Runs the program to its end and returns its exit status, 128 plus the signal number if a signal ended it."""
    line = command(words, output, limit, loop_only, sysroot)
    done = subprocess.run(line, stdout=subprocess.DEVNULL if quiet else None)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
