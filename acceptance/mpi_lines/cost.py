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
LIMIT_CALL = 60.0  # ns
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
    shown = [
        {
            "mpi": row["mpi"],
            "program": row["program"],
            "with": name,
            "added": f"{one['added']:+.1%}",
            "at_most": _share(one["upper"]),
        }
        for row in rows
        for name, one in row["added"].items()
    ]
    return Measured(text, holds, shown)


def time_of_call() -> Measured:
    """Compares the time of a call that only asks, and of a send, whose phases are followed."""
    tool: list[str | Path] = [sys.executable, ROOT / "bench" / "mpi" / "cost.py", "--terrace", TERRACE, "--calls"]
    rows: list[dict[str, Any]] = []
    for mpi in installed():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "calls.json"
            run([*tool, "--mpi", mpi, "--pairs", str(min(SETTINGS.pairs, 9)), "-o", out], timeout=3600)
            rows += json.loads(out.read_text())
    judged = [row["added_ns"][name] for row in rows for name in ("layer", "layer and empty plan")]
    holds = bool(judged) and all(time <= LIMIT_CALL for one in judged for time in one.values())
    text = "; ".join(
        f"{row['mpi']}: "
        + ", ".join(
            f"{name} {one['MPI_Comm_rank']:.0f} and {one['MPI_Send']:.0f} ns"
            for name, one in row["added_ns"].items()
        )
        for row in rows
    )
    shown = [
        {"mpi": row["mpi"], "with": name, **{call: f"{time:.0f} ns" for call, time in one.items()}}
        for row in rows
        for name, one in row["added_ns"].items()
    ]
    return Measured(text, holds, shown)


CRITERIA = [
    Criterion(
        "time of a call",
        f"MPI_Comm_rank and MPI_Send, layer, layer and empty plan: {LIMIT_CALL:.0f} ns",
        time_of_call,
    ),
    Criterion("added processor time", f"layer, layer and empty plan: at most {LIMIT:.0%} at 95 %", added_time),
]
