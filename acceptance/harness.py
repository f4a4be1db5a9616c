"""Measures the criteria of an acceptance program, each with a goal, a measurement and a verdict; keeps results.

run.py calls `main`; the modules of the packages *_lines define the criteria. A `Criterion` has a function that
returns Measured(text, holds), and raises Unavailable if this machine cannot run it at all. The criterion then
is below target, with the reason, and so is one that failed. Criteria are printed as they finish. Exit status: 0 if
every criterion is met, 1 if one is below target, 3 if the time budget ended before all were measured, 2 for
invalid arguments.

Measurements of a commit are kept in docs/results/data/COMMIT/NAME.json and not repeated: an interrupted program
resumes at the criterion that it did not finish. Criteria that failed, or could not be run, are tried again. A
criterion of many parts keeps each with `keep_part`. Criteria that take hours are skipped without --apart. Before
the first criterion `make build` updates the installed copy, so that the measurements are of that commit. With
changes in the tree, or options that make criteria smaller, no result is kept from one call to the next: the
document goes to out/acceptance/NAME.json. --allow-dirty treats the changes as if they were committed; the result
pages say so.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from results.installed import bring_up_to_date
from results.kept import (
    FALLS_SHORT,
    HOLDS,
    NOT_RUN,
    Document,
    Refused,
    folder_of,
    keep,
    made,
    read_own,
    work_of,
    write_whole,
)
from results.version import Version, WrongTree, machine, version
from terrace.lab.workloads import Workload, of_study, read_all

ROOT = Path(__file__).resolve().parent.parent
TERRACE = ROOT / ".venv" / "bin" / "terrace"
SETTINGS = argparse.Namespace()  # parsed options; main() fills it before the first criterion is measured
UNFINISHED = 3  # exit status
_AGAIN = "ACCEPTANCE_BEGAN_AGAIN"  # in the environment of a program whose installed copy changed under it


class Unavailable(Exception):
    """This machine cannot run the criterion; the text says why."""


class Unfinished(Exception):
    """The time budget of this call has ended. Parts of the criterion that are kept stay; another call measures the
    rest."""


@dataclass(frozen=True)
class Measured:
    """Result of a criterion's function: the measurement in words, and whether it meets the goal."""

    text: str
    holds: bool
    rows: Sequence[Mapping[str, Any]] = ()  # of a table for the result page


@dataclass(frozen=True)
class Criterion:
    """One item to measure with its goal, as the modules of the packages *_lines list them in CRITERIA."""

    item: str
    goal: str
    measure: Callable[[], Measured]
    apart: bool = False  # takes hours: skipped without --apart


def criteria_in(package: str, order: Sequence[str] = ()) -> list[Criterion]:
    """Returns the criteria of a folder's modules that have any: those of `order` first, then the others by
    name."""
    folder = ROOT / "acceptance" / package
    # Helpers are not imported: their dependencies may not be installed.
    names = [
        file.stem for file in folder.glob("*.py") if re.search(r"^CRITERIA\b", file.read_text(), re.MULTILINE)
    ]
    if strange := set(order) - set(names):
        raise LookupError(f"{folder} has no criteria of {', '.join(sorted(strange))}")
    names.sort(key=lambda name: (order.index(name) if name in order else len(order), name))
    return [criterion for name in names for criterion in import_module(f"{package}.{name}").CRITERIA]


@functools.cache
def workloads() -> dict[str, Workload]:
    """Returns all shipped workloads by name, as their manifests describe them."""
    return read_all(ROOT / "workloads")


def every_workload(size: str) -> dict[str, list[str]]:
    """Returns each workload's arguments for a size that all of them have (terrace.lab.workloads.EVERYWHERE)."""
    return {name: workload.words(size) for name, workload in workloads().items()}


def studied(study: str) -> tuple[str, ...]:
    """Returns the names of the workloads that are in a study."""
    return tuple(workload.name for workload in of_study(workloads(), study))


