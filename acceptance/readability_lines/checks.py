# SPDX-License-Identifier: Apache-2.0
"""Runs the repository's own checks and reads its files, for the criteria of readability."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from harness import ROOT, Measured, run

BASELINE = "503b3a67"  # the commit before the names were changed
MAX_SHOWN = 8


def git(*words: str) -> str:
    """Returns the output of a git command in this repository. Raises RuntimeError if it fails."""
    return run(["git", *words]).stdout


def tracked(*folders: str, commit: str = "") -> list[str]:
    """Returns the paths of files in `folders`: those that git tracks, or those of `commit`."""
    words = ["ls-tree", "-r", "-z", "--name-only", commit] if commit else ["ls-files", "-z"]
    return [name for name in git(*words, "--", *folders).split("\0") if name]


def baseline_text(path: str) -> str:
    """Returns the text of a file at the baseline commit. Raises RuntimeError if that commit lacks it."""
    return git("show", f"{BASELINE}:{path}")


def none_of(findings: Sequence[str], count: str) -> Measured:
    """Returns a measurement that holds if there are no findings. `count` follows the number of findings."""
    shown = list(findings[:MAX_SHOWN])
    if len(findings) > MAX_SHOWN:
        shown.append(f"and {len(findings) - MAX_SHOWN} more")
    return Measured("\n".join([f"{len(findings)} {count}", *shown]), not findings)


def script_findings(script: str, *words: str) -> list[str]:
    """Returns the lines that a check of scripts/ prints. A check that fails without output yields its error."""
    done = run([Path(sys.executable), ROOT / "scripts" / script, *words], check=False)
    findings = done.stdout.splitlines()
    if done.returncode != 0 and not findings:
        findings = [f"{script} ended with {done.returncode}: {done.stderr.strip()[-200:]}"]
    return findings
