"""The source is laid out and written as the house does, and the unit tests run clean under three sanitizers."""

from __future__ import annotations

import re

from harness import ROOT, Line, Measured, run

SANITIZERS = ("asan", "ubsan", "tsan")
HOURS = 4 * 3600.0


def lint() -> Measured:
    done = run(["make", "--no-print-directory", "lint"], check=False, timeout=HOURS)
    output = done.stdout + done.stderr
    counts = {
        what: len(run(["git", "-C", ROOT, "ls-files", *patterns]).stdout.splitlines())
        for what, patterns in {"C and C++": ("*.c", "*.h", "*.cpp", "*.hpp"), "Python": ("*.py", "*.pyi")}.items()
    }
    tidy = re.search(r"clang-tidy: [^\n]*", output)
    lines = [
        f"{' and '.join(f'{count} {what} files' for what, count in counts.items())}: "
        + ("clean" if done.returncode == 0 else "not clean")
        + f"; {tidy[0] if tidy else 'clang-tidy said nothing'}"
    ]
    if done.returncode != 0:
        failed = re.search(r"^lint: (.*)$", output, re.M)
        lines.append(f"with findings: {failed[1] if failed else output.strip().splitlines()[-1]}")
    return Measured("\n".join(lines), done.returncode == 0 and tidy is not None)


def sanitizers() -> Measured:
    """`make sanitize` goes from one to the next, and stops at the first with a failure."""
    done = run(["make", "--no-print-directory", "sanitize"], check=False, timeout=HOURS)
    output = done.stdout + done.stderr
    summaries = re.findall(r"(\d+) tests failed out of (\d+)", output)
    reports = len(re.findall(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:", output))
    lines = [
        f"{kind}: {total} unit tests, {failed} failed"
        for kind, (failed, total) in zip(SANITIZERS, summaries, strict=False)
    ]
    lines += [f"{kind}: not reached" for kind in SANITIZERS[len(summaries) :]]
    skipped = len(re.findall(r"\*\*\*Skipped", output))
    lines.append(f"{reports} reports of the sanitizers, {skipped} tests skipped")
    if done.returncode != 0 and len(summaries) < len(SANITIZERS):
        lines.append((output.strip().splitlines() or ["no output"])[-1])
    clean = all(int(failed) == 0 and int(total) > 100 for failed, total in summaries)
    return Measured("\n".join(lines), done.returncode == 0 and clean and len(summaries) == 3 and reports == 0)


LINES = [
    Line("make lint", "formatters, clang-tidy, ruff, mypy and the command-line page are clean", lint),
    Line("make sanitize", f"the unit tests are clean under {', '.join(SANITIZERS)}", sanitizers),
]
