"""Removes from a program's output what differs between runs (times, process numbers), before the criteria of
acceptance/programs compare outputs.

A pattern of _DROPPED removes the whole line that it matches; one of _REPLACED only its match. Keys name kinds of
programs: lmp is LAMMPS.
"""

from __future__ import annotations

import re

# Lines that state times.
_DROPPED: dict[str, tuple[str, ...]] = {
    "lmp": (
        r"^Loop time of",
        r"^Performance:",
        r"^[0-9.]+% CPU use",
        r"^(Pair|Bond|Neigh|Comm|Output|Modify|Other) +\|",
        r"^Total wall time",
        r" CPU = ",
    ),
    "stress-ng": (r"(dispatching hogs|successful run completed|metrics|bogo ops|stressor)",),
    "python": (r"^Total duration:", r"^Total tests:", r"^== (cwd|CPU count|encodings)"),
    "redis": (r"requests per second", r"^Last reply received", r"^All data transferred"),
}
# Times and process numbers in lines that also state results.
_REPLACED: dict[str, tuple[tuple[str, str], ...]] = {
    "stress-ng": ((r"\[\d+\]", "[PID]"), (r"\d+\.\d+ ?s(ecs)?", "TIME")),
    "python": (
        (r"^\d+:\d\d:\d\d( load avg: \d+\.\d+)? ", ""),
        (r"\d+(\.\d+)? (sec|min)( \d+(\.\d+)? sec)?", "TIME"),
        (r"test_python_\d+", "test_python_N"),
    ),
}
# Results among the output of hpcc; the rest is speed.
_RESULTS_OF_HPCC = (
    r"Found \d+ errors in \d+ locations",
    r"\d+ tests? completed and [a-z ]+",
    r"\|\|Ax-b\|\|.*",
    r"^(?:PTRANS_residual|[A-Za-z]*FFT_maxErr|MPIRandomAccess[A-Z_]*Errors|[A-Za-z]*Success|HPL_N|[A-Z_a-z]*_N)=.*",
    r"^Maximum error.*",
    r"^Solution Validates.*",
)


def filtered(kind: str, text: str) -> str:
    """Removes the parts of an output that differ from run to run; `kind` names the program. cases.py and guests.py
    call it before they compare outputs."""
    if kind == "hpcc":
        return "\n".join(match for line in text.splitlines() for match in _results_of_hpcc(line))
    kept = []
    for line in text.splitlines():
        if any(re.search(pattern, line) for pattern in _DROPPED.get(kind, ())):
            continue
        rest = line
        for pattern, replacement in _REPLACED.get(kind, ()):
            rest = re.sub(pattern, replacement, rest)
        kept.append(rest)
    return "\n".join(kept)


def _results_of_hpcc(line: str) -> list[str]:
    return [found.group() for pattern in _RESULTS_OF_HPCC if (found := re.search(pattern, line))]
