"""Compares the speed of two threads with the machine's triad and with Devito: programs interleaved, medians.
Criteria of acceptance/stencils."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from typing import Any

from harness import ROOT, Criterion, Measured, environment, keep_part, run, work

from stencils_lines.common import is_small, reduced, stencil

ROUNDS = 3
# Published for a machine with a triad of 28.7 GB/s, in seconds: the hand-written Fortran, and what is asked of us.
TRIAD = 28.7e9
FORTRAN, TILED_MAX, TILED_GAIN = 23.1, 17.0, 1.6
POISSON_MAX = 2.2
DEVITO = {"heat2d": (8192, 100), "heat3d": (400, 100), "wave": (300, 50)}
OURS: dict[str, tuple[str, dict[str, object]]] = {
    "heat2d": ("heat", {"dims": 2}),
    "heat3d": ("heat", {"dims": 3}),
    "wave": ("wave", {}),
}
SOURCES = Path(__file__).resolve().parent


def _triad() -> Path:
    """Builds STREAM's triad; returns the program's path."""
    path = work("stencils") / "triad"
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ["-O3", "-march=native", "-fopenmp", "-std=c++20"]
    run(["c++", *options, SOURCES / "triad.cpp", "-o", path])
    return path


def _triad_of(path: Path) -> float:
    """Returns the triad's bytes a second with two threads."""
    return float(run([path], env={**os.environ, "OMP_NUM_THREADS": "2"}).stdout)


def _times(program: str, arguments: dict[str, object]) -> dict[str, list[float]]:
    """Returns triads, and the seconds of chains, untiled and tiled."""
    triad = _triad()
    found: dict[str, list[float]] = {"triad": [], "parallel": [], "tiled": []}
    for _ in range(1 if is_small() else ROUNDS):
        found["triad"].append(_triad_of(triad))
        for executor in ("parallel", "tiled"):
            found[executor].append(stencil(program, arguments, executor=executor, threads=2).seconds)
    return found


def cloverleaf() -> Measured:
    """Measures 6144 x 6144 cells, 10 steps. Goals are scaled by the triad of the same call."""
    cells = "1024x1024" if is_small() else "6144x6144"
    found: dict[str, list[float]] = keep_part(
        f"stencil-speed-cloverleaf2d-{cells}",
        lambda: _times("cloverleaf2d", {"problem": "tp2", "cells": cells, "steps": 10}),
        timed=True,
    )
    triad, untiled, tiled = (median(found[name]) for name in ("triad", "parallel", "tiled"))
    scale = TRIAD / triad
    most, tiled_most = FORTRAN * scale, TILED_MAX * scale
    text = (
        f"triad {triad / 1e9:.1f} GB/s; untiled {untiled:.1f} s, at most {most:.1f}; tiled {tiled:.1f} s, at most "
        f"{tiled_most:.1f}; tiled {untiled / tiled:.2f} times as fast, {TILED_GAIN} wanted"
    )
    holds = untiled <= most and tiled <= tiled_most and untiled >= TILED_GAIN * tiled
    text = f"{cells} cells instead of 6144x6144: {text}" if is_small() else text
    return Measured(reduced(text), holds and not is_small())


def poisson() -> Measured:
    """Measures 8192 x 8192 points, 40 iterations."""
    cells = 1024 if is_small() else 8192
    found: dict[str, list[float]] = keep_part(
        f"stencil-speed-jacobi-{cells}",
        lambda: _times("jacobi", {"cells": cells, "iterations": 40}),
        timed=True,
    )
    triad, untiled, tiled = (median(found[name]) for name in ("triad", "parallel", "tiled"))
    most = POISSON_MAX * TRIAD / triad
    text = f"triad {triad / 1e9:.1f} GB/s; untiled {untiled:.2f} s; tiled {tiled:.2f} s, at most {most:.2f}"
    text = f"{cells}^2 points instead of 8192^2: {text}" if is_small() else text
    return Measured(reduced(text), tiled <= most and not is_small())


def _sizes() -> dict[str, tuple[int, int]]:
    """Points in each direction, and steps."""
    if not is_small():
        return DEVITO
    return {name: (points // 8, steps // 5) for name, (points, steps) in DEVITO.items()}


def _beside_devito() -> dict[str, Any]:
    """Measures the seconds of each program, interleaved, and how Devito chose its last configuration."""
    python = environment(work("stencils") / "devito", "devito")
    pinned = {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "close", "OMP_PLACES": "cores", "DEVITO_LOGGING": "ERROR"}
    found: dict[str, Any] = {name: {"devito": [], "parallel": [], "tiled": [], "way": ""} for name in DEVITO}
    for _ in range(1 if is_small() else ROUNDS):
        for name, (points, steps) in _sizes().items():
            words: list[str | Path] = [python, SOURCES / "devito_programs.py", f"{name}:{points}:{steps}"]
            said = run(words, env={**os.environ, **pinned}, cwd=ROOT).stdout.strip().splitlines()[-1]
            _, seconds, found[name]["way"] = said.split(maxsplit=2)
            found[name]["devito"].append(float(seconds))
            program, arguments = OURS[name]
            for executor in ("parallel", "tiled"):
                ran = stencil(
                    program, {**arguments, "cells": points, "steps": steps}, executor=executor, threads=2
                )
                found[name][executor].append(ran.seconds)
    return found


def devito() -> Measured:
    """Compares with Devito; level means within a twentieth. Devito's time is the best of its tuning, compiled and
    tuned before the clock runs, its threads bound to cores. Ours is that of all chains, with set-up and final
    checks, with unbound threads and with tile sizes that are found within that time."""
    found: dict[str, Any] = keep_part(
        f"stencil-speed-devito{'-small' if is_small() else ''}", _beside_devito, timed=True
    )
    lines, holds, rows = [], True, list[dict[str, Any]]()
    for name, times in found.items():
        theirs, untiled, tiled = (median(times[way]) for way in ("devito", "parallel", "tiled"))
        holds = holds and untiled <= 1.05 * theirs and tiled < theirs
        points, steps = _sizes()[name]
        lines.append(
            f"{name}, {points} points in each direction, {steps} steps: Devito {theirs:.3g} s ({times['way']}), "
            f"untiled {untiled:.3g} s, tiled {tiled:.3g} s"
        )
        rows.append({"program": name, "devito": theirs, "untiled": untiled, "tiled": tiled})
    text = "\n".join(lines)
    if is_small():
        text = f"one round, an eighth of the points in each direction, a fifth of the steps\n{text}"
    return Measured(reduced(text), holds and not is_small(), rows)


CRITERIA = [
    Criterion(
        "speed, CloverLeaf 2D",
        f"untiled at most the Fortran's {FORTRAN} s, tiled {TILED_GAIN} times as fast and under "
        f"{TILED_MAX:.0f} s, scaled by the triad",
        cloverleaf,
    ),
    Criterion("speed, Poisson", f"tiled under {POISSON_MAX} s, scaled by the triad", poisson),
    Criterion(
        "speed, Devito",
        "heat 2D, heat 3D, acoustic waves: level with autotuned Devito untiled (within 5 %), ahead tiled",
        devito,
    ),
]
