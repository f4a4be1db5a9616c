"""Access of other users to the ledger. `make soak` runs random histories of its processes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from harness import TERRACE, Line, Measured, Unavailable

UNPRIVILEGED_USER = 65534


def other_users() -> Measured:
    """Tries to read and to write the ledger of a running job as another user."""
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
        ["python3", "-c", attempt],
        user=UNPRIVILEGED_USER,
        group=UNPRIVILEGED_USER,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    return done.returncode != 0 and "PermissionError" in done.stderr


LINES = [
    Line("ledger: other users", "get nothing", other_users),
]
