# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of the sources and of acceptance, now and at a baseline commit. A criterion of
acceptance/readability."""

from __future__ import annotations

from harness import Criterion, Measured, run

BASELINE = "503b3a67"  # the commit before the names were changed
COUNTED = ("src", "acceptance", "tests/python/acceptance")
# Patterns of lines that are blank or comments, with the files in which they are. Docstrings count as code.
_NO_CODE = {r"^\s*(//|$)": ("*.c", "*.h", "*.cpp", "*.hpp"), r"^\s*(#|$)": ("*.py",)}


def _count(
    folder: str, commit: str, pattern: tuple[str, str] = ("-e", ""), endings: tuple[str, ...] = ("*",)
) -> int:
    """Returns the number of lines that match a pattern in text files of the tree, or of `commit`."""
    paths = [f":(glob){folder}/**/{ending}" for ending in endings]
    done = run(["git", "grep", "-I", "-c", *pattern, *([commit] if commit else []), "--", *paths], check=False)
    if done.returncode > 1:  # 1: no match
        raise RuntimeError(f"git grep: {done.stderr.strip()}")
    return sum(int(line.rpartition(":")[2]) for line in done.stdout.splitlines())


def _code(folder: str, commit: str) -> int:
    return sum(_count(folder, commit, ("-vE", pattern), endings) for pattern, endings in _NO_CODE.items())


def line_counts() -> Measured:
    """Compares the lines of each counted folder with the baseline's."""
    rows = [
        {
            "folder": folder,
            "at the start": _count(folder, BASELINE),
            "now": _count(folder, ""),
            "code at the start": _code(folder, BASELINE),
            "code now": _code(folder, ""),
        }
        for folder in COUNTED
    ]
    before, now = (sum(_count(folder, commit) for folder in COUNTED) for commit in (BASELINE, ""))
    each = [
        f"{row['folder']}: {row['at the start']} -> {row['now']}; code without comments and blank lines "
        f"{row['code at the start']} -> {row['code now']}"
        for row in rows
    ]
    return Measured("\n".join([f"{before} lines at {BASELINE}, {now} now", *each]), now < before, rows)


CRITERIA = [Criterion("line counts", f"{', '.join(COUNTED)} have fewer lines than at {BASELINE}", line_counts)]
