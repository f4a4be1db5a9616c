"""The ledger: random histories of processes, and other users."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, TERRACE, Line, Measured, Unavailable, run

HISTORIES = 10_000
BUILD = ROOT / "build" / "release"
TEST = BUILD / "tests" / "unit" / "memory" / "ledger_histories_test"
NOBODY = 65534


def histories() -> Measured:
    """Processes ask, reserve, populate, shrink, state demands, are killed, and write into the page at random."""
    run(["cmake", "--build", "--preset", "release", "--target", TEST.name])
    wanted = {**os.environ, "TERRACE_HISTORIES": str(HISTORIES)}
    done = run([TEST, "--gtest_filter=LedgerHistories.*"], check=False, timeout=3600, env=wanted)
    said = re.findall(r"^((\d+) histories.*)$", done.stdout, re.MULTILINE)
    # What a check that failed says, with the history's number.
    failed = re.findall(r": Failure\n((?:.+\n)+?)(?=\n|\[)", done.stdout)
    problems = [" ".join(text.split()) for text in failed] or (
        [] if done.returncode == 0 else [done.stdout[-200:]]
    )
    text = "; ".join([*(line for line, _ in said), *problems])
    return Measured(text, done.returncode == 0 and sum(int(count) for _, count in said) >= HISTORIES)


def other_users() -> Measured:
    """While a job runs, somebody else tries to read and to write its ledger."""
    if os.geteuid() != 0:
        raise Unavailable("becoming another user needs root")
    with tempfile.TemporaryDirectory() as name:
        words = [TERRACE, "run", "-o", f"{name}/run.terrace", "--", "sh", "-c", "echo ready; sleep 5"]
        job = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert job.stdout is not None
            job.stdout.readline()
            ledgers = [one for one in Path(f"/dev/shm/terrace-{os.getuid()}").rglob("*") if one.is_file()]
            refused = sum(_is_refused(one, mode) for one in ledgers for mode in ("r", "r+"))
        finally:
            job.terminate()
            job.wait()
    text = f"{len(ledgers)} files, {refused} of {2 * len(ledgers)} attempts to read or write refused"
    return Measured(text, bool(ledgers) and refused == 2 * len(ledgers))


def _is_refused(path: Path, mode: str) -> bool:
    attempt = f"open({str(path)!r}, {mode!r})"
    done = subprocess.run(
        ["python3", "-c", attempt], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True
    )
    return done.returncode != 0 and "PermissionError" in done.stderr


LINES = [
    Line(
        "ledger",
        "10,000 random histories of processes that ask, grow, shrink and die, and scribble in 4,000 of them: "
        "never more than there is, never a byte lost",
        histories,
    ),
    Line("ledger: other users", "get nothing", other_users),
]
