# SPDX-License-Identifier: Apache-2.0
"""Criteria of structure: types, dependencies, sizes of files, READMEs of modules, packages of the demo."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from harness import ROOT, Line, Measured, run

from readability_lines.checks import BASELINE, none_of, script_findings

MAX_FILE_LINES = 1000
MAX_README_LINES = 60
MAX_DEMO_PACKAGES = 20
PRESENT_PACKAGES = frozenset({"g++", "make", "python3"})  # the bare system of the goal has them
COUNTED = ("src", "acceptance", "tests/python/acceptance")


def types_twice() -> Measured:
    return none_of(script_findings("types_twice.py"), "types that several files define")


def dependencies() -> Measured:
    return none_of(script_findings("modules.py"), "errors")


def file_lines(folder: str, commit: str = "") -> dict[str, int]:
    """Returns the number of lines of each text file in a folder, of the tree or of `commit`."""
    return _counts(["-e", ""], [folder], commit)


def _counts(pattern: list[str], paths: list[str], commit: str) -> dict[str, int]:
    """Returns the number of lines that match a pattern, by file."""
    done = run(["git", "grep", "-I", "-c", *pattern, *([commit] if commit else []), "--", *paths], check=False)
    if done.returncode > 1:  # 1: no match
        raise RuntimeError(f"git grep: {done.stderr.strip()}")
    rows = [line.removeprefix(f"{commit}:").rpartition(":") for line in done.stdout.splitlines()]
    return {name: int(count) for name, _, count in rows}


def sizes() -> Measured:
    lines = file_lines("src")
    longest = max(lines, key=lambda name: lines[name])
    too_long = [f"{name}: {count} lines" for name, count in lines.items() if count > MAX_FILE_LINES]
    return none_of(
        too_long, f"of {len(lines)} files are too long; the longest is {longest}, {lines[longest]} lines"
    )


def code_lines(folder: str, commit: str = "") -> int:
    """Returns the number of lines of C, C++ and Python that are neither blank nor comments; docstrings count."""
    kinds = {r"^\s*(//|$)": ("*.c", "*.h", "*.cpp", "*.hpp"), r"^\s*(#|$)": ("*.py",)}
    return sum(
        sum(_counts(["-vE", pattern], [f":(glob){folder}/**/{ending}" for ending in endings], commit).values())
        for pattern, endings in kinds.items()
    )


def line_counts() -> Measured:
    before = {folder: sum(file_lines(folder, BASELINE).values()) for folder in COUNTED}
    now = {folder: sum(file_lines(folder).values()) for folder in COUNTED}
    rows = [
        {
            "folder": folder,
            "at the start": before[folder],
            "now": now[folder],
            "code at the start": code_lines(folder, BASELINE),
            "code now": code_lines(folder),
        }
        for folder in COUNTED
    ]
    total_before, total_now = sum(before.values()), sum(now.values())
    each = [
        f"{row['folder']}: {row['at the start']} -> {row['now']}; code without comments and blank lines "
        f"{row['code at the start']} -> {row['code now']}"
        for row in rows
    ]
    text = f"{total_before} lines at {BASELINE}, {total_now} now"
    return Measured("\n".join([text, *each]), total_now < total_before, rows)


def modules(root: Path = ROOT) -> list[Path]:
    """Returns the folders of the modules that src/dependencies.toml states."""
    source = root / "src"
    groups = tomllib.loads((source / "dependencies.toml").read_text())
    return [
        source / group / name if (source / group).is_dir() else source / name
        for group, members in groups.items()
        for name in members
    ]


def readmes() -> Measured:
    found, longest = [], 0
    for module in modules():
        path = module / "README.md"
        if not path.is_file():
            found.append(f"{module.relative_to(ROOT)} has none")
            continue
        lines = len(path.read_text().splitlines())
        longest = max(longest, lines)
        if lines > MAX_README_LINES:
            found.append(f"{path.relative_to(ROOT)}: {lines} lines")
    return none_of(
        found, f"of {len(modules())} modules lack one or exceed the limit; the longest has {longest} lines"
    )


def demo_packages(text: str) -> list[str]:
    """Returns the packages of section [demo] of scripts/packages.txt that the bare system lacks."""
    section, packages = "", []
    for line in text.splitlines():
        word = line.partition("#")[0].strip()
        if match := re.fullmatch(r"\[(\w+)\]", word):
            section = match[1]
        elif word and section == "demo":
            packages.append(word)
    return [name for name in packages if name not in PRESENT_PACKAGES]


def packages() -> Measured:
    names = demo_packages((ROOT / "scripts" / "packages.txt").read_text())
    return Measured(f"{len(names)}: {', '.join(names)}", 0 < len(names) <= MAX_DEMO_PACKAGES)


LINES = [
    Line("types defined twice", "`scripts/types_twice.py` reports nothing", types_twice),
    Line(
        "dependencies",
        "`scripts/modules.py` reports nothing: each dependency is allowed; modules, folders and files form "
        "no circle",
        dependencies,
    ),
    Line("file sizes", f"each file in src has at most {MAX_FILE_LINES:,} lines", sizes),
    Line("line counts", f"{', '.join(COUNTED)} have fewer lines than at {BASELINE}", line_counts),
    Line(
        "READMEs of modules",
        f"each module of src/dependencies.toml has a README.md of at most {MAX_README_LINES} lines",
        readmes,
    ),
    Line(
        "packages of the demo",
        f"scripts/packages.txt states at most {MAX_DEMO_PACKAGES} packages for `make demo`, beside "
        f"{', '.join(sorted(PRESENT_PACKAGES))}",
        packages,
    ),
]
