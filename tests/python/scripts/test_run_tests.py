"""The counts of scripts/run_tests.py: cases of executables in one process, crashes, tests without cases."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

sys.path.insert(0, str(ROOT / "scripts"))
import run_tests  # noqa: E402

CTEST = """<testsuite name="(empty)">
  <testcase name="one_test" classname="one_test" status="{status}">{failure}</testcase>
  <testcase name="other_test.Suite.Case" classname="other_test.Suite.Case" status="run"/>
  <testcase name="guest" classname="guest" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""
CASES = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="Suite" tests="4">
    <testcase name="Passes" status="run" result="completed" classname="Suite" />
    <testcase name="Skips" status="run" result="skipped" classname="Suite"><skipped message="no"/></testcase>
    <testcase name="DISABLED_Waits" status="notrun" result="suppressed" classname="Suite" />
    <testcase name="Fails" status="run" result="completed" classname="Suite"><failure message="x"/></testcase>
  </testsuite>
</testsuites>"""
PASSED = CASES.replace('<failure message="x"/>', "")
FAILED = '<failure message=""/>'


def count(folder, *, ctest=CTEST, has_failed=False, cases=None):
    """Returns the counts of a build folder in which only one_test runs its cases in one process."""
    (folder / "one_process_tests.txt").write_text("one_test\nsoak.one_test\n")
    status, failure = ("fail", FAILED) if has_failed else ("run", "")
    (folder / "ctest.xml").write_text(ctest.format(status=status, failure=failure))
    if cases is not None:
        (folder / "gtest").mkdir()
        (folder / "gtest" / "one_test.xml").write_text(cases)
    result = run_tests.Count()
    result.add_ctest(folder / "ctest.xml")
    return result


def test_cases_count_in_place_of_their_executable(tmp_path):
    found = count(tmp_path, cases=PASSED)
    assert (found.passed, found.failed, found.skipped) == (3, 0, 3)


def test_failed_case_is_named(tmp_path):
    found = count(tmp_path, has_failed=True, cases=CASES)
    assert (found.passed, found.failed, found.skipped) == (2, 1, 3)
    assert found.failures == ["one_test.Suite.Fails"]


@pytest.mark.parametrize("has_failed", [True, False])
@pytest.mark.parametrize("cases", [None, CASES[:200]])
def test_executable_without_its_cases_has_failed(tmp_path, has_failed, cases):
    """Also one whose process ended with status 0 before its last case."""
    found = count(tmp_path, has_failed=has_failed, cases=cases)
    assert (found.passed, found.failed, found.skipped) == (1, 1, 1)
    assert found.failures == ["one_test (ended before its last case)"]


def test_failure_after_the_last_case_counts(tmp_path):
    found = count(tmp_path, has_failed=True, cases=PASSED)
    assert (found.passed, found.failed, found.skipped) == (3, 1, 3)
    assert found.failures == ["one_test (failed outside of its cases)"]


def test_missing_report_counts_as_failure(tmp_path):
    found = run_tests.Count()
    found.add_ctest(tmp_path / "ctest.xml")
    found.add(tmp_path / "pytest.xml")
    assert found.failures == ["ctest.xml is missing", "pytest.xml is missing"]
