"""Programs in another root directory without Terrace's library run as without Terrace, without messages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import run

PROGRAMS = ("/bin/sh", "/bin/cat", "/usr/bin/env")


def as_root() -> list[str]:
    """Returns the command prefix for chroot: superuser, or a user namespace."""
    if os.geteuid() == 0:
        return []
    words = ["unshare", "--map-root-user"]
    if shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
        return words
    pytest.skip("no other root can be had here")


@pytest.fixture(scope="module")
def small_root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("root")
    needed = set(PROGRAMS)
    for program in PROGRAMS:
        needed |= set(re.findall(r"/\S+", subprocess.check_output(["ldd", program], text=True)))
    for file in needed:
        (root / file.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file.lstrip("/"))
    return root


@pytest.mark.parametrize("options", [(), ("--fast", "64MiB")])
@pytest.mark.parametrize("command", [["/bin/cat"], ["/bin/sh", "-c", "/bin/cat; /bin/cat /none; exit 3"]])
def test_chroot_program_behaves_as_without(small_root, options, command, tmp_path):
    words = [*as_root(), "chroot", str(small_root), *command]
    plain = subprocess.run(words, input="in\n", capture_output=True, text=True)
    done = run(*options, "--quiet", "--", *words, input="in\n", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert done.stdout == "in\n"


def test_only_terraces_environment_is_removed(small_root):
    given = {
        "LD_PRELOAD": "libc.so.6",
        "KOKKOS_TOOLS_LIBS": "other.so",
        "PATH": os.environ["PATH"],
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }
    done = run("--", *as_root(), "chroot", small_root, "/usr/bin/env", env=given)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert found["LD_PRELOAD"] == "libc.so.6"
    assert found["KOKKOS_TOOLS_LIBS"] == "other.so"
    assert "NVTX_INJECTION64_PATH" not in found
    assert "libterrace" not in done.stdout


def test_program_in_this_root_is_observed():
    assert "libterrace" in run("--", "sh", "-c", "env -i env").stdout
