# SPDX-License-Identifier: Apache-2.0
"""Measures the first run on a bare Debian 12: g++, make, python3, two cores, no compiler cache. Criteria of
acceptance/readability.

debootstrap makes the system in a temporary folder. Commands run there by chroot, in a mount namespace of their
own, so that no mount outlives them. Downloads count. Needs root, and the package indexes of Debian and Python.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from harness import ROOT, Criterion, Measured, Unavailable, run

RELEASE = "bookworm"
PRESENT = ("g++", "make", "python3")
NUM_CORES = 2
DEMO_MINUTES, TEST_MINUTES, CI_MINUTES = 5, 15, 25
MAX_PACKAGES = 20
MIN_SPEEDUP, MAX_ABOVE_BOUND, MIN_CLOSED = 2.0, 0.05, 0.5
TIMEOUT_SECONDS = 3 * 3600
# Settings of this machine without which downloads may fail. Files that they name are copied.
_PASSED = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "SSL_CERT_FILE"),
)
_ENTER = """\
mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
exec chroot "$1" bash -euo pipefail -c "$2"
"""


def _passed() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED if name in os.environ}


def _copied(value: str) -> str:
    """Returns the value of a setting in the bare system. Files have other paths, which no package overwrites."""
    return f"/host{value}" if value.startswith("/") and Path(value).is_file() else value


@dataclass
class Ended:
    """Outcome of a command in the bare system."""

    status: int
    seconds: float
    output: str

    @property
    def last_line(self) -> str:
        """Returns the last line of the output that is not empty."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "")


@dataclass
class BareSystem:
    """A system with a clone of this repository in /terrace."""

    root: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="terrace-bare-system.")))

    def install(self) -> None:
        """Installs the system and its compiler, and clones the repository."""
        run(["debootstrap", "--variant=minbase", RELEASE, self.root], timeout=TIMEOUT_SECONDS)
        copies = {"/etc/resolv.conf": "/etc/resolv.conf", **{file: _copied(file) for file in _passed().values()}}
        for file, copy in copies.items():
            if copy != file or file == "/etc/resolv.conf":
                target = self.root / copy.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(file).resolve(), target)
        install = f"apt-get -qq update && apt-get -qq install -y --no-install-recommends {' '.join(PRESENT)}"
        if (done := self.run(install)).status != 0:
            raise Unavailable(f"the bare system's packages cannot be installed: {done.last_line}")
        run(["git", "clone", "--quiet", ROOT, self.root / "terrace"])

    def run(self, command: str) -> Ended:
        """Runs a line of shell in the system, as root, on two cores."""
        cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:NUM_CORES])
        words = ["taskset", "-c", cores, "unshare", "-m", "bash", "-c", _ENTER, "-", str(self.root), command]
        environment = {
            **{name: _copied(value) for name, value in _passed().items()},
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "CCACHE_DISABLE": "1",
        }
        begin = time.monotonic()
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
        )
        return Ended(done.returncode, time.monotonic() - begin, done.stdout)

    def build(self, command: str) -> Ended:
        """Runs a command in the bare system's clone of the repository."""
        return self.run(f"cd /terrace && {command}")

    def packages(self, *query: str) -> set[str]:
        """Returns the package names that a query prints, one on each line."""
        return set(self.run(shlex.join(query)).output.split())

    def remove(self) -> None:
        """Removes the system's files."""
        shutil.rmtree(self.root, ignore_errors=True)


_INSTALLED = ("dpkg-query", "-W", "-f", "${Package}\\n")
_REQUESTED = ("apt-mark", "showmanual")


