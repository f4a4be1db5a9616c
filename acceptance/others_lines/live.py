"""Live against first touch, program by program, in virtual time.

This project's own workloads without markers are priced on two machines at
three sizes of fast memory, each program in one run. Live may take at most 1 % longer than first touch.
"""

from __future__ import annotations

import functools
from pathlib import Path

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work
from others_tool.cost import SMALL_CACHES
from others_tool.profiles import Profile

from others_lines.own import programs

MACHINES = ("unimem-bw2", "unimem-lat4")
SHARES = (25, 50, 75)  # % of the footprint that is fast memory
MOST = 1.0  # % of first touch's time that live may take more
_CONFIGURATIONS = {"first": "first-touch", "live": "auto"}

# By machine and share: seconds of first touch and of live, over those with fast memory alone.
Ratios = dict[str, tuple[float, float]]


def _price(name: str, words: list[str]) -> Ratios:
    program: Path = programs(marked=False) / name
    file = work("others") / f"live-{name}.terrace"
    file.unlink(missing_ok=True)
    run([TERRACE, "record", "-q", "-m", MACHINES[0], *SMALL_CACHES, "-o", file, "--", program, *words])
    footprint = Profile(file).footprint()
    texts: dict[str, str] = {}
    for machine in MACHINES:
        texts[f"{machine}-fast"] = f"machine={machine} planner=fast-only"
        for share in SHARES:
            fast = max(footprint * share // 100, 1)
            for label, planner in _CONFIGURATIONS.items():
                texts[f"{machine}-{share}-{label}"] = f"machine={machine} fast={fast} planner={planner}"
    each: list[str] = []
    for label, text in texts.items():
        file.with_suffix(f".{label}.terrace").unlink(missing_ok=True)
        each += ["--config", f"label={label} {text}"]
    run([TERRACE, "simulate", "-q", *SMALL_CACHES, *each, "-o", file, "--", program, *words])
    seconds = {label: Profile(file.with_suffix(f".{label}.terrace")).seconds() for label in texts}
    ratios: Ratios = {}
    for machine in MACHINES:
        alone = seconds[f"{machine}-fast"]
        for share in SHARES:
            first, live = (seconds[f"{machine}-{share}-{label}"] for label in _CONFIGURATIONS)
            ratios[f"{machine}, {share} %"] = first / alone, live / alone
    return ratios


def never_behind() -> Measured:
    rows: list[dict[str, str | float]] = []
    over: list[str] = []
    most = 0.0
    for name, words in every_workload("small").items():
        ratios: Ratios = keep_part(f"live-{name}", functools.partial(_price, name, words))
        for where, (first, live) in ratios.items():
            behind = 100 * (live / first - 1)
            most = max(most, behind)
            rows.append({"program": name, "where": where, "first touch": first, "live": live, "behind, %": behind})
            if behind > MOST:
                over.append(f"{name}, {where}: {behind:+.1f} %")
    text = f"{len(rows) - len(over)} of {len(rows)} cases, {most:+.1f} % at most"
    return Measured("\n".join([text, *over]), not over, rows)


LINES = [
    Line(
        "live and first touch",
        f"without markers live takes at most {MOST:.0f} % longer than first touch, on {len(MACHINES)} machines "
        f"with {', '.join(map(str, SHARES))} % of the footprint as fast memory",
        never_behind,
    ),
]
