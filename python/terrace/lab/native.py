"""Runs programs natively, and reads the system's clocks of them: the process's time in its own code and in the
system's, and how long it was ready while others had the processor."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from terrace.errors import NotStartedError, TerraceError
from terrace.lab.function_samples import Sampler, Samples
from terrace.lab.surroundings import AS_HERE, Surroundings
from terrace.solve.calibration import Sample, Start, median_interval

_RUNS = 9  # of the program that does nothing
_PATIENCE = 10.0  # seconds that a program has to end when it is told to
_GATE = ("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh")


class NotSampledError(TerraceError):
    """The kernel does not let a program be sampled."""


@dataclass(frozen=True)
class Run:
    """What a program wrote, and its times."""

    said: str  # to standard output
    digest: str  # of the bytes that it wrote there
    complained: str  # to standard error
    status: int  # of exit; below 0: the signal that ended it
    sample: Sample
    where: Samples | None = None  # samples of its program counter, by function; None: the run was not sampled


def run(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
) -> tuple[str, Sample]:
    """What it wrote to standard output, and its times. Raises TerraceError when it cannot be started or fails."""
    done = run_whole(words, environment, around)
    check(done, words, around)
    return done.said, done.sample


def check(done: Run, words: Sequence[str | os.PathLike[str]], around: Surroundings) -> None:
    """Raises TerraceError where a run failed."""
    if done.status != around.status:
        tail = " | ".join((done.said + done.complained).strip().splitlines()[-3:])
        wanted = f" instead of {around.status} (--calibrate-status)" if around.status else ""
        raise TerraceError(f"{' '.join(map(str, words))} ended with {done.status}{wanted}: {tail}")


def run_whole(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
    most: int = -1,
    period: float | None = None,
) -> Run:
    """Runs a program that may fail. Keeps the last `most` bytes of its output, all of them if `most` is negative.
    Samples the program counter if there is a `period`. Raises TerraceError if it cannot be started or sampled."""
    begins = words if period is None else [*_GATE, *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, around.entered() as (stdin, folder):
        variables = {**os.environ, **(environment or {})}
        begun = time.perf_counter()
        try:
            child = subprocess.Popen(begins, stdin=stdin, stdout=out, stderr=errors, env=variables, cwd=folder)
        except OSError as error:
            raise NotStartedError(str(words[0]), error) from error
        sampler = None if period is None else _sampled_from_now_on(child, period)
        try:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:
            _end(child)
            raise
        wall = time.perf_counter() - begun
        delayed = _delayed(child.pid)  # the system still knows a process that nobody waited for
        _, ended, used = os.wait4(child.pid, 0)
        status = child.returncode = os.waitstatus_to_exitcode(ended)
        said, complained = _content(out, most), _content(errors, most)
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
    processor = used.ru_utime + used.ru_stime
    where = None if sampler is None else sampler.read(os.fspath(words[0]))
    sample = Sample(wall, processor, used.ru_utime, delayed, used.ru_nvcsw)
    return Run(said, digest, complained, status, sample, where)


def _sampled_from_now_on(child: subprocess.Popen[bytes], period: float) -> Sampler:
    """Of a shell that has stopped before it becomes the program."""
    try:
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        sampler = Sampler(child.pid, period)
    except BaseException as error:
        child.kill()
        child.wait()
        if isinstance(error, OSError):
            raise NotSampledError(str(error)) from error
        raise
    child.send_signal(signal.SIGCONT)
    return sampler


def _end(child: subprocess.Popen[bytes]) -> None:
    """A launcher that is killed cannot take the program with it: it is told first."""
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def start_up() -> Start:
    """What a program takes that does nothing: the system's `true`."""
    nothing = shutil.which("true")
    if nothing is None:
        raise TerraceError("there is no program 'true' here, which tells what starting a program takes")
    samples = [run([nothing])[1] for _ in range(_RUNS)]
    wall = median_interval([one.wall for one in samples]).middle
    return Start(wall, median_interval([one.processor for one in samples]).middle)


def _delayed(process: int) -> float:
    """Seconds that its first thread was ready and did not run; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


def _content(file: IO[bytes], most: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0 if most < 0 else max(size - most, 0))
    return file.read().decode(errors="replace")


# --- what Terrace says at the end ----------------------------------------------------------------------------

DOCUMENT = '{"schema":'  # how Terrace's last line begins


def account_of(complained: str) -> dict[str, Any] | None:
    """Terrace's document at the end of standard error, where the program may have left a line open."""
    line = complained.rstrip("\n").rpartition("\n")[2]
    try:
        document = json.loads(line[line.index(DOCUMENT) :])
    except ValueError:
        return None
    return document if isinstance(document, dict) and "file" in document else None


def predicted_gain(account: dict[str, Any], seconds: float) -> float | None:
    """What a run of so many seconds says of its own gain: by what it waited for a file, or by its plan."""
    longer = (account.get("over_file") or {}).get("longer_s")
    if longer is not None:
        return -longer / (seconds - longer) if longer < seconds else None
    gain = (account.get("proof") or {}).get("predicted_gain")
    return None if gain is None else float(gain)
