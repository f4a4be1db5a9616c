# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of ctest and of pytest, and prints one line with the counts of all, for `make test` and `make
soak`.

Without --soak it excludes tests labelled or marked soak, which are long runs of short tests.

Both runners print as usual; the counts come from the JUnit files that both write. A test of ctest that runs all
cases of a GoogleTest executable in one process counts as its cases, which the executable writes to
gtest/NAME.xml in the build folder. The exit status is 1 if a test failed, or if there was none.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

PYTEST_NO_TESTS = 5
# The tests of ctest that run all cases of an executable, by name; tests/CMakeLists.txt writes it.
ONE_PROCESS_TESTS = "one_process_tests.txt"


def has_failed(case: ElementTree.Element) -> bool:
    """Returns whether a case of a JUnit file failed."""
    return case.find("failure") is not None or case.find("error") is not None


@dataclass
class Count:
    """Counts of test results, and the names of failed tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def add_failure(self, name: str) -> None:
        """Counts a failed test."""
        self.failed += 1
        self.failures.append(name)

    def add_cases(self, cases: list[ElementTree.Element], prefix: str = "") -> None:
        """Counts cases of a JUnit file. Failed ones are named PREFIX.CLASS.NAME, without a repeated CLASS."""
        for case in cases:
            if has_failed(case):
                name, group = case.get("name", ""), case.get("classname", "")
                self.add_failure(".".join(part for part in (prefix, "" if group == name else group, name) if part))
            elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed"):
                self.skipped += 1
            else:
                self.passed += 1

    def add(self, report: Path) -> None:
        """Adds the cases of a JUnit file; a missing file counts as one failure."""
        if not report.exists():
            self.add_failure(f"{report.name} is missing")
            return
        self.add_cases(list(ElementTree.parse(report).iter("testcase")))

    def add_ctest(self, report: Path) -> None:
        """Adds the tests of ctest's JUnit file; of executables that run in one process it adds the cases."""
        if not report.exists():
            self.add_failure(f"{report.name} is missing")
            return
        listed = report.parent / ONE_PROCESS_TESTS
        in_one_process = set(listed.read_text().split()) if listed.exists() else set()
        for test in ElementTree.parse(report).iter("testcase"):
            name = test.get("name", "")
            if name in in_one_process:
                self.add_executable(test, report.parent / "gtest" / f"{name}.xml")
            else:
                self.add_cases([test])

    def add_executable(self, test: ElementTree.Element, cases: Path) -> None:
        """Adds the cases of an executable, and a failure if it ended before its last case or failed outside."""
        name = test.get("name", "")
        try:
            found = list(ElementTree.parse(cases).iter("testcase"))
        except (OSError, ElementTree.ParseError):
            self.add_failure(f"{name} (ended before its last case)")
            return
        if not found:
            self.add_failure(f"{name} (has no cases)")
        self.add_cases(found, name)
        if has_failed(test) and not any(has_failed(case) for case in found):
            self.add_failure(f"{name} (failed outside of its cases)")


def run_ctest(build: Path, jobs: int, report: Path, soak: bool) -> int:
    """Runs the tests registered with ctest; with `soak` only those with that label. Returns the exit status."""
    report.unlink(missing_ok=True)
    shutil.rmtree(build / "gtest", ignore_errors=True)
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
    # One more worker than processors: some tests wait. Files begin in the order of tests/python/conftest.py.
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs + 1), "--dist", "loadfile"]
    command += ["--no-loadscope-reorder", f"--junitxml={report}"]
    status = subprocess.run([*command, *marked]).returncode
    return 0 if status == PYTEST_NO_TESTS else status


def main() -> int:
    """Runs ctest and pytest, and prints the counts of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="CMake's build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--soak", action="store_true", help="run only the long tests")
    arguments = parser.parse_args()

    # A background job of a script ignores these, and so would all programs that tests start and interrupt.
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    reports = {"ctest": arguments.build / "ctest.xml", "pytest": arguments.build / "pytest.xml"}
    statuses = {
        "ctest": run_ctest(arguments.build, arguments.jobs, reports["ctest"], arguments.soak),
        "pytest": run_pytest(arguments.jobs, reports["pytest"], arguments.soak),
    }
    count = Count()
    count.add_ctest(reports["ctest"])
    count.add(reports["pytest"])
    for name in count.failures:
        print(f"failed: {name}")
    for runner, status in statuses.items():
        if status != 0:
            print(f"{runner} ended with status {status}")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or count.passed == 0 or any(statuses.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
