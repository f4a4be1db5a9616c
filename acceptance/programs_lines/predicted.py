"""Compares gains that out-of-core runs report with those that `terrace compare` measures, and forecasts of time
with the measured time. Criteria of acceptance/programs.

Ten programs run at half of their footprint. A run computes its reported gain from the time that it lost, at its
end. Its forecasts are made before: how long a thread will take for a segment of touches that it has made before.
They are summed over the run and compared with the measured time of the same segments. A repetition is a run.
"""

from __future__ import annotations

import functools
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from harness import ROOT, TERRACE, Criterion, Measured, keep_part, run

from programs_lines.cases import chosen_names
from programs_lines.runs import forget, ran, scratch

WORKLOADS = ROOT / "build" / "release" / "workloads"
MIB = 1 << 20
MIN = 64 * MIB  # that --memory takes
POINTS = 0.05
NEAR = 0.25  # of what was measured: a forecast that is off by no more
MIN_SHARE = 0.9  # of a program's runs whose forecasts are near
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

_FORECAST = ("predicted_s", "measured_s")

Row = dict[str, Any]


def _measured(name: str) -> Row:
    """Runs a program at half of its footprint under `terrace compare`; returns reported and measured gains."""
    command = [str(WORKLOADS / name), *PROGRAMS[name].split()]
    plain = ran(command, None, {})
    forget(plain)
    if plain.status != 0:
        raise RuntimeError(f"{name} ends with {plain.status}: {plain.err.strip()[-200:]}")
    memory = max(plain.peak // 2, MIN)
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
        "turns": [
            {"seconds": seconds, **{key: (account.get("over_file") or {}).get(key, 0.0) for key in _FORECAST}}
            for seconds, account in zip(found["with"]["times_s"], found["with"]["accounts"], strict=True)
        ],
    }


@functools.cache
def _found() -> list[Row]:
    run(["cmake", "--build", "--preset", "release", "--target", "benchmarks"], timeout=3600)
    return [
        keep_part(f"predicted-{name}", functools.partial(_measured, name), timed=True)
        for name in chosen_names(PROGRAMS)
    ]


def _all() -> Measured:
    """Judges the reported gains by their distance from the measured ones, and by their sign."""
    rows = _found()
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


def errors(turns: Sequence[Mapping[str, float]]) -> list[float]:
    """Returns predicted over measured, less 1, of each repetition that has a forecast."""
    return [turn["predicted_s"] / turn["measured_s"] - 1 for turn in turns if turn["measured_s"] > 0]


def near(turns: Sequence[Mapping[str, float]]) -> float:
    """Returns the share of all repetitions, also of those without a forecast, whose forecast is near."""
    return sum(abs(error) <= NEAR for error in errors(turns)) / len(turns)


def _forecasts() -> Measured:
    """Judges the forecasts of segment times that runs made in advance."""
    rows, texts, short, all_errors = [], [], [], []
    for row in _found():
        turns, found = row["turns"], errors(row["turns"])
        all_errors += [abs(error) for error in found]
        if near(turns) < MIN_SHARE:
            short.append(row["program"])
        median = f"{statistics.median(map(abs, found)):.0%}" if found else "no forecast"
        covered = statistics.median(turn["measured_s"] / turn["seconds"] for turn in turns)
        texts.append(f"{row['program']} {median}" + (f" ({covered:.0%} of its time)" if found else ""))
        rows.append(
            {
                "program": row["program"],
                "turns": len(turns),
                "with_a_forecast": len(found),
                "median_error": median,
                "worst_error": f"{max(found, key=abs):+.0%}" if found else "",
                "near": f"{near(turns):.0%}",
                "time_predicted": f"{covered:.0%}",
            }
        )
    text = [
        f"{len(rows) - len(short)} of {len(rows)} programs"
        + (f"; median absolute error of all turns {statistics.median(all_errors):.0%}" if all_errors else ""),
        "by program, medians: " + ", ".join(texts),
    ]
    text += [f"fewer turns near, or no forecast: {', '.join(short)}"] if short else []
    return Measured("\n".join(text), not short, rows)


CRITERIA = [
    Criterion(
        "predicted gain",
        "ten programs over a file, half of their memory: what runs say themselves is within 5 points of what "
        "`compare` measures, and its sign is right beyond noise",
        _all,
    ),
    Criterion(
        "forecast of time",
        f"the same runs, each stretch predicted when it began: in each program {MIN_SHARE:.0%} of the turns "
        f"have a forecast within {NEAR:.0%} of the clock",
        _forecasts,
    ),
]