def _bare_system() -> BareSystem:
    """Makes the bare system once. Raises Unavailable if this machine cannot hold it."""
    if os.geteuid() != 0:
        raise Unavailable("only root can make a bare system")
    for tool in ("debootstrap", "unshare", "taskset"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise Unavailable("this machine grants no mount namespace")
    if len(os.sched_getaffinity(0)) < NUM_CORES:
        raise Unavailable(f"the goal is for {NUM_CORES} cores, which this process may not use")
    system = BareSystem()
    try:
        system.install()
    except BaseException:
        system.remove()
        raise
    return system


@dataclass(frozen=True)
class DemoRun:
    """The first `make demo` on a bare system, which stays for `make test`."""

    system: BareSystem
    ended: Ended
    requested: frozenset[str]  # packages that set-up asked for
    installed: frozenset[str]  # with their dependencies


@cache
def _demo_run() -> DemoRun:
    """Runs `make demo` in the bare system, and lists the packages that it installed."""
    system = _bare_system()
    installed, requested = system.packages(*_INSTALLED), system.packages(*_REQUESTED)
    ended = system.build(f"make demo JOBS={NUM_CORES}")
    return DemoRun(
        system,
        ended,
        frozenset(system.packages(*_REQUESTED) - requested),
        frozenset(system.packages(*_INSTALLED) - installed),
    )


def _timed(command: str, ended: Ended, minutes: float, more: str = "") -> Measured:
    text = f"`{command}`: {ended.seconds / 60:.1f} minutes, exit status {ended.status}{more}"
    holds = ended.status == 0 and ended.seconds <= 60 * minutes
    return Measured("\n".join([text, *([ended.last_line] if ended.last_line else [])]), holds)


def demo() -> Measured:
    first = _demo_run()
    count = f"; {len(first.requested)} packages installed, {len(first.installed)} with their dependencies"
    measured = _timed("make demo", first.ended, DEMO_MINUTES, count)
    return Measured(measured.text, measured.holds and len(first.requested) <= MAX_PACKAGES)


def gains() -> Measured:
    """Judges the two gains that the first demo measured."""
    return judge_gains(json.loads((_demo_run().system.root / "terrace/out/demo/results.json").read_text()))


def judge_gains(document: dict[str, Any]) -> Measured:
    """Judges the speed-up over the kernel's paging, and the plan for half of the data. Without a memory limit the
    demo has no paging.
    """
    row = next(row for row in document["rows"] if row["ratio"] == "half")
    closed = (row["slow_only_s"] - row["managed_s"]) / (row["slow_only_s"] - row["fast_only_s"])
    above = row["managed_s"] / row["lower_bound_s"] - 1
    paging = document["paging"]
    speedup = f"{paging['speedup']:.1f} times as fast as kernel paging" if paging else "no memory limit granted"
    return Measured(
        f"{speedup}; at half: {above:.1%} above the bound, {closed:.0%} of the distance closed",
        (paging is None or paging["speedup"] >= MIN_SPEEDUP) and above <= MAX_ABOVE_BOUND and closed >= MIN_CLOSED,
    )


def tests() -> Measured:
    """Measures `make test` in the bare system after the demo, and removes the system."""
    first = _demo_run()
    try:
        return _timed("make test", first.system.build(f"make test JOBS={NUM_CORES}"), TEST_MINUTES)
    finally:
        first.system.remove()
        _demo_run.cache_clear()


def continuous_integration() -> Measured:
    system = _bare_system()
    try:
        return _timed(".ci/run", system.build(f"JOBS={NUM_CORES} .ci/run"), CI_MINUTES)
    finally:
        system.remove()


CRITERIA = [
    Criterion(
        "first demo",
        f"on a bare Debian 12 with {', '.join(PRESENT)}, two cores: `make demo` with set-up takes at most "
        f"{DEMO_MINUTES} minutes and installs at most {MAX_PACKAGES} packages, dependencies not counted",
        demo,
        apart=True,
    ),
    Criterion(
        "gains of the demo",
        f"by the clock at least {MIN_SPEEDUP:.0f} times as fast as kernel paging; the plan for half of the data "
        f"within {MAX_ABOVE_BOUND:.0%} of its bound, and {MIN_CLOSED:.0%} of the distance of slow-only to "
        "fast-only closed",
        gains,
        apart=True,
    ),
    Criterion(
        "first tests", f"`make test` after it takes at most {TEST_MINUTES} minutes and passes", tests, apart=True
    ),
    Criterion(
        "continuous integration",
        f"on a bare Debian 12, from a clean clone: `.ci/run` takes at most {CI_MINUTES} minutes and passes",
        continuous_integration,
        apart=True,
    ),
]
