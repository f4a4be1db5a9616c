# SPDX-License-Identifier: Apache-2.0
"""Measures the processor time that Terrace adds to MPI programs (bench/mpi). Criteria of acceptance/mpi."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from harness import ROOT, SETTINGS, TERRACE, Criterion, Measured, run

from mpi_lines.jobs import installed

LIMIT = 0.01
PROGRAMS = ("halo:--class,A,--iterations,300", "cg:--class,W,--iterations,300")


def added_time() -> Measured:
    """Compares interleaved runs: without Terrace twice, with the layer and a plan that places nothing, with page
    references."""
    mpis = [word for name in installed() for word in ("--mpi", name)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cost.json"
        tool: list[str | Path] = [sys.executable, ROOT / "bench" / "mpi" / "cost.py", "--terrace", TERRACE, *mpis]
        run([*tool, "--pairs", str(SETTINGS.pairs), "-o", out, *PROGRAMS], timeout=3600)
        rows = json.loads(out.read_text())
    layer = [row["added"]["layer and empty plan"] for row in rows]
    holds = all(one["upper"] <= LIMIT for one in layer)
    text = "; ".join(
        f"{row['mpi']} {row['program']}: "
        + ", ".join(
            f"{name} {one['mean']:+.1%} (at most {one['upper']:+.1%})" for name, one in row["added"].items()
        )
        for row in rows
    )
    return Measured(text, holds, rows)


CRITERIA = [Criterion("added processor time", f"layer and empty plan: at most {LIMIT:.0%} at 95 %", added_time)]
