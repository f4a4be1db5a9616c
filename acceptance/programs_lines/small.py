"""Measures programs that cannot gain: they hold little, read and write files, or are over soon. Criteria of
acceptance/programs.

Once as they run on a machine with one kind of memory, where nothing is to be placed; once on one node that a
machine file calls two kinds (same_node.toml), where Terrace watches, plans and moves.
"""

from __future__ import annotations

import functools
import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Criterion, Measured, keep_part

from programs_lines.cases import chosen_names
from programs_lines.cost import over, within
from programs_lines.needed import require
from programs_lines.profiles import was_watched
from programs_lines.runs import OURS, PLAIN, interleaved, scratch
from programs_lines.watched import MACHINE

LOSS = 0.01
WATCHED = "watched"
WAYS = (PLAIN, OURS, WATCHED)
# Each takes a second or more, so that the launch itself, which has a criterion of its own, is not measured.
PROGRAMS: dict[str, str] = {
    "sort": "sort -S 8M --parallel=1 numbers -o sorted",
    "gzip": "gzip -c -6 numbers >packed",
    "bzip2": "head -c 8000000 numbers | bzip2 -c >packed",
    "xz": "head -c 4000000 numbers | xz -c -3 >packed",
    "zstd": "zstd -q -f -9 numbers -o packed",
    "sha256sum": "for i in 1 2 3 4 5; do sha256sum numbers; done",
    "md5sum": "for i in 1 2 3 4 5 6 7 8; do md5sum numbers; done",
    "base64": "for i in 1 2 3 4 5; do base64 numbers | base64 -d | cksum; done",
    "wc": "for i in 1 2 3 4 5 6; do wc numbers; done",
    "grep": "for i in 1 2 3 4 5 6; do grep -cE '(12|34)+5.*7$' numbers; done",
    "sed": "sed -E 's/([0-9])([0-9])/\\2\\1/g' numbers >packed",
    "awk": "awk '{ s += $1 * $1; c[$1 % 97] += 1 } END { print s, length(c) }' numbers",
    "perl": 'perl -ne \'$s += $_ * 3; $c{$_ % 1000} .= "x" if $_ % 7 == 0; END { print "$s\\n" }\' numbers',
    "python3": "python3 -c 'print(sum(i * i % 7 for i in range(12000000)))'",
    "python3, many": "for i in 1 2 3 4 5 6 7 8 9 10; do python3 -c 'import json, re, subprocess'; done",
    "bc": "echo 'scale=2200; 4*a(1)' | bc -l",
    "g++ -c": "g++ -std=c++20 -O2 -I$ROOT/src/foundation -c $ROOT/src/foundation/core/plan.cpp -o plan.o",
    "tar": "for i in 1 2 3; do tar cf - -C $ROOT src tests | tar tf - | wc -l; done",
    "find": "for i in 1 2 3 4 5; do find $ROOT/src $ROOT/tests -type f -name '*.?pp' -exec cat {} + | cksum; done",
    "sh": "i=0; while [ $i -lt 1500000 ]; do i=$((i + 1)); done; echo $i",
}
# Programs with enough data for their pages to be monitored. The others have too little, or only file pages.
WATCHABLE = ("xz", "zstd", "python3", "python3, many", "g++ -c")

Row = dict[str, Any]


def _prefix(way: str, profile: Path) -> list[str]:
    """Returns the words in front of the program."""
    if way == PLAIN:
        return []
    watching = ["--machine", str(MACHINE), "--fast", "64MiB", "-o", str(profile)] if way == WATCHED else []
    return [str(TERRACE), "run", *watching, "--"]


def _own(text: bytes, way: str) -> bytes:
    """Returns the program's own output: Terrace prints messages only where it monitors."""
    lines = text.splitlines(keepends=True)
    return b"".join(line for line in lines if way != WATCHED or not line.startswith(b"terrace: "))


def _once(words: str, way: str, where: Path) -> tuple[float, bytes]:
    """Runs a small program once in a way; returns its seconds and its output."""
    profile = _profile(where)
    profile.unlink(missing_ok=True)
    command = [*_prefix(way, profile), "/bin/sh", "-c", words]
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=where,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "ROOT": str(ROOT), "HOME": str(where), "TMPDIR": "/tmp"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
    )
    return time.perf_counter() - begun, _own(done.stdout, way) + str(done.returncode).encode()


