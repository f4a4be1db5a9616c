"""What runs over a file say of their own gain, against what `terrace compare` measures.

Ten programs, at half of what they hold.
"""

from __future__ import annotations

import functools
import json
import tempfile
from typing import Any

from harness import ROOT, TERRACE, Line, Measured, keep_part, run

from programs_lines.cases import chosen_names
from programs_lines.runs import forget, ran, scratch

WORKLOADS = ROOT / "build" / "release" / "workloads"
MIB = 1 << 20
LEAST = 64 * MIB  # that --memory takes
POINTS = 0.05
PROGRAMS = {
    "mg": "--class B --iterations 5",
    "ft": "--class A --iterations 3",
    "hydro": "--side 1400 --steps 6",
    "stencil": "--side 256 --iterations 8",
    "spmv": "--scale 20 --iterations 8",
    "sort": "--keys 14000000 --iterations 1",
    "stream": "--size 128MiB --repetitions 16",
    "sp": "--class B --iterations 3",
    "tensor": "--scale 22 --iterations 2",
    "cg": "--class B --iterations 3",
}

Row = dict[str, Any]


def _measured(name: str) -> Row:
    command = [str(WORKLOADS / name), *PROGRAMS[name].split()]
    plain = ran(command, None, {})
    forget(plain)
    if plain.status != 0:
        raise RuntimeError(f"{name} ends with {plain.status}: {plain.err.strip()[-200:]}")
    memory = max(plain.peak // 2, LEAST)
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="terrace-programs-") as folder:
        words = [str(TERRACE), "compare", "--json", "--memory", str(memory), "--spill", folder, "--", *command]
        found = json.loads(run(words, timeout=3600).stdout)
    return {
        "program": name,
        "holds": plain.peak,
        "memory": memory,
        "pairs": found["pairs"],
        "without": found["without"]["median_s"],
        "with": found["with"]["median_s"],
        "gain": found["gain"],
        "low": found["low"],
        "high": found["high"],
        "beyond_noise": found["beyond_noise"],
        "predicted": found["predicted_gain"],
    }


def _all() -> Measured:
    run(["cmake", "--build", "--preset", "release", "--target", "benchmarks"], timeout=3600)
    rows = [
        keep_part(f"predicted-{name}", functools.partial(_measured, name), timed=True)
        for name in chosen_names(PROGRAMS)
    ]
    off = {row["program"]: abs(row["predicted"] - row["gain"]) for row in rows if row["predicted"] is not None}
    far = [name for name, points in off.items() if points > POINTS]
    wrong = [
        row["program"]
        for row in rows
        if row["beyond_noise"] and (row["predicted"] is None or row["predicted"] * row["gain"] <= 0)
    ]
    worst = max(off, key=lambda name: off[name], default="none")
    text = f"{len(off) - len(far)} of {len(rows)} within {100 * POINTS:.0f} points; the worst {worst}, "
    text += f"{100 * off.get(worst, 0):.0f} points; sign wrong: {', '.join(wrong) or 'none'}"
    shown = [
        {
            "program": row["program"],
            "holds_mib": row["holds"] // MIB,
            "memory_mib": row["memory"] // MIB,
            "in_memory_s": f"{row['without']:.2f}",
            "over_file_s": f"{row['with']:.2f}",
            "gain": f"{row['gain']:+.1%}",
            "interval": f"{row['low']:+.1%} to {row['high']:+.1%}" if row["low"] is not None else "",
            "predicted": f"{row['predicted']:+.1%}" if row["predicted"] is not None else "not said",
            "pairs": row["pairs"],
        }
        for row in rows
    ]
    return Measured(text, len(off) == len(rows) and not far and not wrong, shown)


LINES = [
    Line(
        "predicted gain",
        "ten programs over a file, half of their memory: what runs say themselves is within 5 points of what "
        "`compare` measures, and its sign is right beyond noise",
        _all,
    )
]
