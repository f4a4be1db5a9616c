"""Plans on real pages: a guest with several memory nodes, a program without hooks, the kernel's account."""

from __future__ import annotations

import os
from pathlib import Path

from harness import ROOT, Line, Measured, run

PYTHON = ROOT / ".venv" / "bin" / "python"


def _guest(which: str) -> tuple[str, bool]:
    """Runs the guest's tests of that name; returns their summary, and whether all passed."""
    command: list[str | Path] = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-k", which]
    command.append(ROOT / "tests" / "guest")
    done = run(
        command, check=False, timeout=1800, env={**os.environ, "TERRACE_BUILD": str(ROOT / "build" / "release")}
    )
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]])[-1]
    return last, done.returncode == 0 and "passed" in last and "skipped" not in last


def residence() -> Measured:
    """Compares the node of each page with the plan, at phases' starts and inside them."""
    last, passed = _guest("inside_phases or check_timed_plan")
    return Measured(f"cg, mg, hydro, each by timer and by sentinel: {last}", passed)


def both_backends() -> Measured:
    """Compares the order of moves in the journal, simulated and in the guest."""
    last, passed = _guest("on_both_backends or first_difference")
    return Measured(f"cg, mg, hydro, each by timer and by sentinel: {last}", passed)


LINES = [
    Line(
        "residence in the guest", "equals the plan, unhooked, by timer and by sentinel: cg, mg, hydro", residence
    ),
    Line("one plan on both backends", "the same moves in the same order: cg, mg, hydro", both_backends),
]
