"""Systems that lack something (tests/support/lacking.py), each tried with real programs.

Once as they run on a machine with one kind of memory, once on one node that a machine file calls two kinds
(same_node.toml), so that pages are watched and moved, which is what uses most of what is missing.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from harness import ROOT, TERRACE, Line, Measured, keep_part

from programs_lines.cases import chosen_names
from programs_lines.needed import require
from programs_lines.profiles import moves_of, was_watched
from programs_lines.watched import MACHINE

_SQL = (
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
    "SELECT count(*), sum(length(printf('%064d', i))) FROM n; CREATE TABLE t AS SELECT 1; SELECT 5 / 0 IS NULL;"
)
PROGRAMS: dict[str, list[str]] = {
    "sh": ["/bin/sh", "-c", "seq 100000 | sort -n | tail -1; exit 4"],
    "python3": ["/usr/bin/python3", "-c", "import sys; print(sum(bytearray(range(250)) * 40000)); sys.exit(3)"],
    "sqlite3": ["sqlite3", ":memory:", _SQL],
    "g++": [
        "/bin/sh",
        "-c",
        f"g++ -std=c++20 -O1 -I{ROOT}/src/foundation -c {ROOT}/src/foundation/core/plan.cpp -o - -S | md5sum",
    ],
    "sort": ["/bin/sh", "-c", "seq 300000 | rev | LC_ALL=C sort -S 60M | md5sum"],
}


# Two arrays, of which one fits into fast memory, read for as long as it takes to watch, plan and move.
_SWEEPS = """import sys, time, zlib
a, b = bytearray(range(256)) * (24 << 12), bytearray(range(255, -1, -1)) * (24 << 12)
ends = time.monotonic() + 15
while time.monotonic() < ends:
    found = zlib.crc32(a) ^ b.count(7)
print(found)
sys.exit(6)"""
ALL_THERE = "all there"  # the condition in which nothing is missing
SWEEPS = "sweeps"
_NO_SESSION = "there is no room for what the launcher and the program share"
# Systems on which that program's pages are not watched, and why. On all others they have to be.
NOT_WATCHED = {
    "no /proc": "pages are cleared and read there",
    "no /proc, no /sys": "pages are cleared and read there",
    "small files": _NO_SESSION,
    "no TMPDIR": _NO_SESSION,
    "TMPDIR full": _NO_SESSION,
    "TMPDIR read-only": _NO_SESSION,
}
# Systems on which they are watched, and no move is told.
NOT_MOVED = {
    "no placing, not permitted": "the kernel moves nothing",
    "no placing, not built in": "the kernel moves nothing",
    "nothing of all that": "the kernel moves nothing",
    "TMPDIR of 64 KiB": "the journal has no room for what comes after the first notes",
    "TMPDIR of 8 KiB": "the journal has no room for what comes after the first notes",
}
WATCHED_PROGRAMS = {**PROGRAMS, SWEEPS: ["/usr/bin/python3", "-c", _SWEEPS]}
# How the lines begin by which a run that was watched ends on every system.
_CLOSING = re.compile(
    r"terrace: (\d+ iterations? in |no main loop was seen|no access was seen|nothing was seen|gained |lost "
    r"|undone, |an iteration took )"
)


@functools.cache
def _conditions() -> ModuleType:
    """Loads the module of the tests, which is no package."""
    path = ROOT / "tests" / "support" / "lacking.py"
    spec = importlib.util.spec_from_file_location("lacking_systems", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} cannot be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _ended(words: Sequence[str], cwd: Path) -> tuple[int, bytes, list[str]]:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, cwd=cwd)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").splitlines()


def beyond_closing(lines: Sequence[str]) -> list[str]:
    """Returns Terrace's messages other than the closing report."""
    return [line for line in lines if line.startswith("terrace: ") and not _CLOSING.match(line)]


def _prefix(is_watched: bool) -> list[str]:
    """Returns the words in front of the program. Without -o the profile is in the working folder."""
    watching = ["--machine", str(MACHINE), "--fast", "28MiB"] if is_watched else []
    return [str(TERRACE), "run", *watching, "--"]


