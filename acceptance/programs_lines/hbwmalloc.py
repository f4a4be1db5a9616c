"""The library with memkind's names: each function that the manual of hbwmalloc.h has is exported, and tested.

That a function is tested is shown by breaking it: a library that stands before Terrace's (hbw_witness.c) answers
for one function other than the manual says, and the test has to see that.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness import ROOT, Line, Measured, keep_part, run

_HERE = Path(__file__).parent
BUILD = ROOT / "build" / "release"
LIBRARY = BUILD / "src" / "agent" / "libterrace-hbw.so"
TEST = BUILD / "tests" / "integration" / "hbw_calls"
INCLUDE = ROOT / "include" / "terrace"
POLICIES = ("preferred", "bind", "bind_all", "interleave")
FAST = {"MEMKIND_HBW_NODES": "0"}  # the only node that each machine has
Row = dict[str, Any]


def manual() -> list[str]:
    """Returns the functions that the manual lists."""
    lines = (_HERE / "hbwmalloc.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def _declared() -> list[str]:
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "hbwmalloc.h").read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r"\b(hbw_\w+)\(", text)


def _exported() -> list[str]:
    return [line.split()[-1] for line in run(["nm", "-D", "--defined-only", LIBRARY]).stdout.splitlines()]


def _ended(policy: str, witness: Path, env: Mapping[str, str]) -> int:
    """Returns the test's exit status, below 0 for a signal."""
    done = subprocess.run(
        [TEST, policy, "0"],
        env={**os.environ, **FAST, **env, "LD_PRELOAD": str(witness)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=600,
    )
    return done.returncode


def called(counts: str) -> Counter[str]:
    """Calls of each function, from the lines that all processes of a test have left."""
    found: Counter[str] = Counter()
    for line in counts.splitlines():
        name, count = line.split()
        found[name] += int(count)
    return found


def _measured() -> Row:
    targets = ["terrace_hbw", "hbw_calls"]
    run(["cmake", "--build", "--preset", "release", "--target", *targets], timeout=3600)
    with tempfile.TemporaryDirectory(prefix="terrace-programs-") as name:
        witness, counts = Path(name) / "witness.so", Path(name) / "counts"
        source = _HERE / "hbw_witness.c"
        run(["cc", "-O1", "-shared", "-fPIC", "-I", INCLUDE, source, "-o", witness])
        statuses = {policy: _ended(policy, witness, {"HBW_COUNTS": str(counts)}) for policy in POLICIES}
        calls = called(counts.read_text()) if counts.exists() else {}
        broken = {one: _ended(POLICIES[0], witness, {"HBW_WRONG": one}) for one in manual()}
    return {
        "exported": _exported(),
        "declared": _declared(),
        "statuses": statuses,
        "calls": calls,
        "broken": broken,
    }


def wrong(found: Row, listed: Iterable[str]) -> list[str]:
    """Describes the shortfalls from the functions that the manual lists."""
    texts = []
    for what in ("exported", "declared"):
        if sorted(found[what]) != sorted(listed):
            apart = sorted({*found[what]} ^ {*listed})
            texts.append(f"{what} are other functions than the manual's: {', '.join(apart) or 'one twice'}")
    texts += [f"the test fails: {policy}, {status}" for policy, status in found["statuses"].items() if status]
    texts += [f"{one}: no test calls it" for one in listed if not found["calls"].get(one)]
    texts += [
        f"{one}: the test does not see that it is broken" for one in listed if found["broken"].get(one, 0) == 0
    ]
    return texts


def _all() -> Measured:
    found: Row = keep_part("hbwmalloc", _measured)
    listed = manual()
    texts = wrong(found, listed)
    seen = sum(found["broken"][one] != 0 for one in listed)
    text = [
        f"{len(listed)} functions in the manual, {len(found['exported'])} exported; called "
        f"{sum(found['calls'].get(one, 0) > 0 for one in listed)}, seen when broken {seen}; "
        f"policies: {', '.join(POLICIES)}",
    ]
    rows = [
        {
            "function": one,
            "exported": "yes" if one in found["exported"] else "no",
            "calls": found["calls"].get(one, 0),
            "broken": "seen" if found["broken"][one] else "not seen",
        }
        for one in listed
    ]
    return Measured("\n".join([*text, *texts]), not texts, rows)


LINES = [
    Line(
        "hbwmalloc",
        "the library has the functions of memkind's hbwmalloc(3) and no others; the test of each passes, and "
        "fails where that function is broken",
        _all,
    )
]
