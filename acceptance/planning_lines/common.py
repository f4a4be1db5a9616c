"""Programs and sizes that several lines use."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path
from typing import Any

from harness import ROOT, TERRACE, run

Dump = dict[str, Any]

WORK = ROOT / "out" / "acceptance" / "planning.work"

# Each workload at a size that simulates in seconds.
SMALL = {
    "cg": "--class S",
    "mg": "--class S",
    "ft": "--class S",
    "bt": "--class S",
    "sp": "--class S",
    "lu": "--class S",
    "gups": "--size 1MiB --iterations 4",
    "hashjoin": "--tuples 30000 --ratio 4 --iterations 3",
    "mergejoin": "--tuples 30000 --ratio 4 --iterations 3",
    "spmv": "--scale 12 --per-row 12 --iterations 6",
    "graph": "--scale 11 --per-vertex 9 --iterations 6",
    "tensor": "--scale 13 --rank 7 --iterations 10",
    "stencil": "--side 40 --iterations 6",
    "hydro": "--side 40 --steps 20",
    "eddy": "--elements 9 --order 6 --steps 6",
}


def fresh(name: str) -> Path:
    """An empty folder of that name."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@functools.cache
def program(name: str) -> Path:
    """A workload with nothing but CXX changed."""
    folder = WORK / "bin"
    compiler = TERRACE.with_name("terrace-c++")
    run(["sh", ROOT / "workloads" / "build.sh", folder, name], env={**os.environ, "CXX": str(compiler)})
    return folder / name
