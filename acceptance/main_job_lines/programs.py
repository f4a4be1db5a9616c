"""Checks that workloads verify in every mode, and that a command's virtual time repeats exactly. Criteria of
acceptance/main-job."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from harness import TERRACE, Criterion, Measured, fresh, run, studied, workload, workloads
from terrace.lab.workloads import CLASSES


def verifies() -> Measured:
    """Runs the demo's programs natively, under hooks and simulated, and checks that each verifies."""
    lines, holds = [], True
    for name in studied("demo"):
        about = workloads()[name]
        for size in CLASSES:
            output = fresh("verify") / "verify.terrace"
            hooked: list[str | Path] = [workload(name, True), *about.words(size)]
            machine = ["--machine", "unimem-lat4", "--fast", "4MiB"]
            simulate: list[str | Path] = [TERRACE, "simulate", "--quiet", *machine, "-o", output]
            ways: dict[str, list[str | Path]] = {
                "native": [workload(name, False), *about.words(size)],
                "hooks": hooked,
                "simulated": [*simulate, "--", *hooked],
            }
            good = [way for way, command in ways.items() if about.verified(run(command, check=False).stdout)]
            holds = holds and len(good) == len(ways)
            lines.append(f"{name}.{size}: verified {', '.join(good) or 'nowhere'}")
    return Measured("\n".join(lines), holds)


def _digits(options: list[str], command: list[str | Path]) -> str:
    """Returns the results of a simulation, to the last digit, to be compared with a repetition's."""
    output = fresh("repeat") / "repeat.terrace"
    done = run(
        [
            TERRACE,
            "simulate",
            "--json",
            "--machine",
            "unimem-lat4",
            "--cache",
            "l3=640KiB",
            *options,
            "-o",
            output,
            "--",
            *command,
        ]
    )
    summary = json.loads(done.stderr.strip().splitlines()[-1])
    return f"{summary['loop_s']!r} {summary['moves']} {summary['moved_bytes']}"


def repeatable() -> Measured:
    """Repeats simulations on a busy machine with different environments, and compares all digits."""
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    lines, same = [], True
    try:
        for name in studied("demo"):
            # Enough to learn and to move.
            command: list[str | Path] = [workload(name, True), "--class", "S", "--iterations", "40"]
            quiet = _digits(["--fast", "512KiB"], command)
            again = _digits(["--fast", "512KiB"], command)
            digits = [quiet, again]
            for size in (17, 3333, 3349):  # moves the stack, and what is in one cache line there
                os.environ["TERRACE_ACCEPTANCE_PADDING"] = "x" * size
                digits.append(_digits(["--fast", "512KiB"], command))
                del os.environ["TERRACE_ACCEPTANCE_PADDING"]
            same = same and len(set(digits)) == 1
            lines.append(f"{name}: {' | '.join(digits)}")
    finally:
        busy.kill()
        busy.wait()
    randomised = Path("/proc/sys/kernel/randomize_va_space").read_text().strip()
    return Measured(
        "\n".join([*lines, f"address randomisation {randomised}, another core kept busy"]),
        same and randomised == "2",
    )


CRITERIA = [
    Criterion("CG and MG verify", "classes S, W, A natively, under hooks, and in simulated runs", verifies),
    Criterion(
        "same command, same digits",
        "virtual time equal to the last digit, busy core, randomised addresses",
        repeatable,
    ),
]
