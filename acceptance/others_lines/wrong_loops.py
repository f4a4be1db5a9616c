"""A mistaken loop costs nothing: live against first touch, both priced in one run, by the time of the whole run.

This project's own workloads without markers: with the loop that is found, with one inside it, and with one of
the set-up, which is over when the real one begins. And the public programs, with what is found in them, right
or wrong. Where a loop that is named is never taken, the case is that of a program without a main loop.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work
from others_tool.cost import MACHINE
from others_tool.profiles import Profile
from terrace.store.reader import Store

from others_lines.gaps import CACHES, FAST
from others_lines.own import programs
from others_lines.programs import placements

# Slow memory of four times the latency, and of an eighth of the bandwidth.
MACHINES = {"latency": "unimem-lat4", "bandwidth": "unimem-bw8"}
MOST = 2.0  # % of the run's time

# By case: % of first touch's time that live takes more, and whether a loop was taken.
Behind = dict[str, tuple[float, bool]]


def _both(program: Path, words: list[str], stem: str, fast: int, loop: str) -> Behind:
    """One run, with that loop; "": with what is found."""
    file = work("others") / f"{stem}.terrace"
    each: list[str] = []
    for limit, machine in MACHINES.items():
        for label, planner in (("live", "auto"), ("first", "first-touch")):
            file.with_suffix(f".{limit}-{label}.terrace").unlink(missing_ok=True)
            each += ["--config", f"label={limit}-{label} machine={machine} fast={fast} planner={planner}"]
    told = ["--loop", loop] if loop else []
    run([TERRACE, "simulate", "-q", *CACHES, *told, *each, "-o", file, "--", program, *words])
    behind = {}
    for limit in MACHINES:
        live, first = (Profile(file.with_suffix(f".{limit}-{label}.terrace")) for label in ("live", "first"))
        behind[limit] = 100 * (live.seconds() / first.seconds() - 1), live.takes_a_loop()
    return behind


def _wrong(store: Store) -> dict[str, str]:
    """Of a run whose main loop was found: the phase in it that takes longest, and who makes the first object."""
    found, named = store.run(), {}
    loop = store.loop(found)
    time: dict[str, float] = defaultdict(float)
    for phase in store.phase_instances(found):
        time[phase.name] += phase.ended - phase.begun
    inner = [name for name in time if loop and name != loop.name]
    if inner:
        named["inner"] = max(inner, key=lambda name: time[name])
    makers = [one.name.split()[0] for one in store.objects(found) if one.kind in ("heap", "mapping")]
    if makers:
        named["set-up"] = makers[0]
    return named


def _own(name: str, words: list[str]) -> Behind:
    program = programs(marked=False) / name
    file = work("others") / f"loop-{name}.terrace"
    file.unlink(missing_ok=True)
    run([TERRACE, "record", "-q", "-m", MACHINES["latency"], *CACHES, "-o", file, "--", program, *words])
    fast = max(Profile(file).footprint() // FAST, 1)
    loops = {"found": "", **_wrong(Store(file))}
    return {
        f"{which} {loop} ({limit})".replace("  ", " "): behind
        for which, loop in loops.items()
        for limit, behind in _both(program, words, f"loop-{name}-{which}", fast, loop).items()
    }


def _judged(behind: Behind) -> Measured:
    over = sorted(((points, case) for case, (points, _) in behind.items() if points > MOST), reverse=True)
    most, taken = max(points for points, _ in behind.values()), sum(taken for _, taken in behind.values())
    text = f"{len(behind) - len(over)} of {len(behind)} cases, in {taken} of which a loop is taken"
    lines = [f"{text}; {most:+.1f} % at most", *(f"{case}: {points:+.1f} %" for points, case in over)]
    return Measured("\n".join(lines), not over)


def own_workloads() -> Measured:
    behind = {}
    for name, words in every_workload("small").items():
        of_program: Behind = keep_part(f"wrong-{name}", functools.partial(_own, name, words))
        behind.update({f"{name}, {case}": (points, taken) for case, (points, taken) in of_program.items()})
    return _judged(behind)


def public_programs() -> Measured:
    rows = {name: row for name, row in placements().items() if "failed" not in row}
    return _judged({name: (row["behind"], row["takes_a_loop"]) for name, row in rows.items()})


LINES = [
    Line(
        "wrong loops of this project's own workloads",
        f"with the loop that is found, one inside it and one of the set-up, live takes at most {MOST:.0f} % "
        f"longer than first touch; 1/{FAST} of the footprint is fast",
        own_workloads,
    ),
    Line(
        "wrong loops of public programs",
        f"live takes at most {MOST:.0f} % longer than first touch, whatever is found in them; on {MACHINE}, "
        f"1/{FAST} of the footprint is fast",
        public_programs,
    ),
]
