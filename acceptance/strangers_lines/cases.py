"""Small programs of the kinds that failed in public reports: each gives what it gives without Terrace.

The programs lie beside this file (cases/). Every mode starts hooked and unmodified programs with a stack of 1 MiB,
so that constant stack is part of what is compared. Standard output and the exit status are compared; messages of
Terrace go to standard error.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import ROOT, TERRACE, Line, Measured, keep_part, run, work

SOURCES = Path(__file__).resolve().parent / "cases"
MACHINE = "unimem-lat4"
FAST = "2MiB"
MEMORY = "64MiB"
SECONDS = 600  # for each run
WRAPPERS = {"gcc": "cc", "clang": "cc", "g++": "c++", "clang++": "c++"}
# clang 14 has coroutines of C++20 by an option of their own.
COROUTINES = ("-std=c++20", "-fcoroutines-ts")


def folder() -> Path:
    """Returns the folder in which programs of the cases are built and run."""
    place = work("strangers-cases")
    place.mkdir(parents=True, exist_ok=True)
    return place


def build(
    compiler: str, source: str, flags: Sequence[str], name: str, *, hooked: bool, libraries: Sequence[str] = ()
) -> Path:
    """Builds a program or library with a compiler, or with the wrapper that stands for it."""
    program = folder() / f"{name}.{compiler}{'.hooked' if hooked else ''}"
    words = [compiler]
    if hooked:
        which = WRAPPERS[compiler]
        variable = {"cc": "TERRACE_CC", "c++": "TERRACE_CXX"}[which]
        words = ["env", f"{variable}={compiler}", str(TERRACE.parent / f"terrace-{which}")]
    run([*words, *flags, SOURCES / source, "-o", program, *libraries])
    return program


def compilers(names: Sequence[str]) -> list[str]:
    """Returns those of the names that are installed."""
    return [name for name in names if shutil.which(name)]


def _modes(profile: Path, plan: Path | None) -> dict[str, list[str]]:
    """Returns the words before the program, by the name of the mode."""
    on = ["--machine", MACHINE]
    modes = {
        "alone": [],
        "run": ["run"],
        "run, live": ["run", "--fast", FAST],
        "run, by intent": ["run", "--intent", "bandwidth"],
        "run, profiled": ["run", "--profile", "-o", str(profile)],
        "run, out of core": ["run", "--memory", MEMORY, "--spill", str(folder())],
        "record": ["record", *on, "-o", str(profile)],
        "simulate": ["simulate", *on, "--fast", FAST, "-o", str(profile)],
        "simulate, exact": ["simulate", *on, "--exact", "-o", str(profile)],
    }
    if plan:
        modes["simulate, by plan"] = ["simulate", *on, "--fast", FAST, "--plan", str(plan), "-o", str(profile)]
    return {mode: [str(TERRACE), *words, "--"] if words else [] for mode, words in modes.items()}


def outcome(command: Sequence[str | Path]) -> dict[str, Any]:
    """Runs a program with a stack of 1 MiB; returns its output and its status."""
    words = ["sh", "-c", 'ulimit -s 1024 && exec "$@"', "sh", *map(str, command)]
    try:
        done = subprocess.run(words, text=True, capture_output=True, timeout=SECONDS, cwd=folder())
    except subprocess.TimeoutExpired:
        return {"status": "no end", "output": "", "said": ""}
    return {"status": done.returncode, "output": done.stdout, "said": done.stderr}


def _plan(program: Sequence[str | Path], name: str) -> Path | None:
    """Records the program and plans from it. Returns None if `plan` makes no plan, as of programs without data."""
    profile, plan = folder() / f"{name}.plan.terrace", folder() / f"{name}.toml"
    recorded = run([TERRACE, "record", "--machine", MACHINE, "-o", profile, "--", *program], check=False)
    if recorded.returncode != 0:
        return None
    planned = run([TERRACE, "plan", profile, "--fast", FAST, "--confidence", "0", "-o", plan], check=False)
    return plan if planned.returncode == 0 else None


def _compared(name: str, native: Sequence[str | Path], program: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Returns a row for each mode: whether the program's result equals that of `native`."""
    want = outcome(native)
    plan = _plan(program, name)
    rows = []
    for mode, before in _modes(folder() / f"{name}.terrace", plan).items():
        got = outcome([*before, *program])
        same = want["status"] in range(256) and all(got[key] == want[key] for key in ("status", "output"))
        seen = "" if same else f"status {got['status']}, {len(got['output'].splitlines())} lines"
        said = "" if same else " ".join(got["said"].split())[-120:].replace(f"{ROOT}/", "")
        rows.append({"program": name, "mode": mode, "same": same, "instead": f"{seen} {said}".strip()})
    return rows


