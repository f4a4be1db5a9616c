# SPDX-License-Identifier: Apache-2.0
"""Explains why a store has no profile of a process. All subcommands use these messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from terrace import units
from terrace.store.values import Counters, Loop, Run


@dataclass(frozen=True)
class LastCache:
    """The last cache of a machine."""

    machine: str
    name: str
    size: int


def why_nothing_observed(run: Run, counters: Counters | None, footprint: int, last_cache: LastCache | None) -> str:
    """Returns why no use of data was observed; `footprint` is the size of the profile's objects."""
    # Only virtual time counts accesses.
    accessed = run.virtual and counters is not None and counters.accesses > 0
    if accessed and last_cache and footprint <= last_cache.size:
        return (
            f"all {units.size(footprint)} of its data fit into the last cache of {last_cache.machine} "
            f"({last_cache.name}, {units.size(last_cache.size)}), so no placement is faster: use a larger input, "
            f"or a smaller cache: --cache {last_cache.name}=SIZE"
        )
    return (
        "no access to the program's objects was observed in the main loop, so the cost of placements is unknown: "
        "record again with more iterations, or with another --collector"
    )


def why_no_loop(run: Run, loop: Loop | None, small_loops: Sequence[str], counters: Counters | None) -> str | None:
    """Returns why no main loop was detected, or None if one was."""
    if small_loops:
        return (
            f"{small_loops[0]} took less than 40 % of the time since it began; --loop {small_loops[0]} selects it"
        )
    if loop is not None:
        return None
    if run.ended is None:
        return "it was killed, or still runs, and its profile was not written; run it again"
    # Only virtual time counts accesses: zero means nothing in a real run.
    if run.virtual and counters and counters.accesses == 0:
        return "no access was seen: build it with terrace-cc, terrace-c++ or terrace-fc"
    mark = "mark it (docs/tutorials/quick-start.md), or " if run.virtual else ""
    return f"no main loop was seen: {mark}name it: --loop NAME, or --phases f,g"


def no_profile(run: Run, no_loop: str | None, exact: bool) -> str:
    """Returns why a process has no profile, or no exact one; `no_loop` is the result of why_no_loop()."""
    if exact and not no_loop:
        return f"process {run.process} has no exact profile (record or simulate with --exact)"
    if no_loop:
        why = no_loop
    elif run.follows_plan:
        why = "it followed a given plan; see the profile from which that plan was made"
    elif run.planner == "auto":
        why = "its main loop was too short for profiling to pay off; terrace record profiles any loop"
    else:
        why = f"the planner {run.planner} does not profile; terrace record does"
    return f"process {run.process} has no profile: {why}"
