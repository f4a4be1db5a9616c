"""Runs a program with a plan that is wrong on purpose: it keeps the data used least in memory and sends those used
most to the file. Terrace has to notice, and withdraw it. A criterion of acceptance/programs."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from harness import SETTINGS, TERRACE, Criterion, Measured, run

from programs_lines.runs import scratch

SOURCE = Path(__file__).with_name("wrong_plan.c")
HOT, COLD, ITERATIONS = "128", "256", "7"  # MiB, and how many
MEMORY = "160MiB"
WITHIN = 2  # iterations that may be slow
AS_WITHOUT = 1.15  # times what an iteration takes without a plan
PLAN = """schema = 2

[[object]]
name = "make_hot*"
place = "file"

[[object]]
name = "make_cold*"
place = "memory"
"""


def _times(words: list[str], folder: str) -> tuple[list[float], str, str]:
    """Returns the times of the iterations, the sum, which no placement changes, and Terrace's message."""
    command = [str(TERRACE), "run", "--memory", MEMORY, "--spill", folder, *words, "--", f"{folder}/program"]
    done = run([*command, HOT, COLD, ITERATIONS], timeout=600)
    *times, total = done.stdout.split("\n")[:-1]
    return [float(one) for one in times], total, done.stderr.strip().splitlines()[-1]


def _slow(times: list[float], usual: float) -> int:
    """Returns the number of iterations from the first slow one to the last; later ones are as without the plan."""
    slow = [number for number, seconds in enumerate(times) if seconds > AS_WITHOUT * usual]
    return slow[-1] - slow[0] + 1 if slow else 0


def _all() -> Measured:
    """Runs the program with and without the wrong plan, and counts slow iterations until it is undone."""
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="terrace-programs-") as folder:
        run(["cc", "-O2", "-g", SOURCE, "-o", f"{folder}/program"])
        plan = Path(folder) / "wrong.toml"
        plan.write_text(PLAN)
        without, with_plan, sums, said, rows = [], [], set(), [], []
        for _ in range(max(3, SETTINGS.turns // 2)):
            times, total, _line = _times([], folder)
            without += times[1:]  # the first fills the memory
            sums.add(total)
            times, total, line = _times(["--plan", str(plan)], folder)
            with_plan.append(times)
            sums.add(total)
            said.append(line)
        usual = statistics.median(without)
        slow = [_slow(times, usual) for times in with_plan]
        undone = sum("the plan is undone, as it lost" in line for line in said)
        rows = [
            {"run": number, "slow_iterations": count, "iterations_s": " ".join(f"{one:.2f}" for one in times)}
            for number, (count, times) in enumerate(zip(slow, with_plan, strict=True))
        ]
    text = f"undone in {undone} of {len(said)} runs; iterations from when it is tried until all are within "
    text += f"{AS_WITHOUT - 1:.0%} of {usual:.2f} s, as without a plan: {', '.join(map(str, slow))}"
    return Measured(text, undone == len(said) and max(slow) <= WITHIN and len(sums) == 1, rows)


CRITERIA = [
    Criterion(
        "a wrong plan",
        f"the coldest data in memory, the hottest in the file: undone, and {WITHIN} iterations after it "
        "is tried all are as without",
        _all,
    )
]
