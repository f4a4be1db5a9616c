"""Compares programs of the distribution, plain and under `terrace run` with its default options: output, time,
memory. Criteria of acceptance/programs."""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import SETTINGS, Criterion, Measured, keep_part

from programs_lines.cases import CASES, Case, chosen
from programs_lines.profiles import moves_of, was_watched
from programs_lines.runs import ENVIRONMENTS, OFF, OURS, PLAIN, PREFIXES, forget, interleaved

MIB = 1 << 20
TIME = 0.03  # of a program's own
MEMORY, MORE_MEMORY = 0.05, 64 * MIB
WAYS = (PLAIN, OURS, OFF)
_NUMBER = re.compile(r"[0-9A-F]{4,}|[0-9]+")

Row = dict[str, Any]


def files_of(folder: Path) -> set[str]:
    """Returns the files of a run's folder. Numbers in names are masked, as a database numbers its files."""
    paths = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {_NUMBER.sub("#", path) for path in paths}


def other_files(usual: Sequence[set[str]], found: set[str]) -> list[str]:
    """Describes files that no usual run left, and missing files that all usual runs left."""
    more, fewer = found - set().union(*usual), set[str].intersection(*usual) - found
    return [*(f"leaves {name}" for name in sorted(more)), *(f"lacks {name}" for name in sorted(fewer))]


def difference(truth: str, other: str) -> str:
    """Returns the first lines that differ."""
    for left, right in zip(truth.splitlines(), other.splitlines(), strict=False):
        if left != right:
            return f"'{left[:80]}' became '{right[:80]}'"
    return f"{len(truth.splitlines())} lines became {len(other.splitlines())}"


def measured(case: Case, ways: Mapping[str, Sequence[str]]) -> Row:
    """Measures all repetitions of a program in ways: words in front of it. Its first run is plain. If the
    program is timed, that run counts for its output alone, because it reads from the disk."""
    row: Row = {"program": case.name, "is_timed": case.is_timed, "wrong": [], "said": []}
    for what in ("seconds", "cpu", "peak", "lines", "watched", "moves"):
        row[what] = {way: [] for way in ways}
    files: dict[str, list[set[str]]] = {way: [] for way in ways}
    truth = ""

    def repeat(way: str, counts: bool = True) -> None:
        nonlocal truth
        done = case.run(ways[way], ENVIRONMENTS.get(way, {}))
        try:
            outcome, profile = case.outcome(done), done.folder.with_name("kept.terrace")
            files[way].append(files_of(done.folder))
            watched, moves = was_watched(profile), moves_of(profile)
        finally:
            forget(done)
        said = [line for line in done.err.splitlines() if line.startswith("terrace: ")]
        found = {"seconds": done.seconds, "cpu": done.cpu, "peak": done.peak}
        for what, value in {**found, "lines": len(said), "watched": watched, "moves": moves}.items():
            row[what][way] += [value] if counts else []
        truth = truth or outcome
        row["wrong"] += [f"{way}: {difference(truth, outcome)}"] if outcome != truth else []
        row["said"] += [f"{way}: {line}" for line in said if way != PLAIN]

    repeat(PLAIN, counts=not case.is_timed)
    for way in (
        interleaved(tuple(ways), SETTINGS.turns) if case.is_timed else [one for one in ways if one != PLAIN]
    ):
        repeat(way)
    others = {f"{way}: {one}" for way in ways for left in files[way] for one in other_files(files[PLAIN], left)}
    return {**row, "ended": truth.splitlines()[0], "left": sorted(others)}


@functools.cache
def rows() -> list[Row]:
    return [
        keep_part(f"cost-{case.name}", functools.partial(measured, case, PREFIXES), timed=True)
        for case in chosen(CASES)
    ]


def over(row: Row, what: str, way: str) -> float:
    """Returns the median over the plain one's, less 1."""
    return float(statistics.median(row[what][way]) / statistics.median(row[what][PLAIN]) - 1)


def more_memory(row: Row, way: str) -> int:
    return int(statistics.median(row["peak"][way]) - statistics.median(row["peak"][PLAIN]))


def is_within_memory(row: Row, way: str) -> bool:
    plain = float(statistics.median(row["peak"][PLAIN]))
    return more_memory(row, way) <= MEMORY * plain + MORE_MEMORY


