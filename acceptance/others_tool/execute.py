"""Runs a public program natively or under a subcommand, and checks what it prints. The other modules of
others_tool, and the criteria on public programs, call it."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from others_tool.build import BuildTree
from others_tool.inputs import prepared
from others_tool.recipe import Recipe, Run

LONGEST = 900.0  # seconds of the clock for one run


class WrongResult(Exception):
    """A run failed, or what it printed is not right; the text says which and why."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended well."""

    output: str  # less what differs from run to run
    sums: tuple[str, ...]  # of the files that it wrote
    cpu: float  # seconds, user and system, of it and all that it started
    wall: float
    stderr: str
    said: float | None  # the seconds that it printed


_ALONE: dict[str, threading.Lock] = {}  # by recipe: runs of one recipe share a working directory


def execute(
    recipe: Recipe, built: BuildTree, size: str, work: Path, before: Sequence[str | Path] = ()
) -> FinishedRun:
    """Runs the program in a folder of its own, with the words of `before` before its name. Raises WrongResult.

    Thread-safe, except Done's processor time: it includes all child processes that run concurrently."""
    with _ALONE.setdefault(recipe.name, threading.Lock()):
        return _execute(recipe, built, size, work, before)


def _execute(recipe: Recipe, built: BuildTree, size: str, work: Path, before: Sequence[str | Path]) -> FinishedRun:
    """Runs a program in a folder of its own with the inputs of its recipe, and measures it."""
    run = recipe.runs[size]
    inputs = prepared(recipe, work)
    folder = work / "run" / recipe.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [str(word) for word in (*before, built.of(run), *arguments(run, inputs, built))]
    for name, of in run.files.items():
        shutil.copy(filled(of, inputs, built), folder / name)
    stdin = Path(filled(run.stdin, inputs, built)) if run.stdin else Path(os.devnull)
    started, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    output, errors = folder / "stdout", folder / "stderr"
    with stdin.open("rb") as given, output.open("wb") as out, errors.open("wb") as err:
        try:
            done = subprocess.run(command, cwd=folder, stdin=given, stdout=out, stderr=err, timeout=LONGEST)
        except subprocess.TimeoutExpired as error:
            raise WrongResult(f"{recipe.name} {size} went on for more than {LONGEST:.0f} s") from error
    wall, ended = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    paths = (folder / recipe.output if recipe.output else output, errors)
    text, said = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
    if done.returncode != recipe.status:
        tail = " | ".join((text + said).strip().splitlines()[-3:])
        raise WrongResult(f"{recipe.name} {size} ended with {done.returncode}: {tail[-300:]}")
    return FinishedRun(
        _checked(recipe, size, text, said),
        tuple(hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in recipe.files),
        cpu,
        wall,
        said,
        _seconds(recipe, text + said),
    )


def same(recipe: Recipe, native: FinishedRun, hooked: FinishedRun) -> None:
    """Raises WrongResult where the hooked program computed something else."""
    if native.sums != hooked.sums:
        raise WrongResult(f"{recipe.name}: it wrote other files under Terrace than natively")
    pairs = zip(native.output.splitlines(), hooked.output.splitlines(), strict=False)
    for mine, its in pairs:
        if mine != its:
            raise WrongResult(f"{recipe.name}: it printed {its[:80]!r} under Terrace, natively {mine[:80]!r}")
    if native.output != hooked.output:
        raise WrongResult(f"{recipe.name}: it printed more, or less, under Terrace than natively")


def _checked(recipe: Recipe, size: str, *texts: str) -> str:
    """Returns the relevant standard output."""
    if recipe.says and not any(re.search(recipe.says, text, re.MULTILINE) for text in texts):
        raise WrongResult(f"{recipe.name} {size}: no line of its output matches {recipe.says}")
    lines = texts[0].splitlines()
    return "\n".join(line for line in lines if not (recipe.drop and re.search(recipe.drop, line)))


def _seconds(recipe: Recipe, text: str) -> float | None:
    match = re.search(recipe.seconds, text, re.MULTILINE) if recipe.seconds else None
    return float(match[1]) if match else None


def arguments(run: Run, inputs: Path, built: BuildTree) -> list[str]:
    """Returns the words of a run's arguments, as a shell splits them."""
    return [filled(word, inputs, built) for word in shlex.split(run.arguments)]


def filled(text: str, inputs: Path, built: BuildTree) -> str:
    """Returns the words with the paths of {inputs} and {source}."""
    places = {"inputs": str(inputs), "source": str(built.source)}
    return re.sub(r"\{(inputs|source)\}", lambda match: places[match[1]], text)
