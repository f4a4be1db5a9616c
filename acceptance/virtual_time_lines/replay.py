"""Replays against executions: the same profiles to the bit, in the recording's configuration and in another; how
much faster; and what is left of a recording that was cut.

Seconds are processor time, user and system, of the command and all that it started: an execution and a replay take
turns, three times, and the medians count.
"""

from __future__ import annotations

import functools
import re
from statistics import geometric_mean, median

from harness import TERRACE, Line, Measured, fresh, keep_part, run, workloads

from virtual_time_lines.common import OF_THE_VERB, Words, compare, query, replay, simulate, workload

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


CUTS = 60


def truncated() -> Measured:
    """Cuts a recording at many places: the phases of its whole frames stay as they were, and a message reports the
    cut."""
    folder = fresh("replay-truncated")
    whole, part = folder / "whole.misses", folder / "part.misses"
    command: Words = [workload("gups", True), "--size", "4MiB", "--iterations", "8"]
    options: Words = ["--machine", "unimem-lat4", "--cache", "l3=256KiB", "--planner", "slow-only"]
    simulate(folder / "whole.terrace", [*options, "--misses", str(whole)], command)
    phases = "SELECT loop, iteration, phase, name, begun, ended, waited FROM phase_instance WHERE run = 1"
    all_phases = query(folder / "whole.terrace", phases)
    content = whole.read_bytes()
    said, kept, refused = set[int](), set[int](), 0
    for i in range(CUTS):
        part.write_bytes(content[: len(content) * i // CUTS])
        store = folder / "part.terrace"
        store.unlink(missing_ok=True)
        done = run([TERRACE, "replay", part, "--quiet", "-o", store, *options], check=False)
        frames = re.search(r"(\d+) whole frames?", done.stderr)
        if done.returncode == 1 and frames:
            said.add(int(frames[1]))
            some = query(store, phases)
            kept.add(len(some))
            if some != all_phases[: len(some)]:
                return Measured(f"cut at {len(part.read_bytes())}: its phases are not the recorded ones", False)
        elif done.returncode == 1 and re.search(r"no(t a)? recording", done.stderr):
            refused += 1  # not even the first frame
        else:
            return Measured(
                f"cut at {len(part.read_bytes())}: exit {done.returncode}, {done.stderr.strip()}", False
            )
    text = (
        f"{CUTS} cuts of {len(content)} bytes: {min(said)} to {max(said)} whole frames replayed and said, "
        f"{min(kept)} to {max(kept)} of {len(all_phases)} phases, as recorded; {refused} without a first frame"
    )
    return Measured(text, len(said) > 1 and len(kept) > 1 and refused < CUTS // 2)


LINES = [
    Line(
        "replay equals execution",
        f"to the bit on every workload, and at least {FASTER} times faster on each",
        replays,
    ),
    Line("truncated recordings", "replayed to the last whole frame, and said so", truncated),
]
