"""Ways in: the wheel, the Debian package with its manual pages, and the other installed copies, each used where
nothing else of Terrace is. The tests of `ctest -L install` do it; what one of them skipped was not shown.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from harness import ROOT, Line, Measured, keep_part, run

from programs_lines.cases import chosen_names

BUILD = ROOT / "build" / "release"
PASSED = "passed"
# Claims of the tests, by name; all of them have to be present.
SHOWN = {
    "install.wheel": "pip installs the wheel into a bare Debian with Python; launcher, verbs, a simulated program",
    "install.deb": "apt installs the package into a bare Debian; verbs, man, completion, a program built",
    "install.pip": "`pip install .` from the source tree",
    "install.all_through_cmake": "find_package finds an installed copy",
    "install.core_through_cmake": "find_package finds the library alone",
    "install.pkg_config": "a program is built with what pkg-config says",
    "install.hooks_pkg_config": "a program with hooks is built with what pkg-config says",
    "install.pim": "the library for memories that compute",
    "install.stencil": "the library for stencils: a program through CMake and pkg-config; checks; two ranks",
    "install.stencil_headers": "the same with clang, and each of its headers by itself",
    "install.stencil_hdf5": "files and checkpoints of stencil programs, through CMake and pkg-config",
}

Row = dict[str, Any]


def outcomes(report: str) -> dict[str, Row]:
    """Returns the outcome of each test of a report by `ctest --output-junit`, with the reason of skips or its last
    line."""
    found = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        said = (case.findtext("system-out") or "").strip().splitlines()
        skipped = case.find("skipped") is not None
        failed = case.find("failure") is not None or case.get("status") != "run"
        why = next((line for line in said if line.startswith("skipped: ")), said[-1] if said else "")
        found[case.get("name", "")] = {
            "ended": "skipped" if skipped else "failed" if failed else PASSED,
            "why": why[:160] if skipped or failed else "",
            "seconds": float(case.get("time") or 0),
        }
    return found


def _measured(name: str) -> Row:
    with tempfile.TemporaryDirectory(prefix="terrace-programs-") as folder:
        report = Path(folder) / "report.xml"
        words = ["ctest", "--test-dir", BUILD, "-L", "install", "-R", f"^{name}$", "--output-junit", report]
        subprocess.run([str(word) for word in words], capture_output=True, timeout=3600)
        known = outcomes(report.read_text(encoding="utf-8")) if report.exists() else {}
    return known.get(name, {"ended": "not there", "why": "no such test in this build", "seconds": 0.0})


def _all() -> Measured:
    run(["cmake", "--build", "--preset", "release"], timeout=7200)
    found: dict[str, Row] = {
        name: keep_part(f"ways-in-{name}", functools.partial(_measured, name)) for name in chosen_names(SHOWN)
    }
    short = [name for name, row in found.items() if row["ended"] != PASSED]
    text = [f"{len(found) - len(short)} of {len(found)} passed"]
    for name, row in found.items():
        why = f": {row['why']}" if row["why"] else ""
        text.append(f"{name} {row['ended']}, {row['seconds']:.0f} s{why} ({SHOWN[name]})")
    rows = [
        {"test": name, "shows": SHOWN[name], "ended": row["ended"], "why": row["why"]}
        for name, row in found.items()
    ]
    return Measured("\n".join(text), bool(found) and not short, rows)


LINES = [
    Line(
        "ways in",
        "wheel, Debian package and manual pages are installed and used in a bare chroot, and the other installed "
        "copies by themselves; none skipped",
        _all,
    )
]
