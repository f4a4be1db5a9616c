"""Writes traces whose time can be worked out by hand, in the text format of Accel-Sim's tracer, for truths.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

BASE = 0x7F0000000000
LINE = 128
WARPS = 8  # of a CTA


def _write(
    folder: Path, name: str, grid: int, warps: int, size: int, warp: Callable[[int, int], list[str]]
) -> str:
    """Writes a trace of one kernel, in which `warp` makes the instructions of a CTA's warp. Returns the path of
    its list."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    with (own / "kernel-1.traceg").open("w") as out:
        out.write(
            f"-kernel name = {name}\n-grid dim = ({grid},1,1)\n-block dim = ({32 * warps},1,1)\n-shmem = 0\n"
            "-nregs = 8\n-accelsim tracer version = 4\n#\n"
        )
        for cta in range(grid):
            out.write(f"#BEGIN_TB\nthread block = {cta},0,0\n")
            for number in range(warps):
                lines = warp(cta, number)
                out.write(f"warp = {number}\ninsts = {len(lines)}\n" + "\n".join(lines) + "\n")
            out.write("#END_TB\n")
    (own / "kernelslist.g").write_text("kernel-1.traceg\n")
    (own / "allocations").write_text(f"data {BASE:x} {size}\n")
    return str(own / "kernelslist.g")


def side_file(trace: str) -> str:
    """Returns the path of the trace's allocations."""
    return str(Path(trace).with_name("allocations"))


def _load(register: int, address: int, pointer: int = 4) -> str:
    """Returns a warp's load of a cache line."""
    return f"0000 ffffffff 1 R{register} LDG.E 1 R{pointer} 4 1 0x{address:x} 4"


def _store(register: int, address: int) -> str:
    """Returns a warp's store to a cache line."""
    return f"0008 ffffffff 0 STG.E 2 R6 R{register} 4 1 0x{address:x} 4"


def stream(folder: Path, ctas: int) -> str:
    """Writes a trace that reads every cache line of an array once. A warp loads four, then uses them."""

    def warp(cta: int, number: int) -> list[str]:
        first = BASE + (cta * 4 * WARPS + number) * LINE
        loads = [_load(8 + 2 * i, first + i * WARPS * LINE) for i in range(4)]
        return [*loads, "0010 ffffffff 1 R20 FADD 4 R8 R10 R12 R14 0", "0020 ffffffff 0 EXIT 0 0"]

    return _write(folder, "stream", ctas, WARPS, ctas * 4 * WARPS * LINE, warp)


def copy(folder: Path, ctas: int) -> str:
    """Writes a trace of STREAM's copy: every cache line of an array is read once and written to a second one
    behind it."""
    size = ctas * 4 * WARPS * LINE

    def warp(cta: int, number: int) -> list[str]:
        first = BASE + (cta * 4 * WARPS + number) * LINE
        places = [first + i * WARPS * LINE for i in range(4)]
        loads = [_load(8 + 2 * i, place) for i, place in enumerate(places)]
        stores = [_store(8 + 2 * i, place + size) for i, place in enumerate(places)]
        return [*loads, *stores, "0020 ffffffff 0 EXIT 0 0"]

    return _write(folder, "copy", ctas, WARPS, 2 * size, warp)


def chase(folder: Path, steps: int) -> str:
    """Writes a trace of dependent loads: each loaded cache line has the address of the next, among random lines of
    8 MiB, each once."""
    lines = random.Random(1).sample(range((8 << 20) // LINE), steps)

    def warp(_cta: int, _number: int) -> list[str]:
        return [*(_load(4, BASE + line * LINE) for line in lines), "0020 ffffffff 0 EXIT 0 0"]

    return _write(folder, "chase", 1, 1, 8 << 20, warp)


def scatter(folder: Path, ctas: int, loads: int) -> str:
    """Warps load random lines of 32 MiB that do not depend on each other."""
    dice = random.Random(2)
    lines = (32 << 20) // LINE

    def warp(_cta: int, _number: int) -> list[str]:
        return [*(_load(8, BASE + dice.randrange(lines) * LINE) for _ in range(loads)), "0020 ffffffff 0 EXIT 0 0"]

    return _write(folder, "scatter", ctas, WARPS, 32 << 20, warp)
