"""Answers the cells that nobody has answered yet, beside one another."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from terrace.lab.experiment import measure
from terrace.lab.experiment.cells import Answers, Cell
from terrace.lab.experiment.recording import Place, build, profile, record, shape
from terrace.output import progress

Work = tuple[Callable[..., None], tuple[Any, ...]]


@dataclass(frozen=True)
class Done:
    """What a run did of the cells that were its own."""

    answered: int
    before: int
    missing: int  # of all cells, after it


def run(place: Place, cells: Sequence[Cell], jobs: int, shard: tuple[int, int] | None) -> Done:
    """Answers this shard's cells: programs first, then recordings, profiles and the cells themselves."""
    answers = Answers(place.folder)
    own = [cell for cell in cells if shard is None or cell.belongs_to(shard)]
    pending = [cell for cell in own if not answers.has(cell)]
    if pending:
        build(place, sorted({cell.workload for cell in pending}))
        _stages(place, pending, jobs)
        if shard is None:
            shutil.rmtree(place.folder / "scratch", ignore_errors=True)
    missing = sum(not answers.has(cell) for cell in cells)
    return Done(len(pending), len(own) - len(pending), missing)


def _stages(place: Place, pending: Sequence[Cell], jobs: int) -> None:
    recordings = dict.fromkeys((cell.workload, shape(cell.machine)) for cell in pending)
    profiles = dict.fromkeys((c.workload, c.machine) for c in pending if measure.needs_profile(c))
    # Processes, since planning holds the interpreter; new ones, since we have threads by then.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        _all(pool, "recordings", [(record, (place, *what)) for what in recordings])
        _all(pool, "profiles", [(profile, (place, *what)) for what in profiles])
        _all(pool, "cells", [(answer, (place, cell)) for cell in pending])


def answer(place: Place, cell: Cell) -> None:
    """Answers a cell and keeps the answer."""
    Answers(place.folder).keep(cell, measure.answer(place, cell))


def _all(pool: ProcessPoolExecutor, what: str, work: Iterable[Work]) -> None:
    """Does all of it. At the first failure what has not begun is given up, and what has been done is kept."""
    futures = [pool.submit(function, *arguments) for function, arguments in work]
    with progress(what, len(futures)) as steps:
        try:
            for future in as_completed(futures):
                future.result()
                steps.done()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
