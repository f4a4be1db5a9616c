# SPDX-License-Identifier: Apache-2.0
"""Other users can neither read nor write the ledger of a running job."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import TERRACE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_ledger_refuses_other_users(tmp_path):
    words = [TERRACE, "run", "-o", tmp_path / "run.terrace", "--", "sh", "-c", "echo ready; read wait"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, text=True, **pipes) as job:
        job.stdout.readline()
        ledgers = [one for one in Path(f"/dev/shm/terrace-{os.getuid()}").rglob("*") if one.is_file()]
        assert ledgers
        for path in ledgers:
            for mode in ("r", "r+"):
                attempt = ["python3", "-c", f"open({str(path)!r}, {mode!r})"]
                as_other = {"user": 65534, "group": 65534, "extra_groups": []}
                done = subprocess.run(attempt, capture_output=True, text=True, **as_other)
                # Another job's ledger may be gone by now.
                assert "PermissionError" in done.stderr or not path.exists(), (path, mode, done.stderr)
