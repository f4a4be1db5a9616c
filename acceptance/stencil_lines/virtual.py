"""The paper's losses at three times the fast memory, and ours at ten times, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass

from harness import Line, Measured, keep_part
from terrace import _core

from stencil_lines.common import is_small

GB = 1e9
IN_MEMORY, THREE, TEN = 6 * GB, 48 * GB, 160 * GB
NEAR = 0.1  # of the in-memory speed: what ten times the fast memory may cost where the chain has the reuse


@dataclass(frozen=True)
class Code:
    """A program, its arrays and dimensions, and what its loops reach in memory: published."""

    program: str
    arguments: dict[str, str]
    arrays: int
    dims: int
    mcdram: float  # bytes a second
    p100: float

    def sized(self, size: float) -> dict[str, str]:
        """Arguments of a problem of about so many bytes."""
        points = round((size / 8 / self.arrays) ** (1 / self.dims))
        cells = str(points) if self.program == "taylor_green" else "x".join([str(points)] * self.dims)
        return {**self.arguments, "cells": cells}


# In MCDRAM 4.8 times (2D) and 4 times (3D) the 50 GB/s of DDR4, as the paper says.
CLOVERLEAF = {"problem": "tp2", "steps": "10"}
CODES = {
    "CloverLeaf 2D": Code("cloverleaf2d", CLOVERLEAF, 25, 2, 240e9, 470e9),
    "CloverLeaf 3D": Code("cloverleaf3d", CLOVERLEAF, 30, 3, 200e9, 380e9),
    "Taylor-Green": Code("taylor_green", {"steps": "9", "chain": "3", "dt": "0.001"}, 29, 3, 83e9, 170e9),
}
# Machine, way, and the speed at 48 GB over that in memory as published: by code.
PUBLISHED = {
    ("knl-7210-flat", "cache"): (0.85, 0.93, 0.93),
    ("p100-nvlink", "slots"): (0.84, 0.84, 1.0),
    ("p100-pcie", "slots"): (0.48, 0.68, 1.0),
}
OURS = {"knl-7210-flat": "cache", "p100-nvlink": "streamed", "p100-pcie": "streamed"}


def _speed(code: Code, machine: str, how: str, size: float) -> float:
    """Bytes of loops a second, by the paper's definition."""
    bandwidth = code.mcdram if machine.startswith("knl") else code.p100
    about = _core.Machine.read(machine)
    run = _core.price_stencil(code.program, code.sized(size), about, how=how, bandwidth=bandwidth)
    return run["accesses"] / run["seconds"]


def _kept(name: str, machine: str, how: str, size: float) -> float:
    """Over that of all data in the fast memory."""
    code = CODES[name]

    def priced() -> float:
        return _speed(code, machine, how, size) / _speed(code, machine, "flat-fast", IN_MEMORY)

    return float(keep_part(f"stencil-virtual-{code.program}-{machine}-{how}-{size / GB:.0f}", priced))


def published() -> Measured:
    """Held is that no code keeps less than a tenth below what was published."""
    size = 12 * GB if is_small() else THREE
    lines, holds = [], True
    for (machine, how), said in PUBLISHED.items():
        for name, theirs in zip(CODES, said, strict=True):
            ours = _kept(name, machine, how, size)
            best = _kept(name, machine, OURS[machine], size)
            holds = holds and ours >= theirs - NEAR
            lines.append(
                f"{name}, {machine}, {how}: {ours:.0%} (published {theirs:.0%}); {OURS[machine]} {best:.0%}"
            )
    return Measured("\n".join(lines), holds and not is_small())


def ten_times() -> Measured:
    """160 GB of data, 16 GiB of fast memory."""
    lines, short = [], []
    for machine, how in OURS.items():
        for name in CODES:
            kept = _kept(name, machine, how, 24 * GB if is_small() else TEN)
            lines.append(f"{name}, {machine}, {how}: {kept:.0%}")
            if kept < 1 - NEAR:
                short.append(f"{name} on {machine}")
    lines.append(f"below {1 - NEAR:.0%}: {', '.join(short) or 'none'}")
    return Measured("\n".join(lines), not short and not is_small())


LINES = [
    Line(
        "virtual time, three times",
        "KNL, P100 over NVLink and PCIe at 48 GB: the published shares of the in-memory speed beside ours",
        published,
    ),
    Line(
        "virtual time, ten times",
        "10x the fast memory at 10 % loss where the chain has the reuse",
        ten_times,
    ),
]
