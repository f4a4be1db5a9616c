"""Measures the cost of a launch by `terrace run`, and of each process that a program starts. Criteria of
acceptance/programs.

The criteria measure it without monitoring, as on a machine with one kind of memory. The cost with monitoring, on
one node that a machine file describes as two kinds, is reported as well.
"""

from __future__ import annotations

import functools
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from harness import SETTINGS, TERRACE, Criterion, Measured, keep_part

from programs_lines.runs import interleaved
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
    """Runs a command; returns its seconds by the clock, and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, cwd=where, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _runs(command: Sequence[str], count: int) -> dict[str, list[tuple[float, float]]]:
    """Measures clock and processor time of plain runs, of runs under Terrace, with TERRACE=off, and monitored."""
    with tempfile.TemporaryDirectory(prefix="terrace-programs-") as name:
        where = Path(name)
        ours = [str(TERRACE), "run", "--", *command]
        watching = ["--machine", str(MACHINE), "--fast", "64MiB", "--quiet", "-o", str(where / "kept.terrace")]
        own = {"plain": command, "terrace": ours, "off": ["env", "TERRACE=off", *ours]}
        own["watched"] = [str(TERRACE), "run", *watching, "--", *command]
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in own}
        for words in own.values():
            _took(words, where)  # files that are read from the disk, and what is kept of the program
        for way in interleaved(tuple(own), count):
            found[way].append(_took(own[way], where))
            (where / "kept.terrace").unlink(missing_ok=True)
    return found


@functools.cache
def _medians(name: str, *command: str) -> dict[str, tuple[float, float]]:
    """Returns the medians of clock and processor time, by way."""
    count = SETTINGS.turns * (20 if name == "launch" else 1)
    found = keep_part(name, lambda: _runs(command, count), timed=True)
    return {way: (median(one[0] for one in runs), median(one[1] for one in runs)) for way, runs in found.items()}


def _more() -> dict[str, float]:
    """Returns the seconds of a launch beyond plain, by way."""
    found = _medians("launch", "/bin/true")
    return {way: clock - found["plain"][0] for way, (clock, _) in found.items()}


def _launch() -> Measured:
    """Judges the time that `terrace run` adds to /bin/true."""
    found, more = _medians("launch", "/bin/true"), _more()
    text = (
        f"{found['plain'][0] * 1e3:.1f} ms plain, {found['terrace'][0] * 1e3:.1f} ms, {more['terrace'] * 1e3:.1f} "
        f"ms more; with TERRACE=off, and env(1) in front, {more['off'] * 1e3:.1f} ms more; watched "
        f"{more['watched'] * 1e3:.1f} ms more"
    )
    return Measured(text, more["terrace"] < LAUNCH)


def _children(name: str, script: str, processes: int = 0) -> Measured:
    """Judges the share of time that Terrace adds to a script that starts many processes."""
    found = _medians(name, "/bin/sh", "-c", script)
    plain, cpu = found["plain"]
    more = {way: found[way][0] - plain - launch for way, launch in _more().items()}
    text = (
        f"{plain:.3f} s plain, {found['terrace'][0]:.3f} s: {more['terrace'] / plain:+.1%} without the launch "
        f"itself, {found['terrace'][1] / cpu - 1:+.1%} of processor time with it; watched "
        f"{more['watched'] / plain:+.1%}"
    )
    if processes:
        each, usual = more["terrace"] / processes, plain / processes
        text += f"; {each * 1e6:.0f} us a process, which takes {usual * 1e6:.0f}"
    return Measured(text, more["terrace"] / plain <= CHILDREN)


CRITERIA = [
    Criterion("launch", "`terrace run -- /bin/true` takes less than 5 ms more than /bin/true", _launch),
    Criterion(
        "processes of a build",
        "a script that writes, compiles, links and runs small programs: within 3 %, the launch apart",
        lambda: _children("children-configure", _CONFIGURE),
    ),
    Criterion(
        f"{PROCESSES} times /bin/true",
        "from a shell's loop: within 3 %, the launch apart",
        lambda: _children("children-true", _LOOP, PROCESSES),
    ),
]
