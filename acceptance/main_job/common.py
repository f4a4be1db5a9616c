"""Programs that several lines run: built once, in out/acceptance."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from harness import ROOT, TERRACE, run

WORK = ROOT / "out" / "acceptance" / "main-job.work"
BIN = TERRACE.parent


@functools.cache
def workload(name: str, hooked: bool) -> Path:
    """A workload built natively or with nothing but CXX changed."""
    folder = WORK / ("hooked" if hooked else "native")
    compiler = str(BIN / "terrace-c++") if hooked else "c++"
    run([ROOT / "workloads" / "build.sh", folder, name], env={**os.environ, "CXX": compiler})
    return folder / name


def machines() -> list[str]:
    """The shipped machine files' names."""
    return sorted(path.stem for path in (ROOT / "machines").glob("*.toml"))
