"""Makes and compares a golden set: results of virtual time for all workloads under all strategies, to the last
digit. digits.py runs it for acceptance/house.

Virtual time repeats exactly, so code that is moved or rewritten without a change of meaning gives the same digits.
`python golden.py write FILE` makes the set with an installation's `terrace`; `python golden.py compare FILE` makes
it again and prints each row that differs. Rows are kept as they are made, so a run that was interrupted goes on
where it stopped. Each file has the identity of its installation: commit, and SHA-256 of launcher and library. Rows
of another installation are never continued, and an installation is not compared with itself.

A row is one configuration of one execution: the loop's seconds, and a SHA-256 over every phase's times and every
move (what, from where, to where, asked, begun, done) in the order of the journal. It reads the profile store with
SQL alone, and the programs' words from this tree's manifests, so it needs nothing of the package under test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))  # the reader of manifests, which needs nothing that is built

from terrace.lab.workloads import read_all  # noqa: E402

# Machines, with caches so small that class S does not fit.
MACHINES = {
    "unimem-lat4": ("l2=32KiB", "l3=128KiB"),
    "ddr5-cxl": ("l1=8KiB", "l2=32KiB", "l3=128KiB"),
}
STRATEGIES = (
    *("auto", "stream", "unimem", "global", "local", "xmem", "ecohmem", "soar", "first-touch", "interleave"),
    *("weighted-interleave", "slow-only", "fast-only", "kernel-tiering", "memtis", "colloid"),
    *("alto", "cache-mode"),
)
PLANNED = ("auto", "unimem")  # whose plans, made of a profile, are obeyed in a later run

Words = list[str | Path]  # of a command
Row = dict[str, str | int]
Identity = dict[str, str]  # commit, launcher and library
DONE = " done"  # ends the name of the marker that a program's rows are complete


class Refused(Exception):
    """Files or installations that cannot be compared; the text says why, and what to do."""


class Golden:
    """Makes the rows with one installation, in a folder of its own."""

    def __init__(self, terrace: Path, workloads: Path, work: Path) -> None:
        self._terrace, self._workloads, self._work = terrace, workloads, work
        # Its name before configurations had theirs.
        text = subprocess.run([terrace, "simulate", "--help"], capture_output=True, text=True).stdout
        self._option = "--config" if "--config" in text else "--world"

    def rows(self, known: dict[str, Row]) -> Iterator[tuple[str, Row]]:
        """Returns each row by name; executions all of whose rows are known are not repeated."""
        there = read_all(ROOT / "workloads")
        for name, workload in there.items():
            yield from self._program(name, name, workload.words("golden"), known)
        for name, workload in there.items():
            if "golden" in workload.two_threads:
                words = [*workload.words("golden"), "--threads", "2"]
                yield from self._program(f"{name}-2", name, words, known)

    def _program(
        self, title: str, name: str, words: list[str], known: dict[str, Row]
    ) -> Iterator[tuple[str, Row]]:
        """Yields the rows of one program on every machine, unless a file has all of them already."""
        if title + DONE in known:
            return
        command: Words = [self._build(name, title.endswith("-2")), *words]
        fast = self._footprint(command) // 4
        for machine in MACHINES:
            yield from self._machine(title, machine, command, fast)
        yield title + DONE, {}

    def _machine(self, title: str, machine: str, command: Words, fast: int) -> Iterator[tuple[str, Row]]:
        """Records a program on a machine, plans from it, and yields the row of each strategy and plan."""
        folder = Path(tempfile.mkdtemp(dir=self._work))
        caches = [word for cache in MACHINES[machine] for word in ("--cache", cache)]
        of = ["--quiet", "--machine", machine, *caches]
        profile, misses = folder / "record.terrace", folder / "misses"
        recorded = ["record", *of, "--every", "1", "--exact", "--misses", misses, "-o", profile, "--", *command]
        self._run(recorded)
        yield f"{title} {machine} record", _row(profile)
        configurations = [
            f"label={strategy} machine={machine} planner={strategy} fast={fast}" for strategy in STRATEGIES
        ]
        for planner in PLANNED:
            plan = folder / f"{planner}.toml"
            self._run(["plan", profile, "--fast", str(fast), "--planner", planner, "-o", plan])
            replayed = folder / f"planned.{planner}.terrace"
            self._run(["replay", misses, *of, "--plan", plan, "-o", replayed])
            yield f"{title} {machine} planned {planner}", {**_row(replayed), "plan": _digest(_lines(plan))}
        store = folder / "run.terrace"
        options = [word for one in configurations for word in (self._option, one)]
        self._run(["simulate", *of, "-o", store, *options, "--", *command])
        for strategy in STRATEGIES:
            yield f"{title} {machine} {strategy}", _row(folder / f"run.{strategy}.terrace")
        for strategy in ("auto", "memtis"):
            replayed = folder / f"replay.{strategy}.terrace"
            self._run(["replay", misses, *of, "--planner", strategy, "--fast", str(fast), "-o", replayed])
            yield f"{title} {machine} replay {strategy}", _row(replayed)
        shutil.rmtree(folder)

    def _footprint(self, command: Words) -> int:
        """Returns the bytes of a program's objects, by a run with all data in slow memory."""
        store = self._work / "footprint.terrace"
        store.unlink(missing_ok=True)
        self._run(["run", "--quiet", "--planner", "slow-only", "-o", store, "--", *command])
        wanted = "('heap', 'mapping', 'fixed', 'common', 'named')"
        sizes = _query(store, f"SELECT sum(size) FROM object WHERE kind IN {wanted} AND name NOT LIKE '(%'")
        return int(sizes[0][0])

    def _build(self, name: str, threads: bool) -> Path:
        folder = self._work / ("openmp" if threads else "programs")
        if not (folder / name).exists():
            flags = "-O2 -g -fopenmp" if threads else "-O2 -g"
            environment = {**os.environ, "CXX": str(self._terrace.with_name("terrace-c++")), "CXXFLAGS": flags}
            subprocess.run(["sh", self._workloads / "build.sh", folder, name], env=environment, check=True)
        return folder / name

    def _environment(self) -> dict[str, str]:
        """Returns an environment of constant length wherever the installation is: its size on the stack decides
        which cache lines main's first variables share."""
        name = str(self._terrace.parent.parent)
        return {"PATH": "/usr/bin:/bin", "HOME": "/", "TMPDIR": "/tmp", "FILL": "x" * (200 - len(name))}

    def _run(self, words: Words) -> None:
        done = subprocess.run([self._terrace, *words], capture_output=True, text=True, env=self._environment())
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))[:200]}: {done.returncode}: {done.stderr[-400:]}")


