"""Runs small programs (cases/) at a memory limit, with threads of MPI libraries, and with steps of inner loops.
Criteria of acceptance/strangers.

Each prints the same as without Terrace; its costs are judged. Tests compare many more of these kinds
(tests/python/test_every_mode.py, test_memory_limits.py).
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import TERRACE, Criterion, Measured, environment, fresh, keep_part, run, work
from others_tool.pricing import priced
from others_tool.profiles import Profile

SOURCES = Path(__file__).resolve().parent / "cases"
MACHINE = "unimem-lat4"
MEMORY = "64MiB"
MIB = 2**20
SIZE = 64  # MiB, as large as MEMORY
ROUNDS = 20
MIN_WAITS = 0.5  # min share of an out-of-core run's extra time that its closing line states as waits
MAX_LONGER = 10.0  # max slowdown against a run in memory, for data as large as --memory
MAX_READS = 4.0  # bytes that scattered blocks read, beside those of one block
MAX_MPI = 2.0  # times as long as with the other library
RUNS = 3  # the least wall time counts

Words = Sequence[str | Path]


def _built(source: str, *flags: str, compiler: Words = ("gcc",), **env: str) -> Path:
    program = work("strangers-cases") / Path(source).stem
    program.parent.mkdir(parents=True, exist_ok=True)
    run([*compiler, "-O2", SOURCES / source, "-o", program, *flags], env={**os.environ, **env})
    return program


def _ended(command: Words) -> tuple[int, str, dict[str, Any]]:
    """Runs a program with a stack of 1 MiB; returns status, output, and Terrace's summary."""
    words = ["sh", "-c", 'ulimit -s 1024 && exec "$@"', "sh", *map(str, command)]
    done = subprocess.run(words, text=True, capture_output=True, timeout=600, cwd=work("strangers-cases"))
    begin = done.stderr.find("{")
    summary = json.JSONDecoder().raw_decode(done.stderr, begin)[0] if begin >= 0 else {}
    return done.returncode, done.stdout, summary.get("over_file") or {}


def _over_file(memory: str, *command: str | Path) -> list[str | Path]:
    return [TERRACE, "run", "--memory", memory, "--spill", work("strangers-cases"), "--json", "--", *command]


def _timed(command: Words) -> tuple[float, tuple[int, str, dict[str, Any]]]:
    """Returns the least wall time in seconds, and that run's result."""
    runs = []
    for _ in range(RUNS):
        begun = time.monotonic()
        got = _ended(command)
        runs.append((time.monotonic() - begun, got))
    return min(runs, key=lambda one: one[0])


def _full_memory() -> dict[str, Any]:
    words: Words = [_built("pages.c"), str(SIZE), str(ROUNDS)]
    inside, _ = _timed(_over_file("128MiB", *words))
    took, (_, output, account) = _timed(_over_file(MEMORY, *words))
    counts = {name: float(account.get(key) or 0.0) for name, key in _COUNTS.items()}
    return {"same": output == _ended(words)[1], "inside": inside, "took": took, **counts}


_COUNTS = {"waited": "threads_waited_s", "read": "read_bytes"}


def memory_of_the_data() -> Measured:
    """Measures repeated sweeps (one word a page) over data exactly as large as --memory."""
    row = keep_part("case-full-memory", _full_memory, timed=True)
    longer = row["took"] - row["inside"]
    passes = SIZE * MIB * ROUNDS
    named = row["waited"] / longer if longer > 0 else 1.0
    text = (
        f"{row['took']:.2f} s for {row['inside']:.2f} s in memory, of which the closing line names "
        f"{row['waited']:.2f} s; {row['read'] / MIB:.0f} MiB read in passes of {passes / MIB:.0f} MiB"
    )
    fine = (
        row["same"] and row["took"] <= MAX_LONGER * row["inside"] and named >= MIN_WAITS and row["read"] <= passes
    )
    return Measured(text if row["same"] else f"another output; {text}", fine)


def scattered_mappings() -> Measured:
    """Compares random reads in 64 mappings with those in one of equal size, in a quarter of their size of
    memory."""
    rows: list[dict[str, Any]] = []
    read: list[float] = []
    program = _built("scatter.c")
    for blocks, name in (("0", "one mapping"), ("1", "64 mappings")):
        words: Words = [program, blocks, "20000"]
        _, output, account = _ended(_over_file(MEMORY, *words))
        read.append(float(account.get("read_bytes") or 0.0))
        rows.append({"program": name, "same": output == _ended(words)[1], "read, MiB": round(read[-1] / MIB)})
    ratio = read[1] / max(read[0], 1.0)
    same = all(row["same"] for row in rows)
    return Measured(f"64 mappings read {ratio:.2f} times what one reads", same and 0 < ratio <= MAX_READS, rows)


