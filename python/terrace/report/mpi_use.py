# SPDX-License-Identifier: Apache-2.0
"""Summarises the MPI calls of a process, and the imbalance between ranks. `terrace show` prints them."""

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console

from terrace import units
from terrace.output import table
from terrace.report import mpi_memory
from terrace.store.mpi import (
    MpiCall,
    MpiMessages,
    MpiObjectUse,
    read_calls,
    read_messages,
    read_objects,
    read_rank_times,
)
from terrace.store.reader import Store
from terrace.store.values import Run

_SHOWN = 5  # functions


@dataclass(frozen=True)
class MpiUse:
    """A process's calls, the longest first, its messages, each rank's seconds in MPI, and the library's memory.

    `share`: of the run's time; None where that is virtual or the run has not ended.
    """

    calls: list[MpiCall]
    messages: list[MpiMessages]
    rank_times: dict[int, float]
    share: float | None
    objects: list[MpiObjectUse] = field(default_factory=list)

    @property
    def time(self) -> float:
        """Returns the seconds in MPI, summed over threads."""
        return sum(call.time for call in self.calls)


def gather(store: Store, run: Run) -> MpiUse | None:
    """Returns the process's use of MPI; None if it called no function of MPI."""
    calls = read_calls(store, run)
    if not calls:
        return None
    share = None if run.virtual or not run.ended else sum(call.time for call in calls) / run.ended
    return MpiUse(calls, read_messages(store, run), read_rank_times(store), share, read_objects(store, run))


def document(use: MpiUse | None) -> dict[str, Any] | None:
    """Returns the part of `terrace show --json`."""
    if use is None:
        return None
    return {
        "time_s": use.time,
        "share_of_run": use.share,
        "functions": [
            {
                "function": call.function,
                "calls": call.calls,
                "time_s": call.time,
                "sent_bytes": call.sent,
                "received_bytes": call.received,
            }
            for call in use.calls
        ],
        "messages": [{**asdict(one), "least_bytes": one.least_bytes} for one in use.messages],
        "memory": mpi_memory.document(use.objects),
        "ranks_s": [{"rank": rank, "time_s": time} for rank, time in sorted(use.rank_times.items())],
    }


def print_use(out: Console, use: MpiUse | None) -> None:
    """Prints the time, the longest functions, the messages by size, and the imbalance between ranks, if any."""
    if use is None:
        return
    share = " of real time" if use.share is None else f", {units.percent(use.share)} of the run"
    calls = sum(call.calls for call in use.calls)
    out.print(f"In MPI: {units.seconds(use.time)}{share}, in {calls:,} call{'s' * (calls != 1)}.", markup=False)
    rows = table("MPI function", "calls", "time", "sent", "received")
    for call in use.calls[:_SHOWN]:
        size = (units.size(call.sent), units.size(call.received))
        rows.add_row(call.function, f"{call.calls:,}", units.seconds(call.time), *size)
    out.print(rows)
    if sentence := _messages(use.messages):
        out.print(sentence, markup=False)
    if sentence := _imbalance(use.rank_times):
        out.print(sentence, markup=False)
    mpi_memory.print_memory(out, use.objects)
    out.print()


def _messages(messages: list[MpiMessages]) -> str:
    """Returns the numbers of messages by size in one line; empty if none was sent."""
    numbers: dict[int, int] = {}
    for one in messages:
        numbers[one.least_bytes] = numbers.get(one.least_bytes, 0) + one.messages
    listed = ", ".join(f"{units.size(least)}: {units.count(numbers[least])}" for least in sorted(numbers))
    return f"Messages sent, by size rounded down to a power of two: {listed}." if listed else ""


def _imbalance(rank_times: dict[int, float]) -> str:
    """Returns which ranks spent the most and the least time in MPI; empty for one rank."""
    if len(rank_times) < 2:
        return ""
    most = max(rank_times, key=lambda rank: (rank_times[rank], -rank))
    least = min(rank_times, key=lambda rank: (rank_times[rank], rank))
    return (
        f"Imbalance over {len(rank_times)} ranks: most time in MPI {units.seconds(rank_times[most])} "
        f"(rank {most}), least {units.seconds(rank_times[least])} (rank {least})."
    )