def _sum_up(rows: Sequence[dict[str, Any]]) -> Measured:
    """Returns the share of runs with equal results, and the first that differed."""
    wrong = [row for row in rows if not row["same"]]
    text = f"{len(rows) - len(wrong)} of {len(rows)} runs as without Terrace"
    if wrong:
        text += f"; {wrong[0]['program']}, {wrong[0]['mode']}: {wrong[0]['instead']}"
    shown = [{**row, "same": "yes" if row["same"] else "no"} for row in rows]
    return Measured(text, bool(rows) and not wrong, shown)


def _kept(name: str, native: Sequence[str | Path], program: Sequence[str | Path]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = keep_part(f"case-{name}", lambda: _compared(name, native, program))
    return kept


def tail_calls() -> Measured:
    """Compares recursion in tail position, an interpreter, coroutines."""
    rows: list[dict[str, Any]] = []
    for compiler in compilers(["gcc", "clang"]):
        plain, hooked = (build(compiler, "recursion.c", ["-O2"], "recursion", hooked=h) for h in (False, True))
        rows += _kept(f"recursion with {compiler}", [plain], [hooked])
    for compiler in compilers(["g++", "clang++"]):
        flags = ["-O2", *(COROUTINES if compiler == "clang++" else COROUTINES[:1])]
        plain, hooked = (build(compiler, "chain.cpp", flags, "chain", hooked=h) for h in (False, True))
        rows += _kept(f"coroutines with {compiler}", [plain], [hooked])
    return _sum_up(rows)


def openmp() -> Measured:
    """Libraries with OpenMP that a program loads, alone and two run-time libraries in one process."""
    rows: list[dict[str, Any]] = []
    found = compilers(["gcc", "clang"])
    shared = ["-O2", "-fopenmp", "-shared", "-fPIC"]
    for compiler in found:
        for hooked in (False, True):
            loader = build(compiler, "loader.c", ["-O2"], "loader", hooked=hooked)
            plain = build(compiler, "loader.c", ["-O2"], "loader", hooked=False)
            for kind, more in {"reduction": [], "locks": ["-DLOCKS"]}.items():
                library = build(compiler, "team.c", [*shared, *more], kind, hooked=False)
                name = f"{kind} with {compiler}{', hooked' if hooked else ''}"
                rows += _kept(name, [plain, library], [loader, library])
    if len(found) > 1:
        libraries = [folder() / f"{kind}.{name}" for kind in ("reduction", "locks") for name in found]
        loader = folder() / f"loader.{found[0]}"
        rows += _kept("two run-time libraries", [loader, *libraries], [loader, *libraries])
    return _sum_up(rows)


def _foreign_runs(program: Path) -> list[list[str]]:
    """Runs a program alone, and as a child of a shell, of make and of a program that can load Terrace."""
    makefile = folder() / "foreign.mk"
    makefile.write_text(f"all:\n\t@{program} || echo $$?\n")
    return [[str(program)], ["sh", "-c", f"{program}; exit $?"], ["make", "-s", "-f", str(makefile)]]


def foreign_library() -> Measured:
    """Compares a dynamic program of musl, which cannot load Terrace's library."""
    if not compilers(["musl-gcc"]):
        return Measured("there is no musl-gcc", False)
    program = folder() / "stranger"
    run(["musl-gcc", "-O2", SOURCES / "stranger.c", "-o", program])
    rows: list[dict[str, Any]] = []
    for words in _foreign_runs(program):
        want = outcome(words)
        for mode, before in _modes(folder() / "stranger.terrace", None).items():
            got = outcome([*before, *words])
            # A profile of no program that Terrace can see has a status of its own.
            profiles = mode.startswith(("record", "simulate"))
            same = got["output"] == want["output"] and (profiles or got["status"] == want["status"])
            name = words[0] if words[0] in ("sh", "make") else "alone"
            said = "" if same else " ".join(got["said"].split())[-120:]
            rows.append(
                {"program": name, "mode": mode, "same": same, "instead": "" if same else f"{got['status']} {said}"}
            )
    return _sum_up(rows)


def _loops(file: Path) -> list[tuple[str, int]]:
    """Returns the main loops of a profile, with their iterations."""
    with sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True) as store:
        rows = store.execute("SELECT name, turns_before + coalesce(iterations, 0) FROM main_loop")
        return [(str(name), int(count)) for name, count in rows]


def main_loop() -> Measured:
    """Checks the main loop of a program whose steps hold loops that repeat more often than its steps do."""
    rows: list[dict[str, Any]] = []
    for compiler in compilers(["gcc", "clang"]):
        plain, hooked = (build(compiler, "relax.c", ["-O2", "-g"], "relax", hooked=h) for h in (False, True))
        rows += _kept(f"steps with {compiler}", [plain], [hooked])
        for mode, words in {
            "record": ["record"],
            "record --every 1": ["record", "--every", "1"],
            "simulate": ["simulate"],
        }.items():
            file = folder() / "relax.terrace"
            run([TERRACE, *words, "--machine", MACHINE, "--cache", "l3=1MiB", "-o", file, "--", hooked])
            loops = _loops(file)
            # The first step may count as set-up.
            same = len(loops) == 1 and loops[0][0].startswith("main") and loops[0][1] in (4, 5)
            rows.append(
                {
                    "program": f"loop with {compiler}",
                    "mode": mode,
                    "same": same,
                    "instead": "" if same else str(loops),
                }
            )
    return _sum_up(rows)


