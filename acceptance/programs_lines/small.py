"""Programs that cannot gain: they hold little, read and write files, or are over soon."""

from __future__ import annotations

import functools
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, TERRACE, Line, Measured, keep_part

from programs_lines.cases import chosen_names
from programs_lines.needed import require
from programs_lines.runs import scratch

LOSS = 0.01
# Each takes a second or more, so that the launch itself, which has a line of its own, is not what is measured.
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
    "g++ -c": "g++ -std=c++20 -O2 -I$ROOT/src -c $ROOT/src/core/plan.cpp -o plan.o",
    "tar": "for i in 1 2 3; do tar cf - -C $ROOT src tests | tar tf - | wc -l; done",
    "find": "for i in 1 2 3 4 5; do find $ROOT/src $ROOT/tests -type f -name '*.?pp' -exec cat {} + | cksum; done",
    "sh": "i=0; while [ $i -lt 1500000 ]; do i=$((i + 1)); done; echo $i",
}


def _once(words: str, is_ours: bool, where: Path) -> tuple[float, bytes]:
    command = ["/bin/sh", "-c", words]
    begun = time.perf_counter()
    done = subprocess.run(
        [str(TERRACE), "run", "--", *command] if is_ours else command,
        cwd=where,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "ROOT": str(ROOT), "HOME": str(where), "TMPDIR": "/tmp"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
    )
    return time.perf_counter() - begun, done.stdout + str(done.returncode).encode()


def _measured(name: str, where: Path) -> dict[str, Any]:
    require(("bc", "xz", "zstd", "perl", "g++"))
    seconds: dict[bool, list[float]] = {False: [], True: []}
    same = True
    _, truth = _once(PROGRAMS[name], False, where)
    for turn in range(2 * SETTINGS.turns):
        for is_ours in (False, True) if turn % 2 == 0 else (True, False):
            took, outcome = _once(PROGRAMS[name], is_ours, where)
            seconds[is_ours].append(took)
            same = same and outcome == truth
    plain, ours = (statistics.median(seconds[way]) for way in (False, True))
    # The interval of the paired differences' median by the sign test says what the machine's noise allows.
    pairs = sorted(b / a - 1 for a, b in zip(seconds[False], seconds[True], strict=True))
    low, high = pairs[len(pairs) // 5], pairs[-1 - len(pairs) // 5]
    return {"program": name, "plain": plain, "ours": ours, "low": low, "high": high, "same": same}


def _all() -> Measured:
    where = scratch() / "terrace-programs-small"
    where.mkdir(exist_ok=True)
    numbers = where / "numbers"
    if not numbers.exists():
        numbers.write_text("".join(f"{i * 48271 % 2147483647}\n" for i in range(2_000_000)))
    found = [
        keep_part(f"small-{name}", functools.partial(_measured, name, where), timed=True)
        for name in chosen_names(PROGRAMS)
    ]
    subprocess.run(["rm", "-rf", where], check=True)
    losses = {row["program"]: row["ours"] / row["plain"] - 1 for row in found}
    beyond = {name: loss for name, loss in losses.items() if loss > LOSS}
    wrong = [row["program"] for row in found if not row["same"]]
    worst = max(losses, key=lambda name: losses[name])
    text = f"{len(found) - len(beyond)} of {len(found)} lose at most {LOSS:.0%}"
    text += f"; the worst {losses[worst]:+.1%}, {worst}"
    text += f"; other output: {', '.join(wrong)}" if wrong else ""
    text += "\n" + ", ".join(f"{name} {loss:+.1%}" for name, loss in beyond.items()) if beyond else ""
    rows = [
        {
            "program": row["program"],
            "plain_s": f"{row['plain']:.2f}",
            "terrace_s": f"{row['ours']:.2f}",
            "loss": f"{row['ours'] / row['plain'] - 1:+.1%}",
            "interval": f"{row['low']:+.1%} to {row['high']:+.1%}",
        }
        for row in found
    ]
    return Measured(text, not beyond and not wrong, rows)


LINES = [Line("programs that cannot gain", "20 of them lose at most 1 %, medians of interleaved runs", _all)]
