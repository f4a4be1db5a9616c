# SPDX-License-Identifier: Apache-2.0
"""Criteria of warnings: the whole tree compiles and links without one. Each builds in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable

from harness import ROOT, Line, Measured, Unavailable, run

from readability_lines.checks import none_of

SECONDS = 4 * 3600
KINDS = {
    "gcc": ("g++", "gcc compiles every target with -Werror"),
    "clang": ("clang++", "clang compiles every target with -Werror"),
    "lto": ("g++", "launcher and libraries, linked with -flto -Wodr, have no type that is defined twice"),
}


def criterion(kind: str) -> Callable[[], Measured]:
    """Returns the measurement of scripts/warnings for one kind of build."""

    def measure() -> Measured:
        compiler = KINDS[kind][0]
        if shutil.which(compiler) is None:
            raise Unavailable(f"{compiler} is not installed")
        # As the Makefile does: set-up may have installed CMake there.
        environment = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
        done = run([ROOT / "scripts" / "warnings", kind], check=False, timeout=SECONDS, env=environment)
        lines = (done.stdout + done.stderr).splitlines()
        findings = [line for line in lines if re.search(r"warning:|error:|FAILED", line)]
        if done.returncode != 0 and not findings:
            findings = lines[-3:] or [f"scripts/warnings {kind} ended with {done.returncode}"]
        return none_of(findings, "warnings and errors")

    return measure


LINES = [Line(f"warnings, {kind}", goal, criterion(kind)) for kind, (_, goal) in KINDS.items()]
