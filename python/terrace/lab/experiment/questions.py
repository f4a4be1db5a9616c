"""What studies have in common that keep an answer to each question in a file of its own: which programs are asked
for, and the way from questions to the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import typer

from terrace.errors import WrongCallError
from terrace.lab.experiment.command import UNFINISHED
from terrace.lab.experiment.page import Report


def chosen(only: str | None, known: Sequence[str]) -> list[str]:
    """The programs of --only, each once, or all. Raises WrongCallError for a name that there is not."""
    programs = list(known) if only is None else list(dict.fromkeys(only.split(",")))
    for name in programs:
        if not name:
            raise WrongCallError(f"--only {only}: --only has an empty name; there are {', '.join(known)}")
        if name not in known:
            raise WrongCallError(f"--only {name}: there are {', '.join(known)}")
    return programs


class Questions(Protocol):
    """What has answers in a folder."""

    def settle(self) -> None:
        """Raises WrongCallError where the folder has answers that were made with something else."""

    def count(self) -> int:
        """Of all questions."""

    def left(self) -> int:
        """Of those without an answer."""

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers what is missing; whether nothing is left."""


def answer_and_report(
    parts: Sequence[Questions], folder: Path, jobs: int, stop_after: float | None, report: Callable[[], Report]
) -> None:
    """Answers what is missing, part by part; writes the report where all is answered, else exits by UNFINISHED."""
    end = None if stop_after is None else time.monotonic() + 60 * stop_after
    for part in parts:
        part.settle()
    before = sum(part.left() for part in parts)
    is_done = all(part.run(jobs, None if end is None else max(end - time.monotonic(), 0)) for part in parts)
    left = sum(part.left() for part in parts)
    count = sum(part.count() for part in parts)
    print(f"{before - left} runs answered, {count - before} had been; {folder}")
    if not is_done:
        print(f"the time is up: {left} are left; the same command goes on")
        raise typer.Exit(UNFINISHED)
    report().write(folder)
    print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")
