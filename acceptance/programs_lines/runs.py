"""Runs a program once in one way, and returns its output, status, time and peak memory. Used throughout
acceptance/programs."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import SETTINGS, TERRACE
from memory_lines.limits import run_limited

PLAIN, OURS, OFF = "plain", "terrace", "off"
PREFIXES: dict[str, list[str]] = {PLAIN: [], OURS: [str(TERRACE), "run", "--"], OFF: [str(TERRACE), "run", "--"]}
ENVIRONMENTS: dict[str, dict[str, str]] = {PLAIN: {}, OURS: {}, OFF: {"TERRACE": "off"}}
NO_LIMIT = 1 << 42  # bytes
# Some programs of MPI refuse the superuser; the batch system's variables would tell them where they are.
_ALWAYS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "LC_ALL": "C.UTF-8"}
# Its own output to files, in its own folder, and nothing to read.
_SHELL = 'cd "$1" && out=$2 err=$3 && shift 3 && exec "$@" </dev/null >"$out" 2>"$err"'


@dataclass(frozen=True)
class RunResult:
    """How it went. `peak` is the control group's largest use: of all its processes, with the page cache of what
    they read first and wrote."""

    status: int | None
    out: str
    err: str
    seconds: float
    cpu: float  # seconds of all its processes that were waited for
    peak: int
    folder: Path


def scratch() -> Path:
    return Path(SETTINGS.disk_folder)


def ran(
    command: Sequence[str],
    start: Path | None,
    env: Mapping[str, str],
    memory: int = NO_LIMIT,
    timeout: float = 1800,
) -> RunResult:
    """Runs a case in a new folder with a copy of `start`, which the caller removes (`forget`)."""
    folder = Path(tempfile.mkdtemp(dir=scratch(), prefix="terrace-programs-"))
    folder.chmod(0o755)
    work = folder / "work"
    if start is not None:
        subprocess.run(["cp", "-a", start, work], check=True)  # with owners: databases insist
    else:
        work.mkdir()
    out, err = folder / "out", folder / "err"
    words = ["/bin/sh", "-c", _SHELL, "sh", str(work), str(out), str(err), *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = run_limited(words, memory, {**_ALWAYS, **env}, timeout)
    except BaseException:  # also an interrupt: only this function can remove the folder
        shutil.rmtree(folder, ignore_errors=True)
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    texts = [path.read_text(errors="replace") if path.exists() else "" for path in (out, err)]
    return RunResult(done.status, texts[0], texts[1] + done.output, done.seconds, cpu, done.peak, work)


def interleaved(ways: Sequence[str], turns: int) -> Iterator[str]:
    """Yields the ways of all repetitions, alternately reversed, so that slow drift affects all alike."""
    for turn in range(turns):
        yield from ways if turn % 2 == 0 else reversed(ways)


def forget(done: RunResult) -> None:
    shutil.rmtree(done.folder.parent, ignore_errors=True)
