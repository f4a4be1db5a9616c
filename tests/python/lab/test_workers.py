"""Worker processes end with their parent, even without notification."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PARENT = """
import os, time
from terrace.lab.workers import workers
if __name__ == "__main__":
    with workers(2) as pool:
        print(*sorted({future.result() for future in [pool.submit(os.getpid) for _ in range(8)]}), flush=True)
        pool.submit(time.sleep, 600)
        time.sleep(600)
"""


def runs(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_workers_end_when_parent_is_killed(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, text=True)
    found = [int(word) for word in parent.stdout.readline().split()]
    assert found
    assert all(runs(pid) for pid in found)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 300
    while any(runs(pid) for pid in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in found if runs(pid)]
