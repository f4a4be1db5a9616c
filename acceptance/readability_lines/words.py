# SPDX-License-Identifier: Apache-2.0
"""Criteria of words: comments, names and commit subjects follow the style page."""

from __future__ import annotations

from harness import Line, Measured, run

from readability_lines.checks import none_of, script_findings


def words() -> Measured:
    # Without --list the script prints folders whose count differs from scripts/words.toml, and long subjects.
    findings = script_findings("words.py", "--list", "")
    return none_of([*findings, *script_findings("words.py")], "findings")


def limit_names() -> Measured:
    done = run(["git", "grep", "-nE", "k_(most|least)"], check=False)
    if done.returncode > 1:  # 1: no match
        raise RuntimeError(f"git grep: {done.stderr.strip()}")
    return none_of(done.stdout.splitlines(), "names of limits that say most or least")


LINES = [
    Line("words", "`scripts/words.py` reports nothing, and no folder has an allowance", words),
    Line("names of limits", "`git grep -E 'k_(most|least)'` finds nothing", limit_names),
]
