"""Compares streaming of data in a file, with memory for a part of them, with the kernel's paging of the same file.
Criteria of acceptance/stencils."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import Criterion, Measured, keep_part
from memory_lines.limits import run_limited

from stencils_lines import disk_speed
from stencils_lines.common import (
    command,
    data_folder,
    environment,
    is_small,
    needs,
    reduced,
    stencil,
)

# Programs whose data take about 2.4 GB. Taylor-Green's chains of three steps have no space at a tenth: they are
# cut.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "CloverLeaf 2D": ("cloverleaf2d", {"problem": "tp2", "cells": "3456x3456", "steps": "10"}),
    "CloverLeaf 3D": ("cloverleaf3d", {"problem": "tp2", "cells": "208x208x208", "steps": "5"}),
    "Taylor-Green": ("taylor_green", {"cells": "208", "steps": "9", "chain": "3", "dt": "0.001"}),
}
SMALLER = {"cells": {"cloverleaf2d": "960x960", "cloverleaf3d": "64x64x64", "taylor_green": "64"}}
TIMES = (3, 10)
BOUND = 1.10  # times the bound
# Several chains of many iterations; the start and the right side are stored by a chain before.
JACOBI = ("jacobi", {"cells": "16384", "iterations": "400", "chain": "100", "source": "1e-9"})
JACOBI_SMALL = {"cells": "4096", "iterations": "100", "chain": "25"}
JACOBI_PART, JACOBI_PUBLISHED = 16, 0.8
# Memory of a process other than datasets: itself, page tables, the kernel's buffers for its requests. The kernel's
# paging may use it for data.
BESIDE = 32 << 20
MAX_BESIDE = 0.15  # of the memory
LONGEST, LONGEST_SMALL = 600.0, 60.0
ROUNDS = 3  # in memory


def _sized(program: str, arguments: Mapping[str, str]) -> dict[str, str]:
    return {**arguments, "cells": SMALLER["cells"].get(program, "2048")} if is_small() else dict(arguments)


def _least(chains: list[dict[str, float]], memory: float) -> tuple[float, float]:
    """Returns the least bytes that streaming chain by chain reads and writes with so much memory: the points that
    each chain needs from before and those that it leaves, less those that may have stayed in memory."""
    return (
        sum(max(chain["in"] - memory, 0) for chain in chains),
        sum(max(chain["out"] - memory, 0) for chain in chains),
    )


def _limited(program: str, arguments: Mapping[str, str], limit: float, **options: object) -> dict[str, Any]:
    """Measures the seconds of chains under a memory limit. Without a time, `said` has the reason, and `is_beaten`
    is set if it took too long or the out-of-memory killer ended it. Any other outcome is a fault of the
    measurement."""
    longest = LONGEST_SMALL if is_small() else LONGEST
    ran = run_limited(
        [Path(word) if "/" in word else word for word in command(program, arguments)],
        int(limit),
        env={"TERRACE_STENCIL": environment(**options)["TERRACE_STENCIL"]},
        timeout=longest,
    )
    if ran.status is None:
        return {"seconds": None, "said": f"not done after {longest:.0f} s", "is_beaten": True}
    if ran.status != 0:
        tail = " | ".join(ran.output.strip().splitlines()[-2:])[-200:]
        said = "killed for want of memory" if ran.killed else f"ended with {ran.status}: {tail}"
        return {"seconds": None, "said": said, "is_beaten": ran.killed}
    document = json.loads(ran.output)
    keys = ("bytes", "bytes_in", "bytes_out", "waited", "chains", "shortened_chains", "results")
    return {"seconds": document["chain_seconds"], "peak": ran.peak, **{key: document[key] for key in keys}}


def _chunk(memory: int) -> int:
    """Returns the chunk size of `streamed` (docs/explanation/stencils.md, "Data in a file")."""
    chunk = 2 << 20
    while chunk > 4096 and memory // chunk < 100:
        chunk //= 2
    return chunk


def _case(name: str, times: int) -> dict[str, Any]:
    """Measures a stencil program in memory, streamed from a file and under the kernel's paging."""
    program, arguments = CASES[name]
    own = _sized(program, arguments)
    needed = needs(program, own)
    size = needed["dataset_bytes"]
    memory = size / times
    folder = data_folder()
    streamed = _limited(
        program, own, memory + BESIDE, executor="streamed", threads=2, memory=int(memory), folder=folder
    )
    speed = disk_speed.measure(folder, _chunk(int(memory)), disk_speed.SIZE // (16 if is_small() else 1))
    return {
        "bytes": size,
        "memory": memory,
        "disk": [speed.read, speed.write, speed.both],
        "least": _least(needed["chains"], memory),
        # The best: trials of tiles and other work on the machine would make the bound softer.
        "in_memory": min(stencil(program, own, executor="tiled", threads=2).seconds for _ in range(ROUNDS)),
        "streamed": streamed,
        "paged": _limited(program, own, memory + BESIDE, executor="tiled", threads=2, paged=1, folder=folder),
    }


def _bound(found: Mapping[str, Any]) -> float:
    """Returns the least seconds: computing in memory, or moving the least bytes, which overlap."""
    read, write = found["least"]
    of_read, of_write, of_both = found["disk"]
    return float(max(found["in_memory"], read / of_read, write / of_write, (read + write) / of_both))


def _beside(memory: float) -> str:
    """Returns the bytes beyond that which the control group may have."""
    return f"control group: {BESIDE >> 20} MiB more, {BESIDE / memory:.0%} of it"


def _said(found: Mapping[str, Any]) -> str:
    return f"{found['seconds']:.1f} s" if found["seconds"] is not None else str(found["said"])


def _moved(found: Mapping[str, Any]) -> str:
    """Describes a streamed case: bytes moved, the least bytes, and the bytes that loops touch for each byte
    moved."""
    streamed, least = found["streamed"], found["least"]
    moved = streamed["bytes_in"] + streamed["bytes_out"]
    reuse = f", reuse {streamed['bytes'] / moved:.1f}" if moved > 0 else ""
    return (
        f"moved {streamed['bytes_in'] / 1e9:.2f} GB in and {streamed['bytes_out'] / 1e9:.2f} out, at least "
        f"{least[0] / 1e9:.2f} and {least[1] / 1e9:.2f}{reuse}; {streamed['shortened_chains']} chains were cut"
    )


def _text(name: str, times: int, found: Mapping[str, Any]) -> str:
    """Returns the sentence that states a case's times beside its bound."""
    streamed, paged, bound = found["streamed"], found["paged"], _bound(found)
    read, written, both = (f"{rate / 1e9:.1f}" for rate in found["disk"])
    parts = [
        f"{name}, {found['bytes'] / 1e9:.2f} GB, {times} times the memory ({_beside(found['memory'])}): "
        f"in memory {found['in_memory']:.1f} s",
        f"bound {bound:.1f} s",
        f"streamed {_said(streamed)}",
    ]
    if streamed["seconds"] is not None:
        lost = 1 - found["in_memory"] / streamed["seconds"]
        parts[-1] += f" ({lost:.0%} lost, {streamed['seconds'] / bound:.2f} times the bound)"
        parts.append(_moved(found))
    parts.append(f"the kernel's paging {_said(paged)}")
    if streamed["seconds"] is not None and paged["seconds"] is not None:
        parts[-1] += f", {paged['seconds'] / streamed['seconds']:.2f} times as long as streamed"
    parts.append(f"disk {read} GB/s read, {written} written, {both} both")
    return "; ".join(parts)


def _is_held(found: Mapping[str, Any]) -> bool:
    """Returns whether the case is near the bound and faster than paging, has moved data, and used little other
    memory."""
    streamed, paged = found["streamed"], found["paged"]
    if streamed["seconds"] is None or streamed["bytes_in"] <= 0 or found["memory"] * MAX_BESIDE < BESIDE:
        return False
    beaten = paged["is_beaten"] if paged["seconds"] is None else streamed["seconds"] < paged["seconds"]
    return bool(beaten and streamed["seconds"] <= BOUND * _bound(found))


def over_file() -> Measured:
    """Measures in a control group that limits memory to the datasets' share, and BESIDE for all else."""
    lines, holds, rows = [], True, list[dict[str, Any]]()
    for name in CASES:
        for times in TIMES:
            found = keep_part(
                f"stencil-file-{CASES[name][0]}-{times}{'-small' if is_small() else ''}",
                lambda: _case(name, times),  # noqa: B023
                timed=True,
            )
            holds = holds and _is_held(found)
            lines.append(_text(name, times, found))
            rows.append({"program": name, "times": times, "in memory": found["in_memory"],
                         "streamed": found["streamed"]["seconds"], "paged": found["paged"]["seconds"],
                         "bound": _bound(found)})  # fmt: skip
    text = "\n".join(lines)
    if is_small():
        text = f"cells: {', '.join(SMALLER['cells'].values())} instead of 2.4 GB of each program\n{text}"
    return Measured(reduced(text), holds and not is_small(), rows)


def _jacobi() -> dict[str, Any]:
    """Measures the Jacobi iteration streamed with a part of its data in memory."""
    program, arguments = JACOBI
    own = {**arguments, **JACOBI_SMALL} if is_small() else dict(arguments)
    needed = needs(program, own)
    memory = needed["dataset_bytes"] / JACOBI_PART
    in_memory = stencil(program, own, executor="tiled", threads=2)
    return {
        "bytes": needed["dataset_bytes"],
        "memory": memory,
        # Not of the first chain, which sets up the problem.
        "least": _least(needed["chains"][1:], memory),
        "chains": len(needed["chains"]) - 1,
        "in_memory": in_memory.seconds - in_memory.value("setup_seconds"),
        "streamed": _limited(
            program, own, memory + BESIDE, executor="streamed", threads=2, memory=int(memory), folder=data_folder()
        ),
    }


def jacobi() -> Measured:
    """Compares chains in memory and streamed, without the one that writes the start and the right side. Each time
    their data have to come from the file: fewer bytes are a fault of the measurement."""
    found = keep_part(f"stencil-file-jacobi{'-small' if is_small() else ''}", _jacobi, timed=True)
    streamed = found["streamed"]
    if streamed["seconds"] is None:
        return Measured(reduced(f"streamed: {streamed['said']}"), False)
    setup = streamed["results"]
    seconds = streamed["seconds"] - setup["setup_seconds"]["value"]
    came = streamed["bytes_in"] - setup["setup_bytes_in"]["value"]
    least = found["least"][0]
    kept = found["in_memory"] / seconds
    iterations = (JACOBI_SMALL if is_small() else JACOBI[1])["chain"]
    text = (
        f"{found['bytes'] / 1e9:.2f} GB, {found['chains']} chains of {iterations} iterations: in memory "
        f"{found['in_memory']:.1f} s, streamed {seconds:.1f} s: {kept:.0%} of the speed in memory; "
        f"{came / 1e9:.2f} GB came from the file, at least {least / 1e9:.2f} have to; memory for "
        f"{found['memory'] / 1e6:.0f} MB ({_beside(found['memory'])})"
    )
    if came < least:
        text += "; less was read than chains need"
    if is_small():
        text = f"{JACOBI_SMALL['cells']}^2 points instead of {JACOBI[1]['cells']}^2: {text}"
    enough = 0 < least <= came and found["memory"] * MAX_BESIDE >= BESIDE
    return Measured(reduced(text), enough and kept > JACOBI_PUBLISHED and not is_small())


CRITERIA = [
    Criterion(
        "file, 3 and 10 times",
        "CloverLeaf 2D and 3D, Taylor-Green: faster than the kernel's paging, within 10 % of the bound that the "
        "file's bandwidth and the chain's reuse allow",
        over_file,
    ),
    Criterion(
        "file, Jacobi",
        f"memory for 1/{JACOBI_PART} of the data, several chains that read them: more than "
        f"{JACOBI_PUBLISHED:.0%} of the speed in memory",
        jacobi,
    ),
]
