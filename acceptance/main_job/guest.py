"""CG on real memory of two kinds: in a virtual machine with HMAT tables, the kernel's account against the plan.

The tests in tests/guest boot the guest once and compare; what the guest left is then counted here once more.
"""

from __future__ import annotations

import os
import re
import sys

from harness import ROOT, Line, Measured, Unavailable, run
from terrace.lab import study

from main_job.common import fresh

BUILD = ROOT / "build" / "release"
TESTS = ROOT / "tests" / "guest"


def measure() -> Measured:
    if not (BUILD / "tests/guest/two_nodes_test").exists():
        raise Unavailable("the guest's tests are not built; make build")
    base = fresh("guest")
    done = run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rfs", f"--basetemp={base}", TESTS],
        check=False,
        env={**os.environ, "TERRACE_BUILD": str(BUILD), "TERRACE_SOAK": "soak"},
    )
    summary = (done.stdout.strip().splitlines() or ["no output"])[-1]
    if skipped := re.search(r"no guest here[^\n]*", done.stdout):
        raise Unavailable(skipped[0])
    failed = re.findall(r"^FAILED (\S+)", done.stdout, re.M)
    lines = [summary.strip("= ")]
    lines += [f"failed: {name.rsplit('::', 1)[-1]}" for name in failed]
    sys.path.insert(0, str(TESTS))
    import accounts
    import audit

    counted = 0
    folders = [folder for folder in base.glob("guest*") if (folder / "machine.txt").exists()]
    for folder in folders[:1]:
        for job in ("cg_s", "cg_w"):
            study.check_follows_plan(folder / f"{job}.terrace")
            (dump,) = folder.glob(f"{job}.audit.*")
            samples, about = accounts.read_samples(dump), accounts.read_run(folder / f"{job}.terrace", "cg")
            verdict = audit.check_plan(samples, about, BUILD / f"tests/guest/{job}.toml", home="cxl")
            pages = sum((last - first) // accounts.PAGE for one in samples for first, last, _ in one.runs)
            compared = verdict.exact + verdict.either
            counted += verdict.exact
            lines.append(
                f"CG class {job[-1].upper()}: {len(samples)} starts of phases, {pages} pages read from the "
                f"kernel; {compared} chunks compared ({verdict.either} of them while a move of theirs was under "
                f"way), {len(verdict.problems)} not where the plan has them; {len(about.moves)} chunks moved"
            )
    return Measured("\n".join(lines), done.returncode == 0 and counted > 0 and not failed)


LINES = [
    Line(
        "CG obeys its plan in a guest",
        "2 NUMA nodes, HMAT: at each phase's start the kernel's account of each page equals the plan",
        measure,
    )
]