def _tried(name: str, is_watched: bool) -> dict[str, Any]:
    """Runs a condition with all programs; returns failures and Terrace's messages."""
    require(("sqlite3", "g++"))
    module = _conditions()
    wrong, said, runs, seen = [], set(), 0, []
    with tempfile.TemporaryDirectory(prefix="terrace-programs-") as folder:
        where = Path(folder)
        where.chmod(0o777)  # any user may write a profile there
        for program, command in (WATCHED_PROGRAMS if is_watched else PROGRAMS).items():
            for earlier in where.glob("*.terrace"):
                earlier.unlink()
            try:
                plain = _ended(module.CONDITIONS[name](where, command), where)
                ours = _ended(module.CONDITIONS[name](where, [*_prefix(is_watched), *command]), where)
            except module.LackingError as why:
                return {"name": name, "wrong": [], "said": [], "runs": 0, "why": str(why), "seen": []}
            runs += 1
            lines = [line for line in ours[2] if line.startswith("terrace: ")]
            told = beyond_closing(lines) if is_watched else lines
            said |= {line.replace(folder, "FOLDER") for line in told}
            rest = [line for line in ours[2] if not line.startswith("terrace: ")]
            if (ours[0], ours[1], rest) != plain or len(told) > 1:
                wrong.append(f"{name}, {program}: {plain[0]} became {ours[0]}: {' | '.join(ours[2])[:160]}")
            profiles = [one for one in where.glob("*.terrace") if was_watched(one)]
            if is_watched and profiles:
                seen.append(f"{program}, {sum(map(moves_of, profiles))} moves")
    return {"name": name, "wrong": wrong, "said": sorted(said), "runs": runs, "why": "", "seen": seen}


def short_of(found: Sequence[dict[str, Any]]) -> list[str]:
    """Lists the conditions in which the pages of the long-running program were not monitored, or moved, although
    it is possible."""
    texts = []
    for each in found:
        counts = (int(one.split()[1]) for one in each["seen"] if one.startswith(f"{SWEEPS}, "))
        moves = next(counts, None)
        if each["why"] or each["name"] in NOT_WATCHED:
            continue
        if moves is None:
            texts.append(f"{each['name']}: {SWEEPS} was not watched")
        elif moves == 0 and each["name"] not in NOT_MOVED:
            texts.append(f"{each['name']}: nothing of {SWEEPS} was moved")
    return texts


def _all(is_watched: bool) -> Measured:
    part = "lacking-watched-" if is_watched else "lacking-"
    found = [
        keep_part(f"{part}{name}", functools.partial(_tried, name, is_watched))
        for name in chosen_names(_conditions().CONDITIONS)
    ]
    wrong = [one for each in found for one in each["wrong"]]
    left = [f"{each['name']}: {each['why']}" for each in found if each["why"]]
    runs = sum(each["runs"] for each in found)
    text = [f"{len(found)} systems, {runs} runs, {len(wrong)} other than plain", *wrong[:8], *left]
    short = short_of(found) if is_watched else []
    if is_watched:
        text.append(f"pages were watched on {sum(bool(each['seen']) for each in found)} systems")
        text.append(f"not on: {', '.join(each['name'] for each in found if not each['seen']) or 'none'}")
        text += short
    rows = [
        {
            "system": each["name"],
            "runs": each["runs"],
            "wrong": len(each["wrong"]),
            "said": " / ".join(each["said"]),
            **({"watched": "; ".join(each["seen"])} if is_watched else {}),
        }
        for each in found
    ]
    return Measured("\n".join(text), not (wrong or left or short), rows)


LINES = [
    Line(
        "systems that lack something",
        "output and exit status as without us, one line on standard error at most",
        functools.partial(_all, False),
    ),
    Line(
        "systems that lack something, watched",
        "the same where Terrace watches, plans and moves, on one node called two kinds of memory: one line at "
        "most besides how the run went; watched and moved wherever that can be",
        functools.partial(_all, True),
    ),
]
