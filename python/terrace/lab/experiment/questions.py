# SPDX-License-Identifier: Apache-2.0
"""Runs studies that have one answer file per question (ccnuma, camat, out-of-core): selects programs, answers
questions, writes the report."""

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
    """Returns the programs of --only without duplicates, or all. Raises WrongCallError for an unknown name."""
    programs = list(known) if only is None else list(dict.fromkeys(only.split(",")))
    for name in programs:
        if not name:
            raise WrongCallError(
                f"--only {only}: a name between commas is missing; known programs: {', '.join(known)}"
            )
        if name not in known:
            raise WrongCallError(f"--only {name}: unknown program; known: {', '.join(known)}")
    return programs


class Questions(Protocol):
    """A set of questions whose answers are in a folder."""

    def check_provenance(self) -> None:
        """Raises WrongCallError if the folder has answers of another version."""

    def count(self) -> int:
        """Returns the number of all questions."""

    def left(self) -> int:
        """Returns the number of unanswered questions."""

    def run(self, jobs: int, seconds: float | None = None) -> bool:
        """Answers missing questions; returns whether none is left."""


def answer_and_report(
    parts: Sequence[Questions], folder: Path, jobs: int, stop_after: float | None, report: Callable[[], Report]
) -> None:
    """Answers missing questions, and writes the report once all are answered; else exits with UNFINISHED."""
    end = None if stop_after is None else time.monotonic() + 60 * stop_after
    for part in parts:
        part.check_provenance()
    before = sum(part.left() for part in parts)
    is_done = all(part.run(jobs, None if end is None else max(end - time.monotonic(), 0)) for part in parts)
    left = sum(part.left() for part in parts)
    count = sum(part.count() for part in parts)
    print(f"{before - left} runs answered now, {count - before} before; {folder}")
    if not is_done:
        print(f"time limit reached: {left} runs are left; run the same command to resume")
        raise typer.Exit(UNFINISHED)
    report().write(folder)
    print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")
