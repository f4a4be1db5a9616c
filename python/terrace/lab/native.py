# SPDX-License-Identifier: Apache-2.0
"""Runs programs natively and measures them with the system's clocks: user time, system time, and the time for
which they were runnable but other programs had the processor. Used by `terrace compare` and the calibration."""

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

_RUNS = 9  # of the empty program
_TERMINATION_SECONDS = 10.0  # seconds between SIGTERM and SIGKILL
_GATE = ("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh")


class NotSampledError(TerraceError):
    """The kernel does not permit sampling of a program."""


@dataclass(frozen=True)
class Run:
    """Output and times of a run."""

    stdout: str
    digest: str  # of standard output
    stderr: str
    status: int  # exit status; negative: the signal that ended it
    sample: Sample
    where: Samples | None = None  # program counter samples by function; None: not sampled


def run(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
) -> tuple[str, Sample]:
    """Returns standard output and times. Raises TerraceError if the program cannot be started or fails."""
    done = run_whole(words, environment, around)
    check(done, words, around)
    return done.stdout, done.sample


def check(done: Run, words: Sequence[str | os.PathLike[str]], around: Surroundings) -> None:
    """Raises TerraceError if a run failed."""
    if done.status != around.status:
        tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        wanted = f" instead of {around.status} (--calibrate-status)" if around.status else ""
        raise TerraceError(f"{' '.join(map(str, words))} ended with {done.status}{wanted}: {tail}")


def run_whole(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
    max_output: int = -1,
    period: float | None = None,
) -> Run:
    """Runs a program that may fail. Raises TerraceError if it cannot be started or sampled.

    Keeps the last `most` bytes of its output, or all of them if `most` is negative. Samples the program counter if
    `period` is given.
    """
    begins = words if period is None else [*_GATE, *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, around.entered() as (stdin, folder):
        variables = {**os.environ, **(environment or {})}
        begun = time.perf_counter()
        try:
            child = subprocess.Popen(begins, stdin=stdin, stdout=out, stderr=errors, env=variables, cwd=folder)
        except OSError as error:
            raise NotStartedError(str(words[0]), error) from error
        sampler = None if period is None else _start_sampling(child, period)
        try:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:
            _terminate(child)
            raise
        wall = time.perf_counter() - begun
        delayed = _runnable_seconds(child.pid)  # must precede wait(): the zombie still has its statistics
        _, ended, used = os.wait4(child.pid, 0)
        status = child.returncode = os.waitstatus_to_exitcode(ended)
        stdout, stderr = _read_tail(out, max_output), _read_tail(errors, max_output)
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
    processor = used.ru_utime + used.ru_stime
    where = None if sampler is None else sampler.read(os.fspath(words[0]))
    sample = Sample(wall, processor, used.ru_utime, delayed, used.ru_nvcsw)
    return Run(stdout, digest, stderr, status, sample, where)


def _start_sampling(child: subprocess.Popen[bytes], period: float) -> Sampler:
    """Starts sampling a shell that has stopped itself before it executes the program."""
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


def _terminate(child: subprocess.Popen[bytes]) -> None:
    """Ends a child with SIGTERM first, so that a launcher can end its program, which SIGKILL would orphan."""
    child.terminate()
    try:
        child.wait(_TERMINATION_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def start_up() -> Start:
    """Measures the start-up time of an empty program, the system's `true`."""
    nothing = shutil.which("true")
    if nothing is None:
        raise TerraceError(
            "the program 'true', by which start-up time is measured, is not in PATH; install it (coreutils)"
        )
    samples = [run([nothing])[1] for _ in range(_RUNS)]
    wall = median_interval([one.wall for one in samples]).middle
    return Start(wall, median_interval([one.processor for one in samples]).middle)


def _runnable_seconds(process: int) -> float:
    """Returns the seconds for which the first thread was runnable but not running; 0 if unknown."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


def _read_tail(file: IO[bytes], max_output: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0 if max_output < 0 else max(size - max_output, 0))
    return file.read().decode(errors="replace")


# --- Terrace's report at the end of a run ---------------------------------------------------------------------

REPORT_PREFIX = '{"schema":'  # beginning of Terrace's last line


def report_of(stderr: str) -> dict[str, Any] | None:
    """Returns Terrace's JSON at the end of standard error, even if the program left a line without newline."""
    line = stderr.rstrip("\n").rpartition("\n")[2]
    try:
        document = json.loads(line[line.index(REPORT_PREFIX) :])
    except ValueError:
        return None
    return document if isinstance(document, dict) and "file" in document else None


def predicted_gain(report: dict[str, Any], seconds: float) -> float | None:
    """Returns the gain that a run of that many seconds predicts: from its paging waits, or from its plan."""
    longer = (report.get("over_file") or {}).get("longer_s")
    if longer is not None:
        return -longer / (seconds - longer) if longer < seconds else None
    gain = (report.get("proof") or {}).get("predicted_gain")
    return None if gain is None else float(gain)
