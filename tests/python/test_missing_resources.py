"""Programs without (or no longer with) Terrace's resources: their messages and results."""

import os
import subprocess
import sys

import pytest
from conftest import TERRACE, run

MEMORY = ("--memory", "64MiB", "--spill", "/var/tmp")
NOTHING = (
    "terrace: nothing was managed out of core: no process allocated a block of at least 4MiB, "
    "or used 16MiB of memory (a quarter of --memory)"
)

TRIES = """
import os, subprocess, sys, time
gate, log = sys.argv[1:]
if os.fork() == 0:
    os.setsid()
    while not os.path.exists(gate):
        time.sleep(0.01)
    with open(log + ".part", "w") as file:
        code = "x = bytearray(8 << 20); print(len(x))"
        subprocess.run([sys.executable, "-c", code], stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    os.rename(log + ".part", log)
    os._exit(0)
"""


@pytest.mark.parametrize("option", [MEMORY, ("--intent", "capacity")])
def test_daemon_outliving_the_run_is_silent(tmp_path, option):
    gate, log = tmp_path / "gate", tmp_path / "log"
    words = [TERRACE, "run", "-q", *option, "--", sys.executable, "-c", TRIES, gate, log]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0
    gate.touch()
    for _ in range(600):
        if log.exists():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert log.read_text() == f"{8 << 20}\n"


def test_process_without_limit_states_reason():
    """It has no file descriptor left."""
    code = "import resource; print(len(bytearray(8 << 20)))"
    for files in range(4, 12):
        done = run(*MEMORY, "--", "sh", "-c", f"ulimit -n {files}; exec {sys.executable} -c '{code}'")
        if "file for counters" in done.stderr:
            break
    else:
        pytest.fail("no such limit makes it fail")
    assert (
        "--memory: a file for counters cannot be created in $TMPDIR: Too many open files; raise ulimit -n, or "
        "free space there; the program runs" in done.stderr
    )
    assert "/tmp/terrace-" not in done.stderr


def test_program_of_another_user_is_reported():
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    code = "import os; os.setuid(65534); os.execv('/bin/true', ['true'])"
    done = run(*MEMORY, "--", sys.executable, "-c", code, cwd="/")
    assert done.returncode == 0
    first, last = done.stderr.splitlines()
    assert first.startswith("terrace: a process of another user, who may not read this run's folder, runs without")
    assert last == NOTHING


def test_unobserved_program_has_no_claims(tmp_path):
    """It is statically linked, and its parent allocated nothing."""
    (tmp_path / "big.c").write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) { return memset(malloc(8 << 20), 1, 8 << 20) == 0; }\n"
    )
    made = subprocess.run(["gcc", "-static", tmp_path / "big.c", "-o", tmp_path / "big"], capture_output=True)
    if made.returncode != 0:
        pytest.skip("no static C library")
    done = run(*MEMORY, "--", "bash", "-c", f"exec {tmp_path / 'big'}")
    assert done.stderr == f"{NOTHING}\n"
