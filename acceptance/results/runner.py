"""Runs what the result pages need and writes the pages: `make results`, `scripts/results --help`.

Steps whose documents are there for this commit are not run again, so that an interrupted run goes on. What steps
run is made of this tree before the first of them.

`--quick` runs only the steps of the README's block, and writes it once they are finished. It writes no page, so
that those of long studies keep their commit and day.

Exit status: 0 where all that was asked for is there, 3 where the time was up before, 1 where a step failed, 2 for
a wrong call.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from results import pages
from results.installed import bring_up_to_date
from results.kept import Kept, Refused, data, folder_of, read, read_own
from results.steps import QUICK, UNFINISHED, Call, Failed, Step, all_steps
from results.version import WrongTree, list_changed_files, version

FAILED, WRONG = 1, 2
_NAMED = 3  # changes


def main(root: Path, words: Sequence[str] | None = None) -> int:
    """Runs `scripts/results` and returns its exit status."""
    arguments = _arguments(words)
    try:
        if arguments.of:
            return _write_old(root, arguments.of)
        return _results(root, arguments)
    except (WrongTree, Refused) as error:
        print(f"results: {error}", file=sys.stderr)
        return WRONG


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line of `scripts/results`."""
    about = "runs what the result pages need on this commit, as far as it was not, and writes the pages"
    parser = argparse.ArgumentParser(prog="scripts/results", description=about)
    parser.add_argument("--list", action="store_true", help="the steps, and how far each is; runs nothing")
    parser.add_argument("--quick", action="store_true", help="the README's figures alone, in minutes")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="STEP[:ITEM]",
        help="this step; of an acceptance program the criteria whose item contains ITEM. May be repeated",
    )
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="begin nothing more after so many")
    parser.add_argument("--allow-dirty", action="store_true", help="of a tree with changes, too; the pages say so")
    parser.add_argument("--pages", action="store_true", help="run nothing, write the pages")
    parser.add_argument(
        "--of",
        metavar="COMMIT[:PAGE]",
        help="run nothing, write the pages, or one of them, from what is kept of another commit",
    )
    return parser.parse_args(words)


def _results(root: Path, arguments: argparse.Namespace) -> int:
    """Lists the steps, or runs those that are missing, and writes the pages; returns the exit status."""
    at = version(root)
    if at.dirty and not (arguments.allow_dirty or arguments.list):
        names = list_changed_files(root)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise WrongTree(
            f"the tree has changes that are in no commit ({', '.join(names[:_NAMED])}{more}): commit them, or say "
            "--allow-dirty, which the pages then say, too"
        )
    folder, steps = folder_of(root, at), all_steps(root)
    if arguments.quick:
        steps = [step for step in steps if step.name in QUICK]
    kept = read_own(folder, at)
    chosen = _chosen(steps, arguments.only)
    if arguments.list:
        _list(steps, kept)
        return 0
    deadline = None if arguments.budget is None else time.monotonic() + 60 * arguments.budget
    call = Call(root, folder, at, deadline=deadline)
    if not arguments.pages and arguments.budget != 0:
        bring_up_to_date(root, "demo-build" if arguments.quick else "benchmarks")  # and `build` before it
    status = 0 if arguments.pages else _run(call, steps, chosen)
    if not arguments.quick:
        _write(root, folder, steps)
    elif status == 0:
        pages.write_readme(root, read(folder), steps)
        print(f"{pages.README} written")
    return status


def _chosen(steps: Sequence[Step], only: Sequence[str]) -> list[tuple[Step, str]]:
    """Returns the steps, each with its chosen criteria. Raises WrongTree for an unknown step."""
    if not only:
        return [(step, "") for step in steps]
    by_name = {step.name: step for step in steps}
    asked = [word.partition(":") for word in only]
    for name, _, item in asked:
        if name not in by_name:
            raise WrongTree(f"--only {name}: there is no such step; there are {', '.join(by_name)}")
        if item and not by_name[name].has_criteria:
            raise WrongTree(f"--only {name}:{item}: {name} has no criteria")
    return [(by_name[name], item) for name, _, item in asked]


def _run(call: Call, steps: Sequence[Step], chosen: Sequence[tuple[Step, str]]) -> int:
    """Runs the chosen steps that are not finished. A step that fails does not keep the others away."""
    failed, unfinished = [], []
    _begin(call, steps)
    for step, item in chosen:
        if not item and step.finished(read_own(call.folder, call.version)):
            continue
        if call.minutes_left == 0:
            unfinished.append(step.name)
            continue
        print(f"== {step.name}: {step.command}", flush=True)
        try:
            if not step.run(step, replace(call, item=item)):
                unfinished.append(step.name)
        except Failed as error:
            print(f"results: {error}", file=sys.stderr)
            failed.append(step.name)
    if failed:
        print(f"results: failed: {', '.join(failed)}", file=sys.stderr)
    if unfinished:
        print(f"unfinished, the same command goes on: {', '.join(unfinished)}")
    return FAILED if failed else UNFINISHED if unfinished else 0


def _begin(call: Call, steps: Sequence[Step]) -> None:
    """Lets each acceptance program list its criteria, so that the pages show those that were not run."""
    there = read_own(call.folder, call.version).documents
    for step in steps:
        if step.has_criteria and step.name not in there:
            words = [str(call.root / step.command), "--budget", "0"]
            words += ["--allow-dirty"] if call.version.dirty else []
            subprocess.run(words, cwd=call.root, stdout=subprocess.DEVNULL)


def _list(steps: Sequence[Step], kept: Kept) -> None:
    width = max(len(step.name) for step in steps)
    for step in steps:
        print(f"{step.name:{width}}  {step.state(kept):40}  {step.command}")


def _write(root: Path, folder: Path, steps: list[Step], page: str = "") -> None:
    names = pages.write(root, read(folder), steps, page)
    print(f"{len(names)} pages written: {', '.join(names)}")


def _write_old(root: Path, asked: str) -> int:
    """Writes the pages (or one) of an earlier commit from its kept documents; no step is run."""
    commit, _, page = asked.partition(":")
    there = sorted(path.name for path in data(root).glob("*") if path.is_dir())
    found = [name for name in there if name in (commit, commit[:12])]
    if not found:
        raise WrongTree(
            f"--of {commit}: nothing is kept of it; there are {', '.join(there) or 'no results at all'}"
        )
    _write(root, data(root) / found[0], all_steps(root), page)
    return 0