def _profile(where: Path) -> Path:
    """Returns the path of the last monitored run's profile, next to the programs' working folder."""
    return where.with_name(f"{where.name}.terrace")


def _measured(name: str, where: Path) -> Row:
    """Runs a small program in all ways, interleaved; returns times and ways of other output."""
    require(("bc", "xz", "zstd", "perl", "g++"))
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    wrong: set[str] = set()
    _, truth = _once(PROGRAMS[name], PLAIN, where)
    seen = False
    for way in interleaved(WAYS, 2 * SETTINGS.turns):
        took, outcome = _once(PROGRAMS[name], way, where)
        seconds[way].append(took)
        if outcome != truth:
            wrong.add(way)
        if way == WATCHED:
            seen = seen or was_watched(_profile(where))
    _profile(where).unlink(missing_ok=True)
    return {"program": name, "seconds": seconds, "wrong": sorted(wrong), "seen": seen}


@functools.cache
def _found() -> list[Row]:
    where = scratch() / "terrace-programs-small"
    where.mkdir(exist_ok=True)
    try:
        numbers = where / "numbers"
        if not numbers.exists():
            numbers.write_text("".join(f"{i * 48271 % 2147483647}\n" for i in range(2_000_000)))
        return [
            keep_part(f"small-{name}", functools.partial(_measured, name, where), timed=True)
            for name in chosen_names(PROGRAMS)
        ]
    finally:
        shutil.rmtree(where, ignore_errors=True)


def _interval(row: Row, way: str) -> str:
    """Returns the interval of the paired differences' median by the sign test: the precision that the machine's
    noise allows."""
    pairs = sorted(b / a - 1 for a, b in zip(row["seconds"][PLAIN], row["seconds"][way], strict=True))
    return f"{pairs[len(pairs) // 5]:+.1%} to {pairs[-1 - len(pairs) // 5]:+.1%}"


def judged(found: list[Row], way: str) -> tuple[str, bool]:
    """Describes the programs' losses in one way; returns also whether all are within the limit and as plain."""
    text, fine = within({row["program"]: over(row, "seconds", way) for row in found}, LOSS)
    wrong = [row["program"] for row in found if way in row["wrong"]]
    return text + (f"\nother output: {', '.join(wrong)}" if wrong else ""), fine and not wrong


def not_seen(found: list[Row]) -> list[str]:
    """Lists the programs whose pages should have been monitored."""
    return [row["program"] for row in found if row["program"] in WATCHABLE and not row["seen"]]


def _all(way: str) -> Measured:
    """Judges the time and the output of all small programs in a way."""
    found = _found()
    text, holds = judged(found, way)
    if way == WATCHED:
        seen = [row["program"] for row in found if row["seen"]]
        unseen = not_seen(found)
        text += f"\nin {len(seen)} of {len(found)} there was something to watch: {', '.join(seen) or 'none'}"
        text += f"\nnot watched, although there is something: {', '.join(unseen)}" if unseen else ""
        text += f"\nbeside, where nothing is watched: {judged(found, OURS)[0].splitlines()[0]}"
        holds = holds and not unseen
    rows = [
        {
            "program": row["program"],
            "plain_s": f"{statistics.median(row['seconds'][PLAIN]):.2f}",
            "terrace_s": f"{statistics.median(row['seconds'][way]):.2f}",
            "loss": f"{over(row, 'seconds', way):+.1%}",
            "interval": _interval(row, way),
            **({"watched": "yes" if row["seen"] else "no"} if way == WATCHED else {}),
        }
        for row in found
    ]
    return Measured(text, holds, rows)


CRITERIA = [
    Criterion(
        "programs that cannot gain",
        "20 of them lose at most 1 %, medians of interleaved runs",
        functools.partial(_all, OURS),
    ),
    Criterion(
        "programs that cannot gain, watched",
        "the same where Terrace watches, plans and moves, on one node called two kinds of memory: at most 1 %, "
        "output as without, and what can be watched is",
        functools.partial(_all, WATCHED),
    ),
]
