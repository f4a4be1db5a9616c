"""Kills runs at random moments, and checks the journals that they leave. A criterion of acceptance/main-job."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from harness import TERRACE, Criterion, Measured, fresh, query, run, workload

KILLS = 50
SEED = 1


@dataclass
class KillOutcomes:
    """Outcomes of runs that were killed."""

    merged: int = 0
    early: int = 0  # killed before the library had begun a journal: there is nothing to merge
    late: int = 0  # it had ended before
    phases: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_store(path: Path, deaths: KillOutcomes, program: str = "mg") -> None:
    """Checks that a merged profile is valid as a database, reports that the run was cut, and has a prefix of its
    phases."""
    if query(path, "PRAGMA integrity_check") != [("ok",)]:
        deaths.problems.append(f"{path.parent.name} is damaged")
    rows = [row for row in query(path, "SELECT id, program, ended, whole FROM run") if row[1].endswith(program)]
    notes = query(path, "SELECT text FROM note")
    if len(rows) != 1:
        deaths.problems.append(f"{path.parent.name} has {len(rows)} runs of {program}")
        return
    run_id, _, ended, whole = rows[0]
    if ended is not None or whole:
        deaths.late += 1
        return
    if not notes:
        deaths.problems.append(f"{path.parent.name} does not say that the run was cut short")
    phases = query(
        path,
        "SELECT loop, iteration, phase, begun, ended FROM phase_instance WHERE run = ? ORDER BY begun, ended",
        run_id,
    )
    if any(later[3] < earlier[4] - 1e-12 for earlier, later in pairwise(phases)):
        deaths.problems.append(f"{path.parent.name} has phases that overlap")
    deaths.merged += 1
    deaths.phases.append(len(phases))


def child_of(launcher: subprocess.Popen[bytes]) -> int | None:
    """Returns the program that a launcher started, or None before it was executed."""
    try:
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
        return int(children[0]) if children else None
    except OSError:
        return None


def command(verb: str, output: Path) -> list[str | Path]:
    """Returns the words that run MG under a subcommand of terrace, to be killed."""
    words: list[str | Path] = [TERRACE, verb, "--quiet"]
    if verb != "run":
        words += ["--machine", "unimem-lat4", "--cache", "l3=64KiB"]
    if verb == "simulate":
        words += ["--fast", "256KiB"]
    return [*words, "-o", output, "--", workload("mg", True), "--class", "S", "--iterations", "30"]


def start(verb: str, output: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(output.parent)}
    return subprocess.Popen(
        [str(word) for word in command(verb, output)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=environment, start_new_session=True,
    )  # fmt: skip


def lasts(verb: str, folder: Path) -> float:
    """Returns the seconds from the launcher's start to the program's end."""
    begun = ended = time.monotonic()
    launcher = start(verb, folder / f"whole-{verb}.terrace")
    while launcher.poll() is None:
        if running(child_of(launcher)):
            ended = time.monotonic()
        time.sleep(0.002)
    return ended - begun


def running(process: int | None) -> bool:
    """Returns whether the process exists and is not a zombie."""
    try:
        return process is not None and ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


VERBS = ("record", "simulate", "run")


def kill(everything: bool) -> KillOutcomes:
    """Kills only the program, so that its launcher merges the journals, or both, so that `terrace merge` has to do
    so afterwards."""
    folder = fresh("kill-everything" if everything else "kill-program")
    dice, deaths = random.Random(SEED + everything), KillOutcomes()
    length = {verb: lasts(verb, folder) for verb in VERBS}
    for number in range(10 * KILLS):
        if deaths.merged == KILLS:
            break
        verb = VERBS[number % len(VERBS)]
        own = folder / str(number)
        own.mkdir()
        output = own / "killed.terrace"
        launcher = start(verb, output)
        time.sleep(dice.random() * length[verb])
        (kill_everything if everything else kill_program)(launcher, output, deaths)
    return deaths


def kill_program(launcher: subprocess.Popen[bytes], output: Path, deaths: KillOutcomes) -> None:
    """Kills the program alone: its launcher has to merge the journal, and end as the program did."""
    child = child_of(launcher)
    if child is not None:
        os.kill(child, signal.SIGKILL)
    status = launcher.wait(timeout=60)
    if not output.exists():
        deaths.early += 1
    elif child is None:
        deaths.late += 1
    else:
        if status not in (-signal.SIGKILL, 0):
            deaths.problems.append(f"{output.parent.name}: the launcher ended with {status}")
        check_store(output, deaths)


def kill_everything(launcher: subprocess.Popen[bytes], output: Path, deaths: KillOutcomes) -> None:
    """Kills the launcher and the program: `terrace merge` has to make a profile of the journal."""
    os.killpg(launcher.pid, signal.SIGKILL)
    launcher.wait(timeout=60)
    left = list(output.parent.glob("terrace-*/*.journal"))
    if output.exists():
        if query(output, "PRAGMA integrity_check") != [("ok",)]:
            deaths.problems.append(f"{output.parent.name}: the launcher left half a profile")
        deaths.late += 1
    elif not left:
        deaths.early += 1
    else:
        merged = output.with_name("merged.terrace")
        done = run([TERRACE, "merge", "--quiet", "-o", merged, *left], check=False)
        if done.returncode != 0 and "wrote nothing" in done.stderr:
            deaths.early += 1
        else:
            check_store(merged, deaths)


def sudden_death() -> Measured:
    """Kills runs at random moments, the program alone and with its launcher, and judges what is left."""
    lines, holds = [], True
    for what, deaths in (("the program", kill(False)), ("launcher and program", kill(True))):
        cut = sorted(deaths.phases) or [0]
        lines.append(
            f"{what} killed: {deaths.merged} of {KILLS} journals merged, with {cut[0]} to {cut[-1]} phases in "
            f"them; {deaths.early} more were killed before there was a journal, {deaths.late} had ended"
        )
        lines += [f"problem: {text}" for text in deaths.problems[:5]]
        holds = holds and deaths.merged == KILLS and not deaths.problems
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion(
        "SIGKILL",
        f"a run killed at {KILLS} random moments leaves a journal that merges",
        sudden_death,
    ),
]