def _query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    """Returns the rows of a query of a profile store."""
    connection = sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _row(store: Path) -> Row:
    """Returns the golden row of one execution: times in the loop, and hashes of phases, moves and counters."""
    loops = _query(store, "SELECT begun, ended, iterations FROM loop ORDER BY run, number")
    phases = _query(
        store,
        "SELECT loop, iteration, phase, name, begun, ended, waited, observed FROM phase_instance"
        " ORDER BY run, loop, iteration, phase",
    )
    moves = _query(
        store,
        'SELECT object, first, chunks, size, source, target, iteration, asked, begun, done, refused FROM "move"'
        " ORDER BY run, id",
    )
    counters = _query(store, "SELECT accesses, instructions, misses, core, exposed, waited, charged FROM counters")
    cells = _query(store, "SELECT * FROM cell")
    return {
        "loop_s": repr(sum(ended - begun for begun, ended, _ in loops)),
        "iterations": sum(row[2] for row in loops),
        "phases": _digest(phases),
        "moves": len(moves),
        "order": _digest(moves),
        "counters": _digest(counters),
        "cells": _digest(cells),
    }


def _lines(plan: Path) -> list[tuple[Any, ...]]:
    # Comments name the origin of the plan, so they are not compared. The golden set calls rate limits paces.
    return [
        (line.replace("rate_limits", "paces"),)
        for line in plan.read_text().splitlines()
        if not line.startswith("#")
    ]


def _digest(rows: list[tuple[Any, ...]]) -> str:
    sha = hashlib.sha256()
    for row in rows:
        sha.update(repr(row).encode() + b"\n")
    return sha.hexdigest()[:16]


# --- the file ------------------------------------------------------------------------------------------------