def run(
    command: Sequence[str | Path],
    *,
    check: bool = True,
    timeout: float = 1800,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command and captures its text. Raises RuntimeError with its last lines if it fails and `check` is
    set."""
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, capture_output=True, timeout=timeout, cwd=cwd, env=env)
    if check and done.returncode != 0:
        tail = (done.stdout + done.stderr).strip().splitlines()[-6:]
        said = " ".join(words).replace(f"{ROOT}/", "")  # the place of the tree is no result
        raise RuntimeError(f"{said[:200]} ended with {done.returncode}: {' | '.join(tail)}")
    return done


def machines() -> list[str]:
    """Returns the shipped machine files' names."""
    return sorted(path.stem for path in (ROOT / "machines").glob("*.toml"))


def described(machine: str | Path) -> dict[str, Any]:
    """Returns a machine file as `terrace machine --json` prints it."""
    about: dict[str, Any] = json.loads(run([TERRACE, "machine", machine, "--json"]).stdout)
    return about


def build_workloads(names: Iterable[str], hooked: bool = True, flags: str = "-O2 -g") -> Path:
    """Builds workloads natively, or with nothing but CXX changed; returns their folder."""
    folder = work("workloads") / ("hooked" if hooked else "native") / re.sub(r"\W+", "", flags)
    compiler = str(TERRACE.with_name("terrace-c++")) if hooked else "c++"
    script = ROOT / "workloads" / "build.sh"
    run(["sh", script, folder, *names], env={**os.environ, "CXX": compiler, "CXXFLAGS": flags}, timeout=7200)
    return folder


@functools.cache
def workload(name: str, hooked: bool = True, flags: str = "-O2 -g") -> Path:
    """Builds a workload and returns its path."""
    return build_workloads([name], hooked, flags) / name


def query(store: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Returns the rows that an SQL query finds in a profile (a file of SQLite)."""
    connection = sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def environment(folder: Path, *words: str) -> Path:
    """Makes a Python environment with the packages that pip's words name, once, and returns its interpreter."""
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        run([sys.executable, "-m", "venv", "--clear", folder])
        done = run([python, "-m", "pip", "install", "-q", *words], check=False)
        if done.returncode != 0:
            raise Unavailable(f"no packages: {(done.stderr.strip().splitlines() or [''])[-1]}")
        (folder / "complete").touch()
    return python


# --- kept results -----------------------------------------------------------------------------------------------


@dataclass
class _Session:
    """State that main() determines before the first criterion."""

    version: Version
    folder: Path  # of the documents
    work: Path
    keeps: bool  # from one call to the next
    deadline: float | None = None  # of time.monotonic()


_SESSION = _Session(Version("", True), ROOT / "out" / "acceptance", ROOT / "out" / "acceptance" / "work", False)


def work(name: str) -> Path:
    """Returns a folder for what a program builds, records and plans. Where results are kept it belongs to this
    commit, so that no file of another commit is used."""
    return _SESSION.work / name


def fresh(name: str) -> Path:
    """Creates an empty folder of that name in the work folder."""
    folder = work("fresh") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def step_document(step: str) -> Document:
    """Returns the document that another step of the result pages left on this commit and this machine, or an empty
    one."""
    if not _SESSION.keeps:
        return {}
    document = read_own(_SESSION.folder, _SESSION.version).documents.get(step, {})
    return document if document.get("machine") == machine() else {}


def seconds_left() -> float | None:
    """Returns the seconds until the time budget of this call ends, or None without one."""
    return None if _SESSION.deadline is None else max(_SESSION.deadline - time.monotonic(), 0.0)


def keep_part(name: str, make: Callable[[], Any], *, timed: bool = False) -> Any:
    """Returns the result of `make`, converted by JSON, and keeps it, so that a criterion of many parts resumes
    with those that are missing. A `timed` result, measured by the clock, is reused only on the same machine.
    Raises Unfinished if the time budget ends before the part has started."""
    path = work("parts") / f"{name}.json"
    if _SESSION.keeps and path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        if not timed or before["machine"] == machine():
            return before["value"]
    if seconds_left() == 0:
        raise Unfinished
    text = json.dumps({**made(), "value": make()})
    if _SESSION.keeps:
        write_whole(path, text + "\n")
    return json.loads(text)["value"]


def keep_parts(makes: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Runs keep_part for each entry, concurrently on all cores. Only for figures in virtual time, which other load
    does not change. Raises Unfinished if the time budget ends before all parts have started."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ongoing = {name: pool.submit(keep_part, name, make) for name, make in makes.items()}
        try:
            return {name: part.result() for name, part in ongoing.items()}
        finally:
            pool.shutdown(cancel_futures=True)


# --- the program -------------------------------------------------------------------------------------------------


def main(name: str, criteria: Sequence[Criterion], options: Mapping[str, Mapping[str, Any]]) -> int:
    """Measures the criteria (all, or those whose item contains --only) and reports. `options` are those of the
    program, as argparse takes them; each makes criteria smaller or different from the goal."""
    own = argparse.ArgumentParser(add_help=False)
    for option, given in options.items():
        own.add_argument(option, **given)
    parser = argparse.ArgumentParser(
        description=f"acceptance of {name}: item, goal, measured, verdict", parents=[own]
    )
    parser.add_argument("--only", default="", help="only the criteria whose item contains this")
    parser.add_argument("--list", action="store_true", help="list the criteria and end")
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="start no criterion or part after this")
    parser.add_argument("--apart", action="store_true", help="also measure the criteria that take hours")
    parser.add_argument("--allow-dirty", action="store_true", help="keep results of a tree with changes, too")
    arguments = parser.parse_args(namespace=SETTINGS)
    chosen = [
        criterion
        for criterion in criteria
        if arguments.only in criterion.item and (arguments.apart or not criterion.apart)
    ]
    if arguments.list:
        for criterion in criteria:
            if arguments.only in criterion.item:
                print(f"{criterion.item}{' (with --apart)' if criterion.apart else ''}: {criterion.goal}")
        return 0
    signal.signal(signal.SIGTERM, _ended)
    quick = [name for name, value in vars(own.parse_args([])).items() if getattr(arguments, name) != value]
    try:
        before = _begin(name, quick)
        if _SESSION.keeps and arguments.budget != 0 and bring_up_to_date(ROOT):
            if _AGAIN in os.environ:
                raise WrongTree("make build installs files again that it has just installed")
            # Modules of the copy before it are loaded.
            os.execve(sys.executable, sys.orig_argv, {**os.environ, _AGAIN: "1"})
        os.environ.pop(_AGAIN, None)  # programs that criteria start begin for the first time
    except (WrongTree, Refused) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    if arguments.budget is not None:
        _SESSION.deadline = time.monotonic() + 60 * arguments.budget
    rows = {criterion.item: _as_before(criterion, before) for criterion in criteria}
    _write(name, rows)
    for criterion in _still_to_measure(chosen, rows):
        if seconds_left() == 0:
            break
        try:
            rows[criterion.item] = _measured(criterion)
        except Unfinished:
            break
        _print(rows[criterion.item])
        _write(name, rows)
    return _close(name, [rows[criterion.item] for criterion in chosen])


def _ended(number: int, _: object) -> None:
    """Exits as after an interrupt, so that criteria remove what they set up (swap, limits, file systems)."""
    raise SystemExit(128 + number)


def _begin(name: str, quick: Sequence[str]) -> dict[str, Document]:
    """Determines where results go; returns those of earlier calls by item."""
    _SESSION.version = version(ROOT)
    dirty, allowed = _SESSION.version.dirty, SETTINGS.allow_dirty
    _SESSION.keeps = not quick and (allowed or not dirty)
    if not _SESSION.keeps:
        because = f"--{quick[0].replace('_', '-')} was given" if quick else "the tree has changes"
        print(f"{name}: {because}: nothing is kept for the result pages", file=sys.stderr)
        for answered in ("experiments", "house"):  # by another call, of another tree
            shutil.rmtree(work(answered), ignore_errors=True)
        return {}
    _SESSION.folder = folder_of(ROOT, _SESSION.version)
    _SESSION.work = work_of(ROOT, _SESSION.version) / "work"
    kept = read_own(_SESSION.folder, _SESSION.version).documents.get(name, {}).get("lines", [])
    return {row["item"]: row for row in kept}


def _as_before(criterion: Criterion, before: Mapping[str, Document]) -> Document:
    """Returns the row that an earlier call kept for a criterion of the same goal, or a row that is not run."""
    row = before.get(criterion.item)
    if row is not None and row["goal"] == criterion.goal:
        return row
    return {"item": criterion.item, "goal": criterion.goal, "measured": None, "verdict": NOT_RUN}


def _still_to_measure(criteria: Sequence[Criterion], rows: Mapping[str, Document]) -> list[Criterion]:
    """Returns the criteria that were not measured yet, then those that failed."""
    new = [criterion for criterion in criteria if rows[criterion.item]["verdict"] == NOT_RUN]
    return [*new, *(criterion for criterion in criteria if rows[criterion.item].get("failed"))]


def _measured(criterion: Criterion) -> Document:
    """Measures a criterion and returns its row; an exception becomes a row that is below target and says why."""
    begun, failed = time.monotonic(), True
    try:
        measured = criterion.measure()
        failed = False
    except Unavailable as reason:
        measured = Measured(f"could not be run here: {reason}", False)
    except Unfinished:
        raise
    except Exception as error:  # a failing criterion must not hide the others
        traceback.print_exc()
        measured = Measured(f"failed: {error}", False)
    return {
        "item": criterion.item,
        "goal": criterion.goal,
        "measured": measured.text.replace(f"{ROOT}/", ""),  # the place of the tree is no result
        "verdict": HOLDS if measured.holds else FALLS_SHORT,
        **({"rows": list(measured.rows)} if measured.rows else {}),
        "failed": failed,
        "seconds": round(time.monotonic() - begun, 1),
        **made(),
    }


def _write(name: str, rows: Mapping[str, Document]) -> None:
    keep(_SESSION.folder, _SESSION.version, name, f"acceptance/{name}", {"lines": list(rows.values())})


def _print(row: Document) -> None:
    """Prints a criterion's verdict, goal and measured value."""
    print(f"{'met         ' if row['verdict'] == HOLDS else 'BELOW TARGET'} {row['item']}")
    print(f"             goal      {row['goal']}")
    for number, text in enumerate(row["measured"].splitlines() or [""]):
        print(f"             {'measured ' if number == 0 else '         '} {text}")
    sys.stdout.flush()


def _close(name: str, rows: Sequence[Document]) -> int:
    """Prints the summary and returns the exit status."""
    held, short, missing = (sum(row["verdict"] == v for row in rows) for v in (HOLDS, FALLS_SHORT, NOT_RUN))
    where = (_SESSION.folder / f"{name}.json").relative_to(ROOT)
    rest = f", {missing} are still to be measured" if missing else ""
    print(f"{held} of {len(rows)} criteria met{rest}; {where}")
    return UNFINISHED if missing else 1 if short else 0
