"""Checks disks that fill up, files that are torn, and processes that die. Criteria of acceptance/stencils."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Criterion, Measured, Unavailable, fresh, run

from stencils_lines.common import RunResult, command, environment, is_small, reduced, stencil

KILLS = 50
SEED = 1
STEPS = 40
PROBLEM = {"problem": "tp2", "cells": "192x192", "steps": STEPS}
SUMMARY = ("vol", "mass", "pressure", "ie", "ke", "t")
SMALL_DISK = 1 << 20  # less than the data of the problem, which are 0.3 MB a dataset
FULL = (
    ": a write failed: No space left on device; "
    "what was computed since the last checkpoint is lost: begin again from it"
)
NEARLY_ALL = 0.9  # least share of kills after the first checkpoint from which a run resumes


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """Mounts a file system without delayed allocation (ext2), so that it runs full when data are written back."""
    image, place = folder / "disk", folder / "mounted"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(SMALL_DISK)
    run(["mke2fs", "-q", "-t", "ext2", image])
    done = run(["mount", "-o", "loop", image, place], check=False)
    if done.returncode != 0:
        raise Unavailable(f"no disk that is small: {done.stderr.strip()}")
    try:
        yield place
    finally:
        run(["umount", place])


def full_disk() -> Measured:
    """Resumes CloverLeaf 2D from a checkpoint with its data on a disk without space for them: one line, status 1.
    A run from the last checkpoint ends with the digits of an uninterrupted one."""
    folder = fresh("full-disk")
    state = folder / "state.h5"
    stencil("cloverleaf2d", {**PROBLEM, "steps": 3, "checkpoint": state, "every": 1}, executor="tiled", threads=2)
    with _small_disk(folder) as disk:
        options = environment(executor="streamed", threads=2, memory="1MiB", folder=disk)
        words = command("cloverleaf2d", {**PROBLEM, "restart": state, "checkpoint": state, "every": 1})
        done = run(words, check=False, env=options)
    lines = (done.stdout + done.stderr).strip().splitlines()
    is_clear = done.returncode == 1 and len(lines) == 1 and lines[0].endswith(FULL)
    is_intact = _summary(_restart(state)) == _summary(_whole())
    text = f"status {done.returncode}, '{lines[0].replace(str(folder), 'FOLDER') if lines else ''}'"
    text += f" and {len(lines) - 1} lines more" if len(lines) > 1 else ""
    text += f"; the last checkpoint {'leads to the same' if is_intact else 'leads to other'} digits"
    return Measured(text, is_clear and is_intact)


def _whole(**arguments: object) -> RunResult:
    return stencil("cloverleaf2d", {**PROBLEM, **arguments}, executor="tiled", threads=2)


def _restart(file: Path) -> RunResult:
    return _whole(restart=file)


def _summary(ran: RunResult) -> dict[str, float]:
    return {name: ran.value(name) for name in SUMMARY}


def _begun(file: Path) -> subprocess.Popen[bytes]:
    """Starts a run that keeps a checkpoint of each step."""
    words = command("cloverleaf2d", {**PROBLEM, "checkpoint": file, "every": 1})
    options = environment(executor="tiled", threads=2)
    return subprocess.Popen(words, env=options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _times(file: Path) -> tuple[float, float]:
    """Returns the seconds of such a run until its first checkpoint is there, and until its end."""
    begun = time.monotonic()
    process = _begun(file)
    first = None
    while process.poll() is None:
        if first is None and file.exists():
            first = time.monotonic() - begun
        time.sleep(0.0005)
    if process.returncode != 0 or first is None:
        raise RuntimeError(f"a run with checkpoints ended with {process.returncode}")
    return first, time.monotonic() - begun


def _is_right(file: Path, wanted: dict[str, float]) -> bool:
    """Returns whether a run resumes there for the missing steps, and has the same summary."""
    kept = round(_whole(restart=file, steps=1).value("steps"))  # no step is left: it says how many there were
    ran = _restart(file)
    return 1 <= kept <= STEPS and round(ran.value("steps_run")) == STEPS - kept and _summary(ran) == wanted


def killed() -> Measured:
    """Kills CloverLeaf 2D at random moments; if there is a checkpoint, a run resumes from it."""
    wanted = _summary(_whole())
    folder = fresh("stencil-kills")
    first, longest = _times(folder / "whole.h5")
    moments = random.Random(SEED)
    kills = KILLS // 10 if is_small() else KILLS
    behind, right, wrong = 0, 0, []
    early = 0  # runs that ended before they were killed, which are repeated
    for number in range(kills):
        file = folder / f"{number}.h5"
        while True:
            moment = moments.uniform(0, longest)
            file.unlink(missing_ok=True)
            process = _begun(file)
            time.sleep(moment)
            os.kill(process.pid, signal.SIGKILL)
            if process.wait() == -signal.SIGKILL:
                break
            early += 1
            if early > kills:
                return Measured(reduced(f"{early} runs ended before they were killed"), False)
        behind += moment > first
        if not file.exists():
            continue  # before the first one was complete
        if _is_right(file, wanted):
            right += 1
        else:
            wrong.append(number)
    text = (
        f"the first checkpoint is there after {first:.2f} s, the run takes {longest:.2f} s: {behind} of {kills} "
        f"kills came behind the first; {right} runs went on for the steps that were missing and ended with the "
        f"same digits, {len(wrong)} did not; {early} runs had ended before and were repeated"
    )
    text = f"{kills} kills instead of {KILLS}: {text}" if is_small() else text
    enough = right >= NEARLY_ALL * behind and 2 * behind >= kills
    return Measured(reduced(text), enough and not wrong and not is_small())


CRITERIA = [
    Criterion("full disk", "a streamed run ends with one clear message, its last checkpoint intact", full_disk),
    Criterion("kill", f"SIGKILL at {KILLS} random moments, restart gives the same field summary", killed),
]
