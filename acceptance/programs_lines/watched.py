"""Programs of the distribution while Terrace monitors their pages.

Once learned from to the end (`--profile`), once learned, planned and moved, on one node that a machine file calls
two kinds of memory: no placement is better there than another, so what is lost is the cost of watching and moving.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import SETTINGS, TERRACE, Line, Measured, keep_part

from programs_lines.cases import CASES, Case, chosen
from programs_lines.cost import difference, memory, over, within
from programs_lines.profiles import moves_of, was_watched
from programs_lines.runs import PLAIN, RunResult, forget

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


@contextmanager
def _once(case: Case, way: str) -> Iterator[tuple[RunResult, str, Path]]:
    """Runs once with the profile, which is next to the folder that the program runs in."""
    done = case.run(PREFIXES[way], {})
    try:
        yield done, case.outcome(done), done.folder.with_name("kept.terrace")
    finally:
        forget(done)


def measured(case: Case) -> Row:
    """Measures all repetitions of a program; the first run, which reads from the disk, counts for its output
    alone."""
    with _once(case, PLAIN) as (_, truth, _):
        pass
    seconds: dict[str, list[float]] = {way: [] for way in PREFIXES}
    cpu: dict[str, list[float]] = {way: [] for way in PREFIXES}
    peak: dict[str, list[int]] = {way: [] for way in PREFIXES}
    wrong: list[str] = []
    seen: dict[str, int] = dict.fromkeys((WATCHED, PLACED), 0)
    moves: list[int] = []
    said: dict[str, int] = dict.fromkeys(PREFIXES, 0)
    for turn in range(SETTINGS.turns):
        for way in PREFIXES if turn % 2 == 0 else reversed(PREFIXES):
            with _once(case, way) as (done, outcome, profile):
                seconds[way].append(done.seconds)
                cpu[way].append(done.cpu)
                peak[way].append(done.peak)
                if way != PLAIN:
                    seen[way] += was_watched(profile)
                if way == PLACED:
                    moves.append(moves_of(profile))
            said[way] = max(said[way], sum(line.startswith("terrace: ") for line in done.err.splitlines()))
            if outcome != truth:
                wrong.append(f"{case.name}, {way}: {difference(truth, outcome)}")
    return {
        "program": case.name,
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak,
        "wrong": wrong,
        "said": said,
        "seen": seen,
        "moves": moves,
    }


@functools.cache
def _kept(case: Case) -> Row:
    row: Row = keep_part(f"watched-{case.name}", lambda: measured(case), timed=True)
    return row


def rows() -> list[Row]:
    return [_kept(case) for case in chosen(CASES) if case.is_timed and case.name not in _NOT]


def _output() -> Measured:
    found = rows()
    wrong = [one for row in found for one in row["wrong"]]
    runs = sum(len(row["seconds"][way]) for row in found for way in (WATCHED, PLACED))
    most = max(found, key=lambda row: max(row["said"].values()))
    text = [f"{runs} runs of {len(found)} programs, {len(wrong)} other than plain", *wrong[:6]]
    text.append(f"at most {max(most['said'].values())} lines of Terrace's own, {most['program']}")
    return Measured("\n".join(text), not wrong)


def unseen(found: list[Row], way: str) -> list[str]:
    """Describes programs with enough data and run time of which a run was not monitored, or, where data are
    placed, the median run moved nothing."""
    texts = [
        f"{row['program']}: watched in {row['seen'][way]} of {len(row['seconds'][way])} runs"
        for row in found
        if row["program"] in WATCHABLE and row["seen"][way] < len(row["seconds"][way])
    ]
    if way == PLACED:
        still = [row for row in found if row["program"] in MOVABLE and statistics.median(row["moves"]) == 0]
        texts += [f"{row['program']}: nothing was moved" for row in still]
    return texts


def _time(way: str) -> Measured:
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
            "watched": f"{row['seen'][way]} of {len(row['seconds'][way])}",
            **({"moves": f"{statistics.median(row['moves']):.0f}"} if way == PLACED else {}),
        }
        for row in found
    ]
    return Measured(text, holds and not missing, table)


LINES = [
    Line("watched programs: output", "learned from, planned and moved: as without", _output),
    Line(
        "watched programs: time, learning",
        "`terrace run --profile`, which learns to the end: within 3 %, medians of interleaved runs; what can be "
        "watched is",
        functools.partial(_time, WATCHED),
    ),
    Line(
        "watched programs: time, placing",
        "two kinds of memory that are one node, so that nothing can be won: within 3 %, medians; what can be "
        "watched and moved is",
        functools.partial(_time, PLACED),
    ),
    Line(
        "watched programs: memory, learning",
        "the control group's largest use within 5 % and 64 MiB of plain; medians",
        lambda: memory(rows(), WATCHED),
    ),
    Line(
        "watched programs: memory, placing",
        "the same where data are planned and moved",
        lambda: memory(rows(), PLACED),
    ),
]
