# SPDX-License-Identifier: Apache-2.0
"""Advises, from the profile of an MPI job, which of the MPI library's own objects to place in fast memory, by
budget, ranks of the fullest node, and measured messages (`terrace bounds --mpi-objects`). The library's
formulas are beside the paper's (terrace.solve.mpi_objects).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from terrace import _core, units
from terrace.errors import WrongCallError, core_errors
from terrace.output import table
from terrace.solve.mpi_objects import Advice, Bandwidth, Mix, advise, library_objects, published_objects
from terrace.store.mpi import MpiObjectUse, read_calls, read_messages, read_objects
from terrace.store.reader import Store
from terrace.store.values import Run

_PUTS = ("Put", "Rput", "Accumulate", "Raccumulate")
_GETS = ("Get", "Rget")
_FORMULAS = {
    "eager": "N (N - 1) x 64 KiB (fastboxes)",
    "cells": "N x 64 x 64 KiB",
    "copy_buffers": "N (N - 1) x 8 x 32 KiB",
}


@dataclass(frozen=True)
class MpiAdvice:
    """Advice for one node of a job."""

    library: str
    machine: str
    ranks: int  # on the node
    budget: int
    slow: str  # place from which, and to which objects are moved
    fast: str
    mix: Mix
    kinds: list[Advice]
    published: dict[str, int]  # bytes of the paper's library at as many ranks

    @property
    def options(self) -> str:
        """Returns the option of `terrace run` that follows the advice; empty if nothing is to be placed."""
        placed = [f"{one.kind}={self.fast}" for one in self.kinds if one.is_placed]
        return f"--mpi-objects {','.join(placed)}" if placed else ""


def gather(
    store: Store, machine: str | None, limit: str | None, paths: Sequence[Mapping[str, Any]] | None
) -> MpiAdvice:
    """Returns the advice. `machine` and `limit` as of the subcommand; `paths` are those of the given machine.

    Raises WrongCallError if the profile has no objects of an MPI library, or the machine one kind of memory.
    """
    runs = [run for run in store.runs() if run.rank is not None and read_objects(store, run)]
    if not runs:
        raise WrongCallError(
            f"{store.path} has no objects of an MPI library; profile the job with `terrace run`, and let its "
            "ranks end by themselves"
        )
    host = Counter(run.host for run in runs).most_common(1)[0][0]
    ranks = [run for run in runs if run.host == host]
    objects = [one for run in ranks for one in read_objects(store, run)]
    first = ranks[0]
    with core_errors():
        known = _core.Machine.read(machine) if machine else _core.Machine.from_bytes(store.machine(first).blob)
        budget = known.budget(limit) if limit else list(known.capacities)
    slow, fast = known.places[known.home(0)], known.places[known.fastest_first(0)[0]]
    if slow == fast:
        raise WrongCallError(f"{known.name} has one kind of memory; name another machine with --machine")
    mix = _mix(store, ranks, objects)
    kinds = advise(
        library_objects(_tables(objects), len(ranks)),
        mix,
        budget[known.places.index(fast)],
        _bandwidth(store, first, slow, paths),
        _bandwidth(store, first, fast, paths),
    )
    return MpiAdvice(
        objects[0].library,
        known.name,
        len(ranks),
        budget[known.places.index(fast)],
        slow,
        fast,
        mix,
        kinds,
        {one.kind: one.size for one in published_objects(len(ranks))},
    )


def document(found: MpiAdvice) -> dict[str, Any]:
    """Returns the document of `terrace bounds --mpi-objects --json`."""
    return {
        "library": found.library,
        "machine": found.machine,
        "ranks": found.ranks,
        "budget_bytes": found.budget,
        "slow": found.slow,
        "fast": found.fast,
        "options": found.options,
        "messages": {str(size): number for size, number in sorted(found.mix.messages.items())},
        "kinds": [{**asdict(one), "published_bytes": found.published.get(one.kind)} for one in found.kinds],
    }


def print_advice(out: Console, found: MpiAdvice) -> None:
    """Prints a row for each kind, and the option that follows the advice."""
    out.print(
        f"Objects of {found.library} on {found.machine}, {found.ranks} ranks on the node, "
        f"{units.size(found.budget)} of {found.fast}\n",
        markup=False,
    )
    rows = table(
        "kind", "size", "written", "saves at most", "placed in", "published gain", "published size", "its formula"
    )
    for one in found.kinds:
        published = found.published.get(one.kind)
        rows.add_row(
            one.kind,
            units.size(one.size),
            units.size(one.written),
            units.seconds(max(one.saved, 0.0)),
            found.fast if one.is_placed else found.slow,
            "" if one.published is None else units.percent(one.published),
            "" if published is None else units.size(published),
            _FORMULAS.get(one.kind, ""),
        )
    out.print(rows)
    numbers = ", ".join(
        f"{units.size(size)}: {units.count(number)}" for size, number in sorted(found.mix.messages.items())
    )
    out.print(f"\nMessages within the node, by mean size: {numbers or 'none'}.", markup=False)
    out.print(
        "Written: bytes of transfers through them. Saves: of all transfers together, at the bandwidths of "
        f"{found.slow} and {found.fast}; caches may serve them, so that it is an upper limit. Published: Congiu "
        "and Balaji, MPICH with ch3:nemesis, 32 pairs of ranks.",
        markup=False,
    )
    out.print(f"\nterrace run {found.options}" if found.options else "\nNothing to place.", markup=False)


def _mix(store: Store, ranks: Sequence[Run], objects: Sequence[MpiObjectUse]) -> Mix:
    """Returns the messages between ranks of the node; those to unknown ranks count if the job has one node."""
    near = {run.rank for run in ranks}
    is_alone = all(run.ranks == len(ranks) for run in ranks)
    messages: Counter[int] = Counter()
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    sizes: dict[int, list[int]] = {}
    for run in ranks:
        for one in read_messages(store, run):
            if one.messages and (one.peer in near or (one.peer is None and is_alone)):
                known = sizes.setdefault(one.size_class, [0, 0])
                known[0] += one.messages
                known[1] += one.bytes
        for call in read_calls(store, run):
            name = call.function.removesuffix("_c")
            if name in _PUTS or name in _GETS:
                way = "puts" if name in _PUTS else "gets"
                sums[way] += call.sent if name in _PUTS else call.received
                numbers[way] += call.calls
    for number, size in sizes.values():
        messages[round(size / number)] += number
    transfers = {
        way: {sums[way] // numbers[way]: numbers[way]} if numbers[way] else {} for way in ("puts", "gets")
    }
    windows = sum(one.bytes for one in objects if one.kind == "windows")
    return Mix(messages, transfers["puts"], transfers["gets"], windows)


def _tables(objects: Sequence[MpiObjectUse]) -> list[_core.MpiObjectTable]:
    """Returns the tables that describe the library and the UCX that it uses."""
    library, _, version = objects[0].library.rpartition(" ")
    names = {one.object: one.bytes // one.objects for one in objects if one.objects and one.kind == "fifos"}
    found = []
    for each in _core.shipped_mpi_objects():
        if each.library == library and any(
            each.describes(file, words)
            for file in ("libmpi.so", "libmpich.so")
            for words in (f"{library} Version: {version}", f"{library} v{version}")
        ):
            found.append(each)
        # UCX's own version is not stored; its queues differ in size.
        if each.library == "UCX" and any(row.size(1) is not None and _pages(row.size(1) or 0) ==
                                         _pages(names.get(row.name, 0)) for row in each.objects):  # fmt: skip
            found.append(each)
    return found


def _pages(size: int) -> int:
    return (size + 4095) // 4096


def _bandwidth(store: Store, run: Run, place: str, paths: Sequence[Mapping[str, Any]] | None) -> Bandwidth:
    """Returns the bandwidth of a place from the cores nearest to it, by the given paths or the stored machine."""
    if paths is not None:
        found = [(each["read"], each["write"]) for each in paths if each["place"] == place]
    else:
        machine = store.machine(run)
        number = next(one.id for one in machine.places if one.name == place)
        found = [(each.read, each.write) for each in machine.paths if each.place == number]
    read, write = max(found)
    return Bandwidth(read, write)
