"""Against brute force, under churn, and what the programs compute."""

from __future__ import annotations

import platform
from pathlib import Path

from harness import ROOT, Line, Measured, run

from pim_lines.figures import BUILD, built

UNIT = Path("tests") / "unit" / "pim"
HOURS = 4 * 3600.0
SEQUENTIAL = 1_000_000
CONCURRENT = 100_000
OPERATIONS = 100_000_000
CHECKED_OPERATIONS = 1_000_000


def _ends_well(*command: str | Path) -> Measured:
    done = run(command, check=False, timeout=HOURS)
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    return Measured(" ".join(last) or f"ended with {done.returncode}, silently", done.returncode == 0)


def brute_force() -> Measured:
    return _ends_well(
        built(BUILD / UNIT / "pim_histories"), "--sequential", str(SEQUENTIAL), "--concurrent", str(CONCURRENT)
    )


def churn() -> Measured:
    return _ends_well(built(BUILD / UNIT / "pim_churn"), "--operations", str(OPERATIONS))


def churn_checked() -> Measured:
    run(["cmake", "--preset", "tsan"])
    run(["cmake", "--build", "--preset", "tsan", "--target", "pim_churn"], timeout=HOURS)
    # gcc 12's thread sanitizer does not know the address ranges of kernels with 32 bits of randomisation.
    fixed = ("setarch", platform.machine(), "--addr-no-randomize")
    program = ROOT / "build" / "tsan" / UNIT / "pim_churn"
    return _ends_well(*fixed, program, "--operations", str(CHECKED_OPERATIONS))


def programs() -> Measured:
    return _ends_well(built(BUILD / UNIT / "pim_programs_test"))


LINES = [
    Line(
        "brute force",
        f"{SEQUENTIAL:,} sequential and {CONCURRENT:,} concurrent random histories agree with it",
        brute_force,
    ),
    Line("churn", f"{OPERATIONS:,} operations of several threads: no overlap, all accounts right", churn),
    Line("churn, thread sanitizer", f"{CHECKED_OPERATIONS:,} operations without a report", churn_checked),
    Line("AXPY, SHA-1, join", "compute in memory what is computed without it", programs),
]