# Statements that make a profile unreadable, by name.
_DAMAGES = {
    "names": "update object set name = cast(x'6199' as text)",
    "sizes": "update object set size = 'many'",
    "no runs": "delete from run",
    "no objects table": "drop table object",
}
_READERS = {
    "show": [],
    "plan": ["--fast", FAST],
    "bounds": ["--fast", FAST],
    "report": ["-o", "damaged.html"],
    "export": ["--format", "json"],
}


def _damaged(file: Path, kind: str) -> Path:
    copy = file.with_suffix(f".{kind.replace(' ', '-')}.terrace")
    if kind == "cut short":
        copy.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        return copy
    shutil.copyfile(file, copy)
    with sqlite3.connect(copy) as store:
        store.execute(_DAMAGES[kind])
    store.close()
    return copy


def damaged_profile() -> Measured:
    """Profiles that are damaged: what reads them says so in one line."""
    program = build("gcc", "relax.c", ["-O2", "-g"], "relax", hooked=True)
    file = folder() / "whole.terrace"
    run([TERRACE, "record", "--machine", MACHINE, "-o", file, "--", program])
    rows: list[dict[str, Any]] = []
    for kind in [*_DAMAGES, "cut short"]:
        copy = _damaged(file, kind)
        for verb, words in _READERS.items():
            got = outcome([TERRACE, verb, copy, *words])
            lines = got["said"].strip().splitlines()
            same = got["status"] not in (0, "no end") and len(lines) == 1 and copy.name in got["said"]
            rows.append(
                {
                    "program": kind,
                    "mode": verb,
                    "same": same,
                    "instead": "" if same else f"{got['status']} {lines[-1:]}",
                }
            )
    wrong = [row for row in rows if not row["same"]]
    text = f"{len(rows) - len(wrong)} of {len(rows)} refused in one line that names the file"
    if wrong:
        text += f"; {wrong[0]['program']}, {wrong[0]['mode']}: {wrong[0]['instead']}"
    return Measured(text, not wrong, [{**row, "same": "yes" if row["same"] else "no"} for row in rows])


MAX_READS = 4.0  # bytes that scattered blocks read, beside those of one block


def scattered_mappings() -> Measured:
    """Compares random reads in 64 mappings with those in one of equal size, in a quarter of their size of
    memory."""
    rows: list[dict[str, Any]] = []
    read: list[float] = []
    program = build("gcc", "scatter.c", ["-O2"], "scatter", hooked=False)
    for blocks in ("0", "1"):
        want = outcome([program, blocks, "20000"])
        before: list[str | Path] = [TERRACE, "run", "--memory", MEMORY, "--spill", folder(), "--json", "--"]
        got = outcome([*before, program, blocks, "20000"])
        begin = got["said"].find("{")
        summary = json.JSONDecoder().raw_decode(got["said"], begin)[0] if begin >= 0 else {}
        read.append(float(find_value(summary, "read_bytes") or 0.0))
        rows.append(
            {
                "program": "one mapping" if blocks == "0" else "64 mappings",
                "mode": "run, out of core",
                "same": "yes" if got["output"] == want["output"] else "no",
                "instead": f"{read[-1] / 2**20:.0f} MiB read",
            }
        )
    same = all(row["same"] == "yes" for row in rows)
    ratio = read[1] / max(read[0], 1.0)
    return Measured(f"64 mappings read {ratio:.2f} times what one reads", same and 0 < ratio <= MAX_READS, rows)


def find_value(document: Any, key: str) -> Any:
    """Returns the first value of a key in a JSON document, at any depth."""
    if isinstance(document, dict):
        if key in document:
            return document[key]
        document = list(document.values())
    values: Iterator[Any] = iter(document) if isinstance(document, list) else iter(())
    return next((value for value in (find_value(one, key) for one in values) if value is not None), None)


_SAME = "output and status as without Terrace in every mode, with gcc and clang"
LINES = [
    Line("case: tail calls and coroutines", f"{_SAME}, in 1 MiB of stack", tail_calls),
    Line("case: OpenMP by dlopen", _SAME, openmp),
    Line("case: another C library", "output and status as without Terrace in every mode", foreign_library),
    Line("case: loops within steps", f"{_SAME}; one main loop, of 4 or 5 iterations", main_loop),
    Line("case: damaged profiles", "each refused in one line that names the file", damaged_profile),
    Line(
        "case: scattered mappings", f"reads at most {MAX_READS:.0f} times those of one mapping", scattered_mappings
    ),
]
