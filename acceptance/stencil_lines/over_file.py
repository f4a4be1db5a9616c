"""Data in a file, and memory for a part of them: streamed, beside the kernel's paging of the same file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import Line, Measured, keep_part
from memory_lines.limits import run_limited
from terrace import _core

from stencil_lines import disk_speed
from stencil_lines.common import command, data_folder, environment, is_small, stencil

# Programs whose data take about 2.4 GB.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "CloverLeaf 2D": ("cloverleaf2d", {"problem": "tp2", "cells": "3456x3456", "steps": "10"}),
    "CloverLeaf 3D": ("cloverleaf3d", {"problem": "tp2", "cells": "208x208x208", "steps": "5"}),
    "Taylor-Green": ("taylor_green", {"cells": "208", "steps": "9", "chain": "3", "dt": "0.001"}),
}
SMALLER = {"cells": {"cloverleaf2d": "960x960", "cloverleaf3d": "64x64x64", "taylor_green": "64"}}
TIMES = (3, 10)
BOUND = 1.10  # times the bound
JACOBI = ("jacobi", {"cells": "16384", "iterations": "400"})
JACOBI_PART, JACOBI_PUBLISHED = 16, 0.8
# What a process takes beside datasets: itself, page tables, what the kernel keeps for its requests.
BESIDE = 192 << 20
LONGEST = 1800.0


def _sized(program: str, arguments: Mapping[str, str]) -> dict[str, str]:
    return {**arguments, "cells": SMALLER["cells"].get(program, "2048")} if is_small() else dict(arguments)


def _bytes(program: str, arguments: Mapping[str, str]) -> float:
    """Of all datasets."""
    about = _core.Machine.read("knl-7210-flat")
    return float(_core.price_stencil(program, dict(arguments), about, how="flat-slow")["dataset_bytes"])


def _least(program: str, arguments: Mapping[str, str], memory: float) -> tuple[float, float]:
    """Bytes that have to be read and written with so much memory, whoever streams: what chains need from before
    and leave behind, less what of it stays in memory from one chain to the next."""
    about = _core.Machine.read("knl-7210-flat")
    run = _core.price_stencil(program, dict(arguments), about, how="slots", memory=int(1e15), prefetched=False)
    each = run["bytes_in"] / run["chains"]
    left = max(1 - memory / each, 0.0) if each > 0 else 0.0
    return run["bytes_in"] * left, run["bytes_out"] * left


def _limited(program: str, arguments: Mapping[str, str], limit: float, **options: object) -> dict[str, Any]:
    """Seconds of chains under a limit of memory; none where it took too long or was killed."""
    ran = run_limited(
        [Path(word) if "/" in word else word for word in command(program, arguments)],
        int(limit),
        env={"TERRACE_STENCIL": environment(**options)["TERRACE_STENCIL"]},
        timeout=LONGEST,
    )
    if ran.status != 0:
        return {"seconds": None, "said": "stopped" if ran.status is None else ran.output.strip()[-200:]}
    document = json.loads(ran.output)
    return {
        "seconds": document["chain_seconds"],
        **{key: document[key] for key in ("bytes_in", "bytes_out", "waited")},
    }


def _case(name: str, times: int) -> dict[str, Any]:
    program, arguments = CASES[name]
    own = _sized(program, arguments)
    size = _bytes(program, own)
    memory = size / times
    folder = data_folder()
    speed = disk_speed.measure(folder, disk_speed.SIZE // (16 if is_small() else 1))
    return {
        "bytes": size,
        "memory": memory,
        "disk": [speed.read, speed.write, speed.both],
        "least": _least(program, own, memory),
        "in_memory": stencil(program, own, executor="tiled", threads=2).seconds,
        "streamed": _limited(
            program, own, memory + BESIDE, executor="streamed", threads=2, memory=int(memory), folder=folder
        ),
        "paged": _limited(program, own, memory + BESIDE, executor="tiled", threads=2, paged=1, folder=folder),
    }


def _bound(found: Mapping[str, Any]) -> float:
    """Seconds: computing in memory, or moving what has to be moved, as both go on at a time."""
    read, write = found["least"]
    of_read, of_write, of_both = found["disk"]
    return float(max(found["in_memory"], read / of_read, write / of_write, (read + write) / of_both))


def over_file() -> Measured:
    """The limit is that of a control group: the datasets' share, and 192 MiB for all else."""
    lines, holds, rows = [], True, list[dict[str, Any]]()
    for name in CASES:
        for times in TIMES:
            found = keep_part(
                f"stencil-file-{CASES[name][0]}-{times}{'-small' if is_small() else ''}",
                lambda: _case(name, times),  # noqa: B023
                timed=True,
            )
            streamed, paged = found["streamed"]["seconds"], found["paged"]["seconds"]
            bound = _bound(found)
            near = streamed is not None and streamed <= BOUND * bound
            holds = holds and near and (paged is None or streamed < paged)
            read, written, both = (f"{rate / 1e9:.1f}" for rate in found["disk"])
            loss = "did not end" if streamed is None else f"{1 - found['in_memory'] / streamed:.0%} lost"
            lines.append(
                f"{name}, {found['bytes'] / 1e9:.1f} GB, {times} times the memory: in memory "
                f"{found['in_memory']:.1f} s, streamed {_text(streamed)} ({loss}; bound {bound:.1f} s), the "
                f"kernel's paging {_text(paged)}; disk {read} GB/s read, {written} written, {both} both"
            )
            rows.append({"program": name, "times": times, "in memory": found["in_memory"], "streamed": streamed,
                         "paged": paged, "bound": bound})  # fmt: skip
    return Measured("\n".join(lines), holds and not is_small(), rows)


def _text(seconds: float | None) -> str:
    return "nothing" if seconds is None else f"{seconds:.1f} s"


def _jacobi() -> dict[str, Any]:
    program, arguments = JACOBI
    own = {**arguments, "cells": "4096", "iterations": "100"} if is_small() else dict(arguments)
    memory = _bytes(program, own) / JACOBI_PART
    return {
        "in_memory": stencil(program, own, executor="tiled", threads=2).seconds,
        "streamed": _limited(
            program, own, memory + BESIDE, executor="streamed", threads=2, memory=int(memory), folder=data_folder()
        ),
    }


def jacobi() -> Measured:
    """One chain of all iterations, each of its tiles as in memory."""
    found = keep_part(f"stencil-file-jacobi{'-small' if is_small() else ''}", _jacobi, timed=True)
    streamed = found["streamed"]["seconds"]
    if streamed is None:
        return Measured(f"streamed: {found['streamed']['said']}", False)
    kept = found["in_memory"] / streamed
    text = f"in memory {found['in_memory']:.1f} s, streamed {streamed:.1f} s: {kept:.0%} of the speed in memory"
    return Measured(text, kept > JACOBI_PUBLISHED and not is_small())


LINES = [
    Line(
        "file, 3 and 10 times",
        "CloverLeaf 2D and 3D, Taylor-Green: faster than the kernel's paging, within 10 % of the bound that the "
        "file's bandwidth and the chain's reuse allow",
        over_file,
    ),
    Line(
        "file, Jacobi",
        f"memory for 1/{JACOBI_PART} of the data: more than {JACOBI_PUBLISHED:.0%} of the speed in memory",
        jacobi,
    ),
]
