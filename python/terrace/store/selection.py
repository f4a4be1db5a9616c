# SPDX-License-Identifier: Apache-2.0
"""Selects the process that a subcommand is about: the one that the user names by its id or MPI rank, or the one
with the longest main loop. The store's reader calls it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from terrace.errors import WrongCallError
from terrace.store.values import Run

_MANY = 10  # known ones in a message


def select_run(
    runs: Sequence[Run],
    spent: Mapping[int, float],
    path: Path,
    process: int | None = None,
    rank: int | None = None,
) -> Run:
    """Returns the process with that id, or the one of that rank.

    A rank may have several processes, such as a script and the program that it starts. `spent` has the seconds of
    each run's main loops, by id: the longest one is returned, preferably among those that terminated normally.
    """
    chosen = [run for run in runs if process in (None, run.process) and (rank is None or run.rank == rank)]
    if not chosen and rank is not None:
        known = sorted({run.rank for run in runs if run.rank is not None})
        if not known:
            raise WrongCallError(f"the profile {path} has no ranks: it is of no MPI job; omit --rank")
        shown = ", ".join(map(str, known[:_MANY]))
        raise WrongCallError(f"the profile {path} has no rank {rank}; give --rank one of {shown}")
    if not chosen:
        shown = ", ".join(str(run.process) for run in runs[:_MANY])
        raise WrongCallError(f"the profile {path} has no process {process}; give --process one of {shown}")
    return max(chosen, key=lambda run: (run.whole, spent.get(run.id, 0.0), -run.id))


def of_job(run: Run) -> str:
    """Returns ", rank 2 of 4"; empty outside of MPI jobs."""
    return "" if run.rank is None else f", rank {run.rank} of {run.ranks}"


def count_others(runs: Sequence[Run], run: Run) -> int:
    """Returns how many further ranks the file has, or how many processes, where the run is of no rank."""
    if run.rank is None:
        return len(runs) - 1
    return len({one.rank for one in runs if one.rank is not None}) - 1
