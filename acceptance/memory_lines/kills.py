"""Kills programs with real memory, and finds the resources that they leave behind. A criterion of
acceptance/memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness import SETTINGS, TERRACE, Criterion, Measured, Unavailable, run

from memory_lines.faults import MEMORY, MIB, PROGRAM
from memory_lines.left import Places, of_session
from memory_lines.mounts import mounted

KILLS = 50
ATTEMPTS = 20 * KILLS
DISK = 1024 * MIB
JOURNAL = MIB  # bytes


def _is_killed(places: Places, options: Sequence[str | Path], turn: int, after: float, found: list[str]) -> bool:
    """Runs a job and kills its program, or its launcher, after so many seconds. Returns False if it was not
    running then. Adds remaining resources to the findings."""
    with_launcher = turn % 2 == 1
    process = subprocess.Popen(
        [*map(str, (TERRACE, "run", *options, "--", *PROGRAM))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=places.environment(has_session=turn % 4 < 2),
    )
    time.sleep(after)
    victims = of_session(process.pid, "-f", f"^{PROGRAM[0]}")
    began = bool(victims)
    for victim in [*victims, *([process.pid] if with_launcher and began else [])]:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            began = False
    status = process.wait(timeout=60)
    found += [f"turn {turn}: {one}" for one in places.processes_left(process.pid)]
    return began and status == -signal.SIGKILL


def kills() -> Measured:
    """Kills the program, or also the launcher, at random moments; data are out of core, or allocated by intent.

    A killed launcher leaves the journals, so that `terrace merge` can read the observations until then, and the
    ledger, which the next launcher removes."""
    if os.geteuid() != 0:
        raise Unavailable("only root can mount the file system of the jobs: run as root")
    run(["cmake", "--build", "--preset", "release", "--target", "large_data"])
    draw = random.Random(22)
    killed = turn = 0
    found: list[str] = []
    with (
        tempfile.TemporaryDirectory(dir=SETTINGS.disk_folder) as below,
        tempfile.TemporaryDirectory() as session,
        tempfile.TemporaryDirectory() as journals,
        mounted(DISK, Path(below)) as disk,
    ):
        places = Places(disk.folder, Path(journals), Path(session))
        before = places.state()
        over_file = ("--memory", MEMORY, "--spill", disk.folder, "-o", Path(journals) / "killed.profile")
        while killed < KILLS and turn < ATTEMPTS:
            options = over_file if turn % 8 < 4 else ("--intent", "bandwidth")
            killed += _is_killed(places, options, turn, draw.uniform(0.02, 1.5), found)
            found += [f"turn {turn}: {one}" for one in places.disk_left(before.free)]
            turn += 1
        for has_session in (True, False):
            run([TERRACE, "run", "--intent", "bandwidth", "--", "true"], env=places.environment(has_session))
        found += places.ledgers_left(before.ledgers)
        kept = list(Path(journals).glob("terrace-*"))
        found += [f"{one.name} is large" for one in kept if _largest(one.rglob("*")) > JOURNAL]
    text = f"{killed} killed of {turn} jobs, {len(found)} things left" + (
        f": {'; '.join(found[:4])}" if found else ""
    )
    text += f"; {len(kept)} folders of journals of launchers that were killed, for `terrace merge`"
    return Measured(text, killed == KILLS and not found)


def _largest(files: Iterable[Path]) -> int:
    return max((one.stat().st_size for one in files if one.is_file()), default=0)


CRITERIA = [
    Criterion(
        "killed",
        "SIGKILL at 50 random moments: no process, file, disk space or, after the next launcher, ledger is left "
        "behind; journals stay for `terrace merge`",
        kills,
    ),
]
