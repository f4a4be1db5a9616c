"""Disks that fill up, files that are torn, processes that die."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

from harness import Line, Measured, work

from stencil_lines.common import command, environment, is_small, stencil, tests

KILLS = 50
SEED = 1
PROBLEM = {"problem": "tp2", "cells": "192x192", "steps": 40}
DAMAGE = (
    "Checkpoints.DamageIsFoundWhereverItIs:Hdf5.DamageIsFound:CheckpointCrash.AFullDisk*:"
    "CheckpointCrash.ALimit*:CheckpointCrash.AnEnd*"
)


def damaged() -> Measured:
    """Of checkpoints: every byte that is changed, lengths that are cut off, disks that are full."""
    holds, said = tests("stencil_io_test", DAMAGE)
    return Measured(said, holds)


def _summary(**arguments: object) -> dict[str, float]:
    """Of a whole run, or of one that goes on."""
    ran = stencil("cloverleaf2d", {**PROBLEM, **arguments}, executor="tiled", threads=2)
    return {name: ran.value(name) for name in ("vol", "mass", "pressure", "ie", "ke", "t")}


def _killed(file: Path, moment: float) -> None:
    """A run that keeps a checkpoint of each step, and is killed."""
    words = command("cloverleaf2d", {**PROBLEM, "checkpoint": file, "every": 1})
    process = subprocess.Popen(
        words, env=environment(executor="tiled", threads=2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()


def killed() -> Measured:
    """CloverLeaf 2D, killed anywhere in its run; where there is a checkpoint, a run goes on from it."""
    wanted = _summary()
    folder = work("stencils") / "kills"
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    _summary(checkpoint=folder / "whole.h5", every=1)
    longest = time.monotonic() - begun
    moments = random.Random(SEED)
    restarted, wrong = 0, []
    for number in range(KILLS // 10 if is_small() else KILLS):
        file = folder / f"{number}.h5"
        file.unlink(missing_ok=True)
        _killed(file, moments.uniform(0, longest))
        if not file.exists():
            continue  # before the first one was complete
        restarted += 1
        if _summary(restart=file) != wanted:
            wrong.append(number)
    text = (
        f"{restarted} of {number + 1} kills left a checkpoint; {len(wrong)} of the restarts end with other digits"
    )
    return Measured(text, restarted > 0 and not wrong and not is_small())


LINES = [
    Line(
        "damage",
        "a full disk, a short read, a torn file: a clear error, the last checkpoint intact",
        damaged,
    ),
    Line("kill", "SIGKILL at 50 random moments, restart gives the same field summary", killed),
]
