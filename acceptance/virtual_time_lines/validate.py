"""Compares virtual time with the clock, by `terrace lab validate` on this machine. A criterion of
acceptance/virtual-time."""

from __future__ import annotations

import json

from harness import ROOT, TERRACE, Criterion, Measured, fresh, run, work, workloads

from virtual_time_lines.common import Words, workload

MEAN, LARGEST = 0.20, 0.40
WORKLOADS = 10
THREADS = {1, 2}
HOURS = 4 * 3600.0


def validates() -> Measured:
    """Measures this machine, validates all workloads on it, and judges their errors."""
    folder = fresh("validate")
    work("virtual-time").mkdir(parents=True, exist_ok=True)  # of the picture's page
    output, machine = folder / "validate.json", folder / "here.toml"
    programs = [name for name, about in workloads().items() if about.has("measure")]
    native, hooked = (
        {workload(name, built, threads=True).parent for name in programs}.pop() for built in (False, True)
    )
    run([TERRACE, "machine", "measure", "-o", machine])
    words: Words = ["--native", native, "--hooked", hooked, "--machine", machine, "--json", output]
    words += ["--plot", work("virtual-time") / "validate.html", "--source", ROOT]
    done = run([TERRACE, "lab", "validate", *words], check=False, timeout=HOURS)
    if not output.exists():
        said = (done.stderr + done.stdout).strip().splitlines() or ["it said nothing"]
        return Measured(f"terrace lab validate ended with {done.returncode}: {' | '.join(said[-4:])}", False)
    found = json.loads(output.read_text())
    rows, largest = found["rows"], found["largest"]
    names = sorted({row["workload"] for row in rows})
    complete = [name for name in names if {row["threads"] for row in rows if row["workload"] == name} >= THREADS]
    worst = max(abs(row["error"]) for row in rows)
    mean = sum(abs(row["error"]) for row in rows) / len(rows)
    lines = [
        f"mean absolute error {mean:.1%}, largest {worst:.1%} ({largest['workload']}, threads "
        f"{largest['threads']}), {len(complete)} workloads with 1 and 2 threads"
    ]
    for name in names:
        by_threads = sorted((row for row in rows if row["workload"] == name), key=lambda row: row["threads"])
        lines.append(
            f"{name}: "
            + ", ".join(
                f"threads {row['threads']}: {row['virtual']:.4g} s for {row['native']:.4g} s ({row['error']:+.1%})"
                for row in by_threads
            )
        )
    if abs(mean - found["mean_absolute_error"]) > 1e-3:
        lines.append(f"it gives its mean as {found['mean_absolute_error']}, its rows have {mean}")
        return Measured("\n".join(lines), False)
    holds = mean <= MEAN and worst <= LARGEST and len(complete) >= WORKLOADS
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion(
        "lab validate",
        f"mean absolute error at most {MEAN:.0%}, none above {LARGEST:.0%}, over at least {WORKLOADS} workloads "
        "x 1 and 2 threads",
        validates,
    )
]