# --- libraries with threads of their own -------------------------------------------------------------------------

_MPI = ("openmpi", "mpich")
_MODES = ("alone", "record", "simulate")


def _mpi_costs(name: str) -> dict[str, float]:
    """Returns the least wall seconds of each mode, with a library of PyPI. Raises RuntimeError if one gives
    another output."""
    place = work("packages") / f"environment-{name}"
    environment(place, "--only-binary", ":all:", name)
    wrapper = str(TERRACE.parent / "terrace-cc")
    program = _built("steps.c", "-g", compiler=[place / "bin" / "mpicc"], OMPI_CC=wrapper, MPICH_CC=wrapper)
    costs, outputs = {}, set()
    for mode in _MODES:
        words: Words = [TERRACE, mode, "-q", "-m", MACHINE, "-o", fresh("mpi") / "mpi.terrace", "--"]
        costs[mode], (status, output, _) = _timed([*(words if mode != "alone" else ()), program])
        outputs.add((status, output))
    if len(outputs) != 1:
        raise RuntimeError(f"{name}: other outputs: {sorted(map(str, outputs))}")
    return costs


def mpi() -> Measured:
    """Compares Terrace's overhead with Open MPI, which has progress threads, and with MPICH, which has none."""
    costs = {name: keep_part(f"case-mpi-{name}", functools.partial(_mpi_costs, name), timed=True) for name in _MPI}
    rows = [{"mode": mode, **{name: costs[name][mode] for name in _MPI}} for mode in _MODES]
    text = "; ".join(f"{row['mode']} {row['openmpi']:.2f} s, MPICH {row['mpich']:.2f} s" for row in rows)
    return Measured(text, all(row["openmpi"] <= MAX_MPI * row["mpich"] for row in rows[1:]), rows)


# --- a spectral program ------------------------------------------------------------------------------------

MAX_BEHIND = 1.0  # % that live may take more than first touch
SHARES = (25, 50, 75)


def _steps() -> list[dict[str, Any]]:
    """Runs a program of inner steps with first touch and live on two machines; returns their times."""
    program = _built("waves.c", "-g", "-lm", compiler=[TERRACE.parent / "terrace-cc"], TERRACE_CC="gcc")
    caches = ["--cache", "l3=1MiB"]
    rows: list[dict[str, Any]] = []
    for machine in ("unimem-bw2", "unimem-lat4"):
        file = fresh("steps") / "steps.terrace"
        run([TERRACE, "record", "-q", "-m", machine, *caches, "-o", file, "--", program])
        footprint = Profile(file).footprint()
        for share in SHARES:
            about = f"machine={machine} fast={max(footprint * share // 100, 1)} planner="
            stores = priced(
                lambda before: run([*before, program]),
                file,
                {"first": f"{about}first-touch", "live": f"{about}auto"},
                *caches,
            )
            first, live = (Profile(stores[label]).seconds() for label in ("first", "live"))
            rows.append({"machine": machine, "fast, %": share, "behind, %": 100 * (live / first - 1)})
    return rows


def steps_beside_first_touch() -> Measured:
    """Compares live placement with first touch for an FFT code whose inner loops iterate far more often than its
    time-step loop."""
    rows: list[dict[str, Any]] = keep_part("case-steps-live", _steps)
    over = [row for row in rows if row["behind, %"] > MAX_BEHIND]
    most = max(row["behind, %"] for row in rows)
    lines = [f"{row['machine']}, {row['fast, %']} %: {row['behind, %']:+.1f} %" for row in over]
    return Measured("\n".join([f"{most:+.2f} % at most in {len(rows)} cases", *lines]), not over, rows)


CRITERIA = [
    Criterion(
        "case: data as large as the memory",
        f"{SIZE} MiB touched by the page in --memory {MEMORY}: output as without Terrace, at most "
        f"{MAX_LONGER:.0f} times the time in memory; the closing line names at least {MIN_WAITS:.0%} of what it "
        "takes longer; no more is read than each pass through the data",
        memory_of_the_data,
    ),
    Criterion(
        "case: scattered mappings", f"reads at most {MAX_READS:.0f} times those of one mapping", scattered_mappings
    ),
    Criterion(
        "case: threads of a library",
        f"record and simulate take at most {MAX_MPI:.0f} times as long with Open MPI as with MPICH",
        mpi,
    ),
    Criterion(
        "case: a spectral program beside first touch",
        f"live at most {MAX_BEHIND:.0f} % longer than first touch, with {', '.join(map(str, SHARES))} % of the "
        f"footprint as fast memory",
        steps_beside_first_touch,
    ),
]
