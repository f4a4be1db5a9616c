"""The line of the ways in: how ctest's report tells what passed, and that all of its tests are in the line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "acceptance"))

from programs_lines import ways_in  # noqa: E402

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="1" disabled="0" skipped="1">
  <testcase name="install.a" classname="install.a" time="1.5" status="run"><system-out>fine</system-out></testcase>
  <testcase name="install.b" classname="install.b" time="0.1" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/><system-out>begun
skipped: debootstrap is not installed
</system-out></testcase>
  <testcase name="install.c" classname="install.c" time="2" status="fail">
    <failure message=""/><system-out>one
the wheel has no bin</system-out></testcase>
  <testcase name="install.d" classname="install.d" time="0" status="disabled"></testcase>
</testsuite>"""


def test_outcomes_are_distinguished():
    found = ways_in.outcomes(REPORT)
    assert {name: (row["ended"], row["why"]) for name, row in found.items()} == {
        "install.a": ("passed", ""),
        "install.b": ("skipped", "skipped: debootstrap is not installed"),
        "install.c": ("failed", "the wheel has no bin"),
        "install.d": ("failed", ""),
    }


def test_shown_lists_every_install_test():
    text = (ROOT / "tests" / "install" / "CMakeLists.txt").read_text()
    named = re.findall(r"^\s*terrace_install_test\((\w+) ", text, re.M)
    assert {f"install.{name}" for name in named} == set(ways_in.SHOWN)
