# SPDX-License-Identifier: Apache-2.0
"""Measures the processor time that Terrace adds to MPI programs (bench/mpi). Criteria of acceptance/mpi."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Criterion, Measured, run

from mpi_lines.jobs import installed

LIMIT = 0.01
PROGRAMS = ("halo:--class,A,--iterations,1500", "lu:--class,W,--iterations,600")
OF_OPEN_MPI = ("lmp",)  # the distribution's package


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.1%}"


def added_time() -> Measured:
    """Compares interleaved runs: without Terrace twice, with the layer and a plan that places nothing, with page
    references."""
    tool: list[str | Path] = [sys.executable, ROOT / "bench" / "mpi" / "cost.py", "--terrace", TERRACE]
    rows: list[dict[str, Any]] = []
    for mpi in installed():
        programs = [*PROGRAMS, *(name for name in OF_OPEN_MPI if mpi == "openmpi" and shutil.which(name))]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "cost.json"
            run([*tool, "--mpi", mpi, "--pairs", str(SETTINGS.pairs), "-o", out, *programs], timeout=7200)
            rows += json.loads(out.read_text())
    judged = [row["added"][name] for row in rows for name in ("layer", "layer and empty plan")]
    holds = all(one["upper"] is not None and one["upper"] <= LIMIT for one in judged)
    text = "; ".join(
        f"{row['mpi']} {row['program']}: "
        + ", ".join(
            f"{name} {one['added']:+.1%} (at most {_share(one['upper'])})" for name, one in row["added"].items()
        )
        for row in rows
    )
    return Measured(text, holds, rows)


CRITERIA = [
    Criterion("added processor time", f"layer, layer and empty plan: at most {LIMIT:.0%} at 95 %", added_time)
]
