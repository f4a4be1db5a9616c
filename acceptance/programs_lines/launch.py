"""Cost of a launch, and of each process that a program starts.

The criteria measure it without monitoring, as on a machine with one kind of memory. The cost with monitoring, on
one node that a machine file describes as two kinds, is reported as well.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness import SETTINGS, TERRACE, Line, Measured, keep_part

from programs_lines.watched import MACHINE

LAUNCH = 5e-3  # seconds beyond plain
CHILDREN = 0.03
PROCESSES = 500
_LOOP = f"for i in $(seq {PROCESSES}); do /bin/true; done"
# Imitates configure: writes, compiles, links and runs small programs.
_CONFIGURE = """for i in $(seq 12); do
  printf '#include <stdio.h>\\nint main(void) { return printf("%d\\\\n", {i}) < 0; }\\n' | sed "s/{i}/$i/" >try.c
  gcc -O1 -c try.c -o try.o && gcc try.o -o try && ./try | grep -q "^$i$" && echo "checking for $i... yes"
  expr $i + 1 >/dev/null; rm -f try.o try; basename "$PWD" >/dev/null
done"""


def _took(words: Sequence[str], where: Path) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, cwd=where, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _pairs(command: list[str], count: int) -> dict[str, list[list[float]]]:
    """Measures clock and processor time of plain runs, of runs under Terrace, with TERRACE=off, and monitored."""
    own = {"plain": command, "terrace": [str(TERRACE), "run", "--", *command]}
    own["off"] = ["env", "TERRACE=off", *own["terrace"]]
    where = Path(tempfile.mkdtemp(prefix="terrace-programs-"))
    watching = ["--machine", str(MACHINE), "--fast", "64MiB", "--quiet", "-o", str(where / "kept.terrace")]
    own["watched"] = [str(TERRACE), "run", *watching, "--", *command]
    found: dict[str, list[list[float]]] = {way: [] for way in own}
    try:
        for words in own.values():
            _took(words, where)  # files that are read from the disk, and what is kept of the program
        for turn in range(count):
            for way in own if turn % 2 == 0 else reversed(own):
                found[way].append(list(_took(own[way], where)))
                (where / "kept.terrace").unlink(missing_ok=True)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    return found


def _medians(found: dict[str, list[list[float]]]) -> dict[str, tuple[float, float]]:
    return {
        way: (statistics.median(one[0] for one in all_), statistics.median(one[1] for one in all_))
        for way, all_ in found.items()
    }


def _launch() -> Measured:
    found = _medians(keep_part("launch", lambda: _pairs(["/bin/true"], 20 * SETTINGS.turns), timed=True))
    more = found["terrace"][0] - found["plain"][0]
    text = (
        f"{found['plain'][0] * 1e3:.1f} ms plain, {found['terrace'][0] * 1e3:.1f} ms, {more * 1e3:.1f} ms more; "
        f"with TERRACE=off, and env(1) in front, {(found['off'][0] - found['plain'][0]) * 1e3:.1f} ms more; "
        f"watched {(found['watched'][0] - found['plain'][0]) * 1e3:.1f} ms more"
    )
    return Measured(text, more < LAUNCH)


def _children(name: str, script: str) -> Measured:
    found = _medians(keep_part(name, lambda: _pairs(["/bin/sh", "-c", script], SETTINGS.turns), timed=True))
    launch = _medians(keep_part("launch", lambda: _pairs(["/bin/true"], 20 * SETTINGS.turns), timed=True))
    once = launch["terrace"][0] - launch["plain"][0]
    more = (found["terrace"][0] - once) / found["plain"][0] - 1
    cpu = found["terrace"][1] / found["plain"][1] - 1
    watched = (found["watched"][0] - launch["watched"][0] + launch["plain"][0]) / found["plain"][0] - 1
    text = (
        f"{found['plain'][0]:.3f} s plain, {found['terrace'][0]:.3f} s: {more:+.1%} without the launch itself, "
        f"{cpu:+.1%} of processor time with it; watched {watched:+.1%}"
    )
    return Measured(text, more <= CHILDREN)


def _true() -> Measured:
    found = _children("children-true", _LOOP)
    launch = _medians(keep_part("launch", lambda: _pairs(["/bin/true"], 20 * SETTINGS.turns), timed=True))
    all_ = _medians(
        keep_part("children-true", lambda: _pairs(["/bin/sh", "-c", _LOOP], SETTINGS.turns), timed=True)
    )
    each = (all_["terrace"][0] - all_["plain"][0] - launch["terrace"][0] + launch["plain"][0]) / PROCESSES
    least = all_["plain"][0] / PROCESSES
    return Measured(f"{found.text}; {each * 1e6:.0f} us a process, which takes {least * 1e6:.0f}", found.holds)


LINES = [
    Line("launch", "`terrace run -- /bin/true` takes less than 5 ms more than /bin/true", _launch),
    Line(
        "processes of a build",
        "a script that writes, compiles, links and runs small programs: within 3 %, the launch apart",
        lambda: _children("children-configure", _CONFIGURE),
    ),
    Line(f"{PROCESSES} times /bin/true", "from a shell's loop: within 3 %, the launch apart", _true),
]
