"""Runs NumPy's own tests of its core with every array allocated by intent; results must equal those without. A
criterion of acceptance/programs."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import SETTINGS, TERRACE, Criterion, Measured, keep_part, run

from programs_lines.arrays_suite import HANDLER, INTENT, PLAIN
from programs_lines.needed import require
from programs_lines.runs import scratch

_HERE = Path(__file__).parent
ALONE, UNDER = "handler alone", "handler under terrace run"
WAYS = (PLAIN, UNDER, ALONE)
MIN_TESTS = 10_000  # of the whole suite; fewer were not all collected
MIN_BLOCKS = 10_000  # that the handler was asked for
_PLACED = f"of data by {INTENT}"
OTHERS = 0.01  # share of the tests that may begin with another handler: those that set one for what follows
_NEEDED = ("cc", "meson", "ninja")  # tests of handlers build an extension
_ALL = ("numpy._core",)
_FEW = tuple(f"numpy._core.tests.test_{name}" for name in ("indexing", "item_selection", "mem_policy"))

Row = dict[str, Any]


def _memory() -> str:
    """Returns the memory limit of the tests, the same for all ways: tests that need more skip themselves."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    (available,) = (int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return f"{available // 2 // 2**20} GiB"


def _ran(way: str, folder: Path, memory: str) -> Row:
    """Runs the suite in one way in a process of its own, and returns its account."""
    account = folder / f"{way}.json"
    prefix = [TERRACE, "run", "-o", folder / "kept.terrace", "--"] if way == UNDER else []
    suite = [_HERE / "arrays_suite.py", PLAIN if way == PLAIN else HANDLER, account, folder / "witness.so"]
    words = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--pyargs", *(_ALL if SETTINGS.size >= 1 else _FEW)]
    done = subprocess.run(
        [str(word) for word in (*prefix, sys.executable, *suite, *words)],
        cwd=folder,
        env={**os.environ, "NPY_AVAILABLE_MEM": memory, "PYTHONHASHSEED": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=7200,
    )
    if done.returncode != 0 or not account.exists():
        raise RuntimeError(f"{way} ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    said = [line for line in done.stderr.splitlines() if line.startswith("terrace: ")]
    return {**json.loads(account.read_text(encoding="utf-8")), "said": said}


def differences(plain: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Describes tests with another outcome, or in only one of the runs."""
    return [
        f"{name}: {plain.get(name, 'not run')} became {other.get(name, 'not run')}"
        for name in sorted({*plain, *other})
        if plain.get(name) != other.get(name)
    ]


def _measured() -> Row:
    """Runs the tests in each way; returns their results without the tests' names."""
    require(_NEEDED)
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="terrace-programs-") as name:
        folder = Path(name)
        run(["cc", "-O2", "-shared", "-fPIC", _HERE / "arrays_witness.c", "-o", folder / "witness.so"])
        memory = _memory()
        found = {way: _ran(way, folder, memory) for way in WAYS}
    plain = found[PLAIN]["outcomes"]
    return {
        "memory": memory,
        "is_whole": SETTINGS.size >= 1,
        "ways": {
            way: {
                **{key: value for key, value in row.items() if key != "outcomes"},
                "tests": len(row["outcomes"]),
                "ended": dict(collections.Counter(row["outcomes"].values())),
                "differ": differences(plain, row["outcomes"]),
            }
            for way, row in found.items()
        },
    }


def wrong(found: Row) -> list[str]:
    """Describes where NumPy's tests fell short: too few, other outcomes, or an inactive handler."""
    texts = []
    plain = found["ways"][PLAIN]
    if found["is_whole"] and plain["tests"] < MIN_TESTS:
        texts.append(f"only {plain['tests']} tests were run")
    if plain["counts"][0]:
        texts.append("the handler was asked in the plain run")
    for way in (UNDER, ALONE):
        row = found["ways"][way]
        began = row["handlers"].get(f"terrace_{INTENT}", 0)
        if row["differ"]:
            texts.append(f"{way}: {len(row['differ'])} tests ended otherwise")
            texts += [f"  {one}" for one in row["differ"][:5]]
        if began < (1 - OTHERS) * sum(row["handlers"].values()) or began == 0:
            texts.append(f"{way}: the handler was not the active one: {row['handlers']}")
        if row["counts"][0] < MIN_BLOCKS:
            texts.append(f"{way}: the handler was asked for {row['counts'][0]} blocks only")
        if row["under_terrace"] != (way == UNDER):
            texts.append(f"{way}: Terrace was{'' if row['under_terrace'] else ' not'} in the process")
    if not any(_PLACED in line for line in found["ways"][UNDER]["said"]):
        texts.append(f"{UNDER}: Terrace placed nothing by {INTENT}")
    return texts


def _all() -> Measured:
    """Compares how NumPy's tests ended in each way, and whether Terrace's handler was active."""
    found: Row = keep_part("arrays-suite", _measured)
    texts = wrong(found)
    plain, under = found["ways"][PLAIN], found["ways"][UNDER]
    ended = ", ".join(f"{count} {word}" for word, count in sorted(plain["ended"].items(), key=lambda one: -one[1]))
    text = [f"NumPy {plain['numpy']}, {plain['tests']} tests ({ended}), to hold at most {found['memory']}"]
    for way in (UNDER, ALONE):
        row = found["ways"][way]
        began = row["handlers"].get(f"terrace_{INTENT}", 0)
        text.append(
            f"{way}: {len(row['differ'])} ended otherwise; the handler was active as {began} of "
            f"{sum(row['handlers'].values())} began, was asked for {row['counts'][0]} blocks, {row['counts'][1]} "
            "of 64 KiB and more"
        )
    text += [line for line in under["said"] if _PLACED in line]
    rows = [
        {
            "way": way,
            "tests": row["tests"],
            "ended": "; ".join(f"{word}: {count}" for word, count in row["ended"].items()),
            "otherwise": len(row["differ"]),
            "blocks": row["counts"][0],
            "large_blocks": row["counts"][1],
        }
        for way, row in found["ways"].items()
    ]
    return Measured("\n".join([*text, *texts]), not texts, rows)


CRITERIA = [
    Criterion(
        "NumPy's own tests",
        "all of its core's tests end one by one as without, with Terrace's handler active for the whole run: "
        "under `terrace run`, and without it",
        _all,
    )
]
