"""Systems that lack something (tests/support/lacking.py), each tried with real programs."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from harness import ROOT, TERRACE, Line, Measured, keep_part

from programs_lines.needed import require

_SQL = (
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
    "SELECT count(*), sum(length(printf('%064d', i))) FROM n; CREATE TABLE t AS SELECT 1; SELECT 5 / 0 IS NULL;"
)
PROGRAMS: dict[str, list[str]] = {
    "sh": ["/bin/sh", "-c", "seq 100000 | sort -n | tail -1; exit 4"],
    "python3": ["/usr/bin/python3", "-c", "import sys; print(sum(bytearray(range(250)) * 40000)); sys.exit(3)"],
    "sqlite3": ["sqlite3", ":memory:", _SQL],
    "g++": ["/bin/sh", "-c", f"g++ -std=c++20 -O1 -I{ROOT}/src -c {ROOT}/src/core/plan.cpp -o - -S | md5sum"],
    "sort": ["/bin/sh", "-c", "seq 300000 | rev | LC_ALL=C sort -S 60M | md5sum"],
}


@functools.cache
def _conditions() -> ModuleType:
    """That of the tests, which is no package."""
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


def _tried(name: str) -> dict[str, Any]:
    """A condition with all programs: what went wrong, and what Terrace said."""
    require(("sqlite3", "g++"))
    module = _conditions()
    wrong, said, runs = [], set(), 0
    with tempfile.TemporaryDirectory(prefix="terrace-programs-") as folder:
        where = Path(folder)
        where.chmod(0o755)
        for program, command in PROGRAMS.items():
            try:
                plain = _ended(module.CONDITIONS[name](where, command), where)
                ours = _ended(module.CONDITIONS[name](where, [str(TERRACE), "run", "--", *command]), where)
            except module.LackingError as why:
                return {"name": name, "wrong": [], "said": [], "runs": 0, "why": str(why)}
            runs += 1
            lines = [line for line in ours[2] if line.startswith("terrace: ")]
            said |= {line.replace(folder, "FOLDER") for line in lines}
            rest = [line for line in ours[2] if not line.startswith("terrace: ")]
            if (ours[0], ours[1], rest) != plain or len(lines) > 1:
                wrong.append(f"{name}, {program}: {plain[0]} became {ours[0]}: {' | '.join(ours[2])[:160]}")
    return {"name": name, "wrong": wrong, "said": sorted(said), "runs": runs, "why": ""}


def _all() -> Measured:
    found = [keep_part(f"lacking-{name}", functools.partial(_tried, name)) for name in _conditions().CONDITIONS]
    wrong = [one for each in found for one in each["wrong"]]
    left = [f"{each['name']}: {each['why']}" for each in found if each["why"]]
    runs = sum(each["runs"] for each in found)
    text = [f"{len(found)} systems, {runs} runs, {len(wrong)} other than plain", *wrong[:8], *left]
    rows = [
        {
            "system": each["name"],
            "runs": each["runs"],
            "wrong": len(each["wrong"]),
            "said": " / ".join(each["said"]),
        }
        for each in found
    ]
    return Measured("\n".join(text), not wrong and not left, rows)


LINES = [
    Line(
        "systems that lack something",
        "output and exit status as without us, one line on standard error at most",
        _all,
    )
]
