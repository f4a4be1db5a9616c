# SPDX-License-Identifier: Apache-2.0
"""Answers unanswered cells in parallel, for every `terrace lab experiment`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from terrace.lab.experiment import measure
from terrace.lab.experiment.cells import Answers, Cell
from terrace.lab.experiment.recording import Place, build, profile, record, shape, uncopied
from terrace.lab.workers import workers
from terrace.output import progress

Work = tuple[Callable[..., None], tuple[Any, ...]]


@dataclass(frozen=True)
class Done:
    """Result of a run for its own cells."""

    answered: int
    before: int
    left: int  # own cells, if the time limit was reached
    missing: int  # of all cells, afterwards


def run(
    place: Place,
    cells: Sequence[Cell],
    jobs: int,
    shard: tuple[int, int] | None = None,
    seconds: float | None = None,
) -> Done:
    """Answers this shard's cells: first programs, then recordings, profiles and the cells themselves.

    Starts nothing after `seconds`; another call resumes.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    answers = Answers(place.folder)
    own = [cell for cell in cells if shard is None or cell.belongs_to(shard)]
    pending = [cell for cell in own if not answers.has(cell)]
    if pending:
        build(place, sorted({cell.workload for cell in pending}))
        _stages(place, pending, jobs, deadline)
        if shard is None:
            shutil.rmtree(place.folder / "scratch", ignore_errors=True)
    missing = sum(not answers.has(cell) for cell in cells)
    answered = sum(answers.has(cell) for cell in pending)
    return Done(answered, len(own) - len(pending), len(pending) - answered, missing)


def _stages(place: Place, pending: Sequence[Cell], jobs: int, deadline: float | None) -> None:
    """Makes missing recordings, then profiles, then answers, each in parallel until the deadline."""
    recordings = dict.fromkeys((cell.workload, shape(cell.machine)) for cell in pending)
    profiles = dict.fromkeys((c.workload, uncopied(c.machine)) for c in pending if measure.needs_profile(c))
    with workers(jobs) as pool:  # processes, because planning holds the interpreter lock
        for what, work in (
            ("recordings", [(record, (place, *of)) for of in recordings]),
            ("profiles", [(profile, (place, *of)) for of in profiles]),
            ("cells", [(answer, (place, cell)) for cell in pending]),
        ):
            if not do_all(pool, what, work, deadline):
                return


def answer(place: Place, cell: Cell) -> None:
    """Answers a cell and saves the answer."""
    Answers(place.folder).save(cell, measure.answer(place, cell))


def do_all(pool: ProcessPoolExecutor, what: str, work: Sequence[Work], deadline: float | None) -> bool:
    """Executes all work and returns whether it was completed.

    At the first failure, or when the time is up, pending work is cancelled and completed work is kept.
    """
    if deadline is not None and time.monotonic() >= deadline:
        return not work
    waiting = {pool.submit(function, *arguments) for function, arguments in work}
    with progress(what, len(waiting)) as steps:
        try:
            while waiting:
                left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
                done, waiting = wait(waiting, left, FIRST_COMPLETED)
                for future in done:
                    future.result()
                    steps.done()
                if left == 0.0 and waiting:
                    pool.shutdown(cancel_futures=True)
                    return False
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return True
