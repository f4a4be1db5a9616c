# SPDX-License-Identifier: Apache-2.0
"""Limits of the tree: sizes of files and of modules' READMEs, packages of the demo, words without allowances."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MAX_FILE_LINES, MAX_README_LINES, MAX_DEMO_PACKAGES = 1000, 60, 20
PRESENT_PACKAGES = {"g++", "make", "python3"}  # a bare system has them


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def test_source_files_are_short():
    listed = subprocess.run(["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert files
    assert [path for path in files if lines_of(path) > MAX_FILE_LINES] == []


def test_each_module_has_a_short_readme():
    groups = tomllib.loads((ROOT / "src" / "dependencies.toml").read_text())
    del groups["public"]  # headers in include/terrace, which docs/reference describes
    for group, members in groups.items():
        for name in members:
            folder = ROOT / "src" / group / name if (ROOT / "src" / group).is_dir() else ROOT / "src" / name
            assert lines_of(folder / "README.md") <= MAX_README_LINES, folder


def test_demo_needs_few_packages():
    text = (ROOT / "scripts" / "packages.txt").read_text()
    demo = re.search(r"^\[demo\].*?(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    words = [line.partition("#")[0].strip() for line in demo[0].splitlines()[1:]]
    assert 0 < len({*words} - {""} - PRESENT_PACKAGES) <= MAX_DEMO_PACKAGES


def test_no_folder_has_an_allowance_of_words():
    assert tomllib.loads((ROOT / "scripts" / "words.toml").read_text()) == {}


def test_no_limit_is_called_most_or_least():
    words = ["git", "grep", "-hE", "k_(most|least)", "--", ".", ":!tests/python/data/names_of_*"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    aliases = [line for line in done.stdout.splitlines() if line.endswith(";  // former name")]
    assert done.stdout.splitlines() == aliases
    assert len(aliases) == 1  # in include/terrace/stencil/grid.hpp
