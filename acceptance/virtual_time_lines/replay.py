"""Compares replays with executions: equal profiles to the bit, as recorded and on another machine; and how much
faster. Criteria of acceptance/virtual-time.

Seconds are processor time, user and system, of the command and all that it started: an execution and a replay take
turns, three times, and the medians count.
"""

from __future__ import annotations

import functools
from statistics import geometric_mean, median

from harness import Criterion, Measured, fresh, keep_part, query, workloads

from virtual_time_lines.common import OF_THE_VERB, Words, compare, replay, simulate, workload

FASTER = 10
ROUNDS = 3
RECORDED = ["--machine", "unimem-bw2", "--planner", "slow-only"]
OTHER = ["--machine", "unimem-lat4", "--fast", "16MiB"]


def _one(name: str, threads: int) -> tuple[str, bool, float]:
    """Records and replays a workload; returns a description, whether all rows are equal, and the replay's
    speed-up."""
    folder = fresh(f"replay-{name}-{threads}")
    command: Words = [workload(name, True, threads > 1), *workloads()[name].words("replay")]
    if threads > 1:
        command += ["--threads", str(threads)]
    recording = folder / "app.misses"
    simulate(folder / "recorded.terrace", [*RECORDED, "--misses", str(recording)], command)
    replay(recording, folder / "again.terrace", RECORDED)
    same = compare(folder / "recorded.terrace", folder / "again.terrace", OF_THE_VERB)
    executions, replays = [], []
    for _ in range(ROUNDS):
        executions.append(simulate(folder / "executed.terrace", OTHER, command).cpu)
        replays.append(replay(recording, folder / "replayed.terrace", OTHER).cpu)
    other = compare(folder / "executed.terrace", folder / "replayed.terrace")
    faster = median(executions) / median(replays)
    (misses,) = query(folder / "executed.terrace", "SELECT sum(misses) FROM counters")[0]
    title = name + (f", {threads} threads" if threads > 1 else "")
    text = (
        f"{title}: {same.rows + other.rows} rows equal, {misses / 1e6:.2f} million misses, execution "
        f"{median(executions):.2f} s, replay {median(replays):.3f} s, {faster:.1f}x"
    )
    for what, found in (("where it was recorded", same), ("elsewhere", other)):
        if found.difference:
            text += f"\n  {title} differs {what}: {found.difference}"
    return text, not (same.difference or other.difference), faster


def replays() -> Measured:
    """Judges whether every workload's replay equals its execution, and how much faster it is."""
    cases = [(name, 1) for name in workloads()]
    cases += [(name, 2) for name, about in workloads().items() if "replay" in about.two_threads]
    found = [
        keep_part(f"replay-{name}-{threads}", functools.partial(_one, name, threads), timed=True)
        for name, threads in cases
    ]
    speeds = [faster for _, _, faster in found]
    mean = geometric_mean(speeds)
    equal = sum(same for _, same, _ in found)
    slow = [
        f"{name} {faster:.1f}x" for (name, _), (_, _, faster) in zip(cases, found, strict=True) if faster < FASTER
    ]
    summary = f"{equal} of {len(cases)} equal to the bit; geometric mean {mean:.1f}x, least {min(speeds):.1f}x"
    if slow:
        summary += f"; below {FASTER}x: {', '.join(slow)}"
    return Measured("\n".join([summary, *(text for text, _, _ in found)]), equal == len(cases) and not slow)


CRITERIA = [
    Criterion(
        "replay equals execution",
        f"to the bit on every workload, and at least {FASTER} times faster on each",
        replays,
    ),
]
