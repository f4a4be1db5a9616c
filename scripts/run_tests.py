# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of ctest and of pytest, and prints one line with the counts of all.

Without --soak it excludes tests labelled or marked soak, which are long runs of short tests.

Both runners print as usual; the counts come from the JUnit files that both write. The exit status is 1 if a
test failed, or if there was none.
"""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

PYTEST_NO_TESTS = 5


@dataclass
class Count:
    """Counts of test results."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, report: Path) -> None:
        """Adds the cases of a JUnit file; a missing file counts as one failure."""
        if not report.exists():
            self.failed += 1
            return
        for suite in ElementTree.parse(report).iter("testsuite"):
            cases = suite.findall("testcase")
            failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
            skipped = sum(1 for case in cases if case.find("skipped") is not None)
            self.failed += failed
            self.skipped += skipped
            self.passed += len(cases) - failed - skipped


def run_ctest(build: Path, jobs: int, report: Path, soak: bool) -> int:
    """Runs the tests registered with ctest; with `soak` only those with that label. Returns the exit status."""
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", build, "--output-on-failure", "--progress"]
    command += ["-j", str(jobs + 1)]  # one more than processors: some tests wait for I/O
    command += ["-L" if soak else "-LE", "^soak$"]
    if not sys.stdout.isatty():
        command.remove("--progress")
    return subprocess.run([*command, "--output-junit", report.resolve()]).returncode


def run_pytest(jobs: int, report: Path, soak: bool) -> int:
    """Runs the Python tests on the installed copy; with `soak` only those marked. Returns 0 if there are none."""
    report.unlink(missing_ok=True)
    marked = ["-m", "soak" if soak else "not soak"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "--dist", "loadfile", f"--junitxml={report}"]
    status = subprocess.run([*command, *marked]).returncode
    return 0 if status == PYTEST_NO_TESTS else status


def main() -> int:
    """Runs both, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="CMake's build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--soak", action="store_true", help="run only the long tests")
    arguments = parser.parse_args()

    reports = {"ctest": arguments.build / "ctest.xml", "pytest": arguments.build / "pytest.xml"}
    statuses = {
        "ctest": run_ctest(arguments.build, arguments.jobs, reports["ctest"], arguments.soak),
        "pytest": run_pytest(arguments.jobs, reports["pytest"], arguments.soak),
    }
    count = Count()
    for report in reports.values():
        count.add(report)
    for runner, status in statuses.items():
        if status != 0:
            print(f"{runner} ended with status {status}")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or count.passed == 0 or any(statuses.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
