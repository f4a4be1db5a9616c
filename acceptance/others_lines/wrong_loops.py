"""Checks that a mistaken main loop costs nothing: live against first touch, both priced in one run, by the time of
the whole run. Criteria of acceptance/others.

This project's own workloads without markers: with the loop that is found, with one inside it, and with one of
the set-up, which is over when the real one begins (other_loops.py). And the public programs, with what is found in
them, right or wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from harness import Criterion, Measured, every_workload, keep_part, run, work
from others_tool.cost import FAST, MACHINE, SMALL_CACHES
from others_tool.pricing import priced
from others_tool.profiles import Profile

from others_lines.other_loops import Recording, others
from others_lines.own import programs
from others_lines.programs import PROGRAMS, failures, placements

# Slow memory of four times the latency, and of an eighth of the bandwidth.
MACHINES = {"latency": "unimem-lat4", "bandwidth": "unimem-bw8"}
MAX = 2.0  # % of the run's time

# Excess of live over first touch in %, the loops that it took, and its moves of data, by case.
Behind = dict[str, tuple[float, list[str], int]]
FOUND = "found"  # kind of the cases without `--loop`


def _both(program: Path, words: list[str], stem: str, fast: int, loop: str) -> Behind:
    """Measures one run with that loop; "" stands for the loop that Terrace finds."""
    texts = {
        f"{limit}-{label}": f"machine={machine} fast={fast} planner={planner}"
        for limit, machine in MACHINES.items()
        for label, planner in (("live", "auto"), ("first", "first-touch"))
    }
    told = ("--loop", loop) if loop else ()
    file = work("others") / f"{stem}.terrace"
    stores = priced(lambda before: run([*before, program, *words]), file, texts, *SMALL_CACHES, *told)
    behind = {}
    for limit in MACHINES:
        live, first = (Profile(stores[f"{limit}-{label}"]) for label in ("live", "first"))
        taken = [one.name for one in live.taken()]
        behind[limit] = 100 * (live.seconds() / first.seconds() - 1), taken, live.moves()
    return behind


def _own(name: str, words: list[str]) -> dict[str, Behind]:
    """Measures a program of this tree, by kind and name of the loop."""
    program = programs(marked=False) / name
    recording = Recording(["-m", MACHINES["latency"], *SMALL_CACHES], [program, *words])
    file = work("others") / f"loop-{name}.terrace"
    found = recording.profile(file)
    fast = max(found.footprint() // FAST, 1)
    wrong = others(recording, found, file.with_suffix(".tried.terrace"))
    cases = {f"{kind} {loop}": (kind, loop) for kind, loop in wrong.items()}
    return {
        case: _both(program, words, f"loop-{name}-{kind}", fast, loop)
        for case, (kind, loop) in {FOUND: (FOUND, ""), **cases}.items()
    }


def _over(behind: Mapping[str, float]) -> list[str]:
    """Lists the cases that fall short, a line each, the worst first."""
    over = sorted(((points, case) for case, points in behind.items() if points > MAX), reverse=True)
    return [f"{case}: {points:+.1f} %" for points, case in over]


def own_workloads() -> Measured:
    """Cases with a wrong loop count where that loop was taken and data was moved for it; half of the workloads
    have to have one."""
    behind: dict[str, float] = {}
    wrong, idle, without = 0, [], []
    cases = every_workload("small")
    for name, words in cases.items():
        of_program: dict[str, Behind] = keep_part(f"wrong-{name}", functools.partial(_own, name, words))
        before = wrong
        for case, by_limit in of_program.items():
            loop = case.partition(" ")[2]
            for limit, (points, taken, moves) in by_limit.items():
                behind[f"{name}, {case} ({limit})"] = points
                acts = loop in taken and moves > 0
                wrong += case != FOUND and acts
                if case != FOUND and not acts:
                    idle.append(f"{name}, {case} ({limit})")
        if wrong == before:
            without.append(name)
    having = len(cases) - len(without)
    over = _over(behind)
    text = (
        f"{len(behind) - len(over)} of {len(behind)} cases, {max(behind.values()):+.1f} % at most; in {wrong} of "
        f"them, of {having} of {len(cases)} workloads, a wrong loop is taken and data is moved for it"
    )
    none = [f"no wrong loop moves data in {', '.join(without)}"] if without else []
    nothing = [f"nothing is moved: {'; '.join(idle)}"] if idle else []
    return Measured("\n".join([text, *over, *nothing, *none]), not over and 2 * having >= len(cases))


def public_programs() -> Measured:
    """Falls short, too, where few programs were measured."""
    placed = placements()
    behind = {name: row["behind"] for name, row in placed.items() if "failed" not in row}
    taken = sum(bool(row["takes_a_loop"]) for row in placed.values() if "failed" not in row)
    over = _over(behind)
    text = f"{len(behind) - len(over)} of {len(behind)} programs, in {taken} of which a loop is taken"
    most = f"; {max(behind.values()):+.1f} % at most" if behind else ""
    return Measured("\n".join([text + most, *over, *failures(placed)]), not over and len(behind) >= PROGRAMS)


CRITERIA = [
    Criterion(
        "wrong loops of this project's own workloads",
        f"with the loop that is found, one inside it and one of the set-up, live takes at most {MAX:.0f} % "
        "longer than first touch; half of the workloads at least have a wrong one that is taken and moves data; "
        f"1/{FAST} of the footprint is fast",
        own_workloads,
    ),
    Criterion(
        "wrong loops of public programs",
        f"live takes at most {MAX:.0f} % longer than first touch, whatever is found in them, in at least "
        f"{PROGRAMS}; on {MACHINE}, 1/{FAST} of the footprint is fast",
        public_programs,
    ),
]