def identity(terrace: Path) -> Identity:
    """Returns the commit of an installation and the SHA-256 of its launcher and library, or raises Refused."""
    library = terrace.parent.parent / "lib" / "terrace" / "libterrace.so"
    if not terrace.is_file() or not library.is_file():
        raise Refused(f"{terrace}: no installation: {terrace if library.is_file() else library} is missing")
    done = subprocess.run([terrace, "--version"], capture_output=True, text=True)
    commit = re.search(r"\(commit ([^)]+)\)", done.stdout)
    if done.returncode != 0 or commit is None:
        raise Refused(f"{terrace} --version states no commit: {(done.stdout + done.stderr).strip()[:100]!r}")
    return {"commit": commit[1], "launcher": _sha256(terrace), "library": _sha256(library)}


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read(path: Path) -> tuple[Identity, dict[str, Row]]:
    """Returns the identity and the rows of a file; raises Refused if it has no identity."""
    document = json.loads(path.read_text())
    if "identity" not in document:
        raise Refused(f"{path} does not state its installation: delete it and write it again")
    return document["identity"], document["rows"]


def make(path: Path, terrace: Path, workloads: Path) -> dict[str, Row]:
    """Makes all rows, and writes the file after each program. Continues an interrupted run of this installation;
    raises Refused if the file is of another one."""
    own = identity(terrace)
    known: dict[str, Row] = {}
    if path.exists():
        before, known = read(path)
        if before != own:
            raise Refused(
                f"{path} is of another installation, commit {before['commit']}; {terrace} is of commit"
                f" {own['commit']}: delete the file or name another"
            )
    work = Path(tempfile.mkdtemp(prefix="golden."))
    try:
        batch: dict[str, Row] = {}
        for name, row in Golden(terrace, workloads, work).rows(known):
            batch[name] = row
            if name.endswith(DONE):
                known |= batch
                batch = {}
                _write(path, own, known)
                print(f"{len(measured(known))} rows; {name}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return known


def compare(file: Path, now: Path, terrace: Path, workloads: Path) -> tuple[int, dict[str, str]]:
    """Makes the rows of `terrace` in the file `now`; returns their number and the differences from `file`.

    Deletes `now` if it is of another installation. Raises Refused if `file` is of this installation.
    """
    own = identity(terrace)
    before, golden = read(file)
    if before == own:
        raise Refused(f"{file} is of {terrace} itself, commit {own['commit']}: write it with another installation")
    if not measured(golden):
        raise Refused(f"{file} has no rows: write it again")
    if now.exists() and json.loads(now.read_text()).get("identity") != own:
        print(f"{now} is of another installation: deleted, all rows are made anew", file=sys.stderr)
        now.unlink()
    rows = make(now, terrace, workloads)
    return len(measured(rows)), differences(golden, rows)


def _write(path: Path, own: Identity, rows: dict[str, Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f'{{"schema": 2, "identity": {json.dumps(own)}, "rows": {{\n'
    body = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(head + body + "\n}}\n")
    beside.replace(path)


def measured(rows: dict[str, Row]) -> dict[str, Row]:
    """Returns the rows without the markers of complete programs."""
    return {name: row for name, row in rows.items() if not name.endswith(DONE)}


def differences(golden: dict[str, Row], now: dict[str, Row]) -> dict[str, str]:
    """Describes where this installation's results differ from the golden set, by row; either set may lack rows."""
    golden, now = measured(golden), measured(now)
    found = {name: "new" if name in now else "missing" for name in sorted(golden.keys() ^ now.keys())}
    for name, row in now.items():
        if name in golden and row != golden[name]:
            keys = sorted(row.keys() | golden[name].keys())
            changed = [key for key in keys if row.get(key) != golden[name].get(key)]
            before, after = golden[name].get("loop_s", "0"), row.get("loop_s", "0")
            found[name] = f"{', '.join(changed)}; loop {float(before):.6g} s -> {float(after):.6g} s"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--now", type=Path, help="where the rows of `compare` are kept; default FILE.now")
    parser.add_argument("--terrace", type=Path, default=ROOT / ".venv" / "bin" / "terrace")
    parser.add_argument("--workloads", type=Path, default=ROOT / "workloads")
    arguments = parser.parse_args()
    try:
        if arguments.what == "write":
            make(arguments.file, arguments.terrace, arguments.workloads)
            return 0
        now = arguments.now or arguments.file.with_suffix(".now")
        count, found = compare(arguments.file, now, arguments.terrace, arguments.workloads)
    except Refused as reason:
        print(f"golden.py: {reason}", file=sys.stderr)
        return 2
    for name, what in found.items():
        print(f"{name}: {what}")
    print(f"{count} rows, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