def same_output(found: Sequence[Row], way: str) -> Measured:
    """Compares outputs, which must have no line of Terrace's own, and files: by default Terrace prints nothing."""
    wrong = [f"{row['program']}: {one}" for row in found for one in row["wrong"] if one.startswith(f"{way}: ")]
    unstable = [f"{row['program']}: {one}" for row in found for one in row["wrong"] if one.startswith(PLAIN)]
    said = [f"{row['program']}: {one}" for row in found for one in row["said"] if one.startswith(f"{way}: ")]
    left = [f"{row['program']}: {one}" for row in found for one in row["left"] if one.startswith(f"{way}: ")]
    runs = sum(len(row["seconds"][way]) for row in found)
    text = [f"{runs} runs of {len(found)} programs, {len(wrong)} other than plain", *wrong[:6]]
    if unstable:
        text += [f"plain runs that differ among themselves: {len(unstable)}", *unstable[:3]]
    text += [f"Terrace said {len(said)} lines", *said[:3]] if said else []
    text += [f"other files than plain: {len(left)}", *left[:3]] if left else []
    return Measured("\n".join(text), not (wrong or unstable or said or left))


def within(losses: dict[str, float], limit: float = TIME) -> tuple[str, bool]:
    """Describes programs' losses of time; returns also whether all are within the limit."""
    slow = {name: loss for name, loss in losses.items() if loss > limit}
    worst = max(losses, key=lambda name: losses[name])
    text = (
        f"{len(losses) - len(slow)} of {len(losses)} within {limit:.0%}; the worst {losses[worst]:+.1%}, {worst}"
    )
    if slow:
        text += "\n" + ", ".join(f"{name} {loss:+.1%}" for name, loss in slow.items())
    return text, not slow


def _time(way: str) -> Measured:
    found = [row for row in rows() if row["is_timed"]]
    text, holds = within({row["program"]: over(row, "seconds", way) for row in found})
    return Measured(text, holds, [_shown(row) for row in found] if way == OURS else ())


def _memory() -> Measured:
    found = [row for row in rows() if row["is_timed"]]  # the others' first run reads from the disk
    return memory(found, OURS)


def memory(found: Sequence[Row], way: str) -> Measured:
    """Returns which programs' peak memory is within the limit."""
    more = {row["program"]: more_memory(row, way) for row in found}
    beyond = [row["program"] for row in found if not is_within_memory(row, way)]
    worst = max(more, key=lambda name: more[name])
    text = f"{len(found) - len(beyond)} of {len(found)} within; at most {more[worst] / MIB:+.0f} MiB, {worst}"
    return Measured(text + (f"\nbeyond: {', '.join(beyond)}" if beyond else ""), not beyond)


def _shown(row: Row) -> Row:
    """Returns a program's row for the result page: medians, losses, memory."""

    def median(what: str, way: str) -> float:
        return float(statistics.median(row[what][way]))

    return {
        "program": row["program"],
        "ended": row["ended"],
        **{f"{way}_s": f"{median('seconds', way):.2f}" for way in WAYS},
        "loss": f"{over(row, 'seconds', OURS):+.1%}",
        "loss_of_cpu": f"{over(row, 'cpu', OURS):+.1%}",
        "loss_off": f"{over(row, 'seconds', OFF):+.1%}",
        **{f"{way}_mib": f"{median('peak', way) / MIB:.0f}" for way in (PLAIN, OURS)},
        "same": "no" if any(one.startswith(OURS) for one in row["wrong"]) else "yes",
    }


CRITERIA = [
    Criterion(
        "unmodified programs: output",
        "`terrace run` gives what the program gives without: output but for times, files, exit status; no line of "
        "its own, no other file",
        lambda: same_output(rows(), OURS),
    ),
    Criterion(
        "unmodified programs: time", "within 3 %, medians of interleaved runs", functools.partial(_time, OURS)
    ),
    Criterion(
        "unmodified programs: memory",
        "the control group's largest use, page cache included, within 5 % and 64 MiB of plain; medians",
        _memory,
    ),
    Criterion("TERRACE=off: output", "as without `terrace run`", lambda: same_output(rows(), OFF)),
    Criterion("TERRACE=off: time", "within 3 %, medians of interleaved runs", functools.partial(_time, OFF)),
]
