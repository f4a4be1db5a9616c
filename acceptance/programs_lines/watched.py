"""Measures programs of the distribution while Terrace monitors their pages. Criteria of acceptance/programs.

Once learned from to the end (`--profile`), once learned, planned and moved, on one node that a machine file calls
two kinds of memory: no placement is better there than another, so what is lost is the cost of watching and moving.
"""

from __future__ import annotations

import functools
import statistics
from pathlib import Path
from typing import Any

from harness import TERRACE, Criterion, Measured, keep_part

from programs_lines.cases import CASES, chosen
from programs_lines.cost import measured, memory, over, within
from programs_lines.runs import PLAIN

MACHINE = Path(__file__).with_name("same_node.toml")
WATCHED, PLACED = "watched", "placed"
_KEPT = ["-o", "../kept.terrace", "--"]  # next to the folder that the program runs in
PREFIXES: dict[str, list[str]] = {
    PLAIN: [],
    WATCHED: [str(TERRACE), "run", "--profile", *_KEPT],
    PLACED: [str(TERRACE), "run", "--machine", str(MACHINE), "--fast", "64MiB", *_KEPT],
}
# postgres runs as a user that may not write there; a build's processes end before anything is learned.
_NOT = ("postgres", "g++", "python3 -m test, processes")
# Programs with enough data to be monitored; those with enough run time for a plan and its moves. The criterion
# requires both, as it would otherwise not measure their cost.
WATCHABLE = ("lmp, liquid", "hpcc", "redis-server")
MOVABLE = ("lmp, liquid", "hpcc")

Row = dict[str, Any]


@functools.cache
def rows() -> list[Row]:
    return [
        keep_part(f"watched-{case.name}", functools.partial(measured, case, PREFIXES), timed=True)
        for case in chosen(CASES)
        if case.is_timed and case.name not in _NOT
    ]


def _output() -> Measured:
    """Judges whether watched programs print the same as plain, and how many lines Terrace adds."""
    found = rows()
    wrong = [f"{row['program']}, {one}" for row in found for one in row["wrong"]]
    runs = sum(len(row["seconds"][way]) for row in found for way in (WATCHED, PLACED))
    most = {row["program"]: max(lines for way in PREFIXES for lines in row["lines"][way]) for row in found}
    worst = max(most, key=lambda name: most[name])
    text = [f"{runs} runs of {len(found)} programs, {len(wrong)} other than plain", *wrong[:6]]
    text.append(f"at most {most[worst]} lines of Terrace's own, {worst}")
    return Measured("\n".join(text), not wrong)


def unseen(found: list[Row], way: str) -> list[str]:
    """Describes programs with enough data and run time of which a run was not monitored, or, where data are
    placed, the median run moved nothing."""
    texts = [
        f"{row['program']}: watched in {sum(row['watched'][way])} of {len(row['watched'][way])} runs"
        for row in found
        if row["program"] in WATCHABLE and not all(row["watched"][way])
    ]
    if way == PLACED:
        still = [
            row for row in found if row["program"] in MOVABLE and statistics.median(row["moves"][PLACED]) == 0
        ]
        texts += [f"{row['program']}: nothing was moved" for row in still]
    return texts


def _time(way: str) -> Measured:
    """Judges the time of watched programs in a way, against plain."""
    found = rows()
    text, holds = within({row["program"]: over(row, "seconds", way) for row in found})
    missing = unseen(found, way)
    text = "\n".join([text, *missing])
    table = [
        {
            "program": row["program"],
            "plain_s": f"{statistics.median(row['seconds'][PLAIN]):.2f}",
            "loss": f"{over(row, 'seconds', way):+.1%}",
            "loss_of_cpu": f"{over(row, 'cpu', way):+.1%}",
            "watched": f"{sum(row['watched'][way])} of {len(row['watched'][way])}",
            **({"moves": f"{statistics.median(row['moves'][way]):.0f}"} if way == PLACED else {}),
        }
        for row in found
    ]
    return Measured(text, holds and not missing, table)


CRITERIA = [
    Criterion("watched programs: output", "learned from, planned and moved: as without", _output),
    Criterion(
        "watched programs: time, learning",
        "`terrace run --profile`, which learns to the end: within 3 %, medians of interleaved runs; what can be "
        "watched is",
        functools.partial(_time, WATCHED),
    ),
    Criterion(
        "watched programs: time, placing",
        "two kinds of memory that are one node, so that nothing can be won: within 3 %, medians; what can be "
        "watched and moved is",
        functools.partial(_time, PLACED),
    ),
    Criterion(
        "watched programs: memory, learning",
        "the control group's largest use within 5 % and 64 MiB of plain; medians",
        lambda: memory(rows(), WATCHED),
    ),
    Criterion(
        "watched programs: memory, placing",
        "the same where data are planned and moved",
        lambda: memory(rows(), PLACED),
    ),
]
