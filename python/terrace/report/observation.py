# SPDX-License-Identifier: Apache-2.0
"""Describes what a profile is based on: the observed share of the run, and the basis of its core time. `show`,
`plan`, `bounds` and `report` print it.

All subcommands use these sentences.
"""

import re
from collections.abc import Sequence
from typing import Any

from terrace import units
from terrace.store.values import Counters, Coverage, Loop, LoopCandidate, Machine, Note, Run

# Minimum share of unobserved time or heap that causes a warning.
_WARNING_SHARE = 0.1
# Smaller amounts of heap need no placement: buffers of the C library.
_MIN_HEAP_BYTES = 1 << 20
# Minimum number of samples for a statement.
_MIN_SAMPLES = 20
_MAX_ITEMS = 4
_MAX_OTHERS = 3
# Prefix of the verdict on parts of selected loops, as of the main loop (src/tiering/runtime/loop_candidates.cpp).
WITHIN_PREFIX = "within "
# Part of a note on out-of-core paging (src/tiering/cli/spill_lines.cpp).
_PAGING = re.compile(r" of data in \S+ of memory: ")
# Prefix of the note for uninstrumented programs (agent/page_use_monitor.cpp), and its continuation if
# misses are known nevertheless.
_WATCHED_PREFIX = "no hooks: objects are watched by "
_SAMPLED_SUFFIX = "the processor's samples"
# Libraries of the system and of compilers, which users do not rebuild.
_SYSTEM = (
    "libc.so", "libm.so", "ld-linux", "libpthread", "libstdc++", "libc++", "libgfortran", "libquadmath", "libgomp",
    "libomp", "libgcc_s", "linux-vdso", "(",
)  # fmt: skip


def observed(loop: Loop | None) -> str | None:
    """Returns a sentence if not every iteration was observed."""
    if loop is None or loop.iterations is None or loop.observed is None or loop.observed >= loop.iterations:
        return None
    return f"Observed {loop.observed} of {loop.iterations} iterations; the others count as the last one observed."


def iterations(loop: Loop | None) -> dict[str, int | None]:
    """Returns the iteration counts for the JSON of `show` and `plan`."""
    return {
        "iterations": loop.iterations if loop else None,
        "observed_iterations": loop.observed if loop else None,
        "iterations_before": loop.turns_before if loop else None,
    }


def found(loop: Loop | None) -> str:
    """Returns which main loop was detected and why; empty if the program or the user stated it."""
    if loop is None or not loop.why:
        return ""
    # Loops and phases of MPI programs come from their calls: names select none of them.
    advice = "" if "MPI calls" in loop.why else " Select another with --loop, or functions with --phases."
    return (
        f"The main loop was detected: {loop.name}, after {loop.turns_before} iterations, whose times are not "
        f"in the profile: {loop.why}.{advice}"
    )


def other_loops(loop: Loop | None, candidates: list[LoopCandidate]) -> list[str]:
    """Returns a line for each of the largest candidates outside of the main loop; empty if the program or the user
    stated it.
    """
    if loop is not None and not loop.why:
        return []
    others = [one for one in candidates if one.verdict and not one.verdict.startswith(WITHIN_PREFIX)]
    return [
        f"Not the main loop: {one.name}, {units.percent(one.share)} of the work, {_visits(one)}: {one.verdict}."
        for one in others[:_MAX_OTHERS]
    ]


def _visits(loop: LoopCandidate) -> str:
    """Describes visits and iterations; omits iterations if they were not counted, since each visit has at least
    one.
    """
    visits = f"{loop.visits} visit{'s' * (loop.visits != 1)}"
    return f"{loop.iterations} iterations in {visits}" if loop.iterations >= loop.visits else visits


def observed_accesses(
    run: Run, counters: Counters | None, coverage: Coverage | None, loop: Loop | None = None
) -> list[str]:
    """Returns sentences on observed accesses, without zero counts."""
    if counters is None:
        why = "the process was killed before it could say" if run.how is None else "a real run does not count"
        return [f"How many accesses were observed is unknown: {why}.", *_coverage_sentences(coverage)]
    seen = "observed, or count as observed where sampling skipped them" if observed(loop) else "observed"
    said = [f"{units.count(counters.accesses)} accesses were {seen}."]
    if counters.unseen > 0:
        said.append(
            f"{units.count(counters.unseen)} more, {units.percent(counters.unseen_share)} of all, were not "
            "observed: they occurred while Terrace was active in their thread."
        )
    if counters.dropped > 0:
        share = units.percent(counters.dropped / max(1, counters.accesses))
        said.append(
            f"{units.count(counters.dropped)} of them, {share}, accessed memory that belongs to no object, "
            "and cost no time."
        )
    return said + _coverage_sentences(coverage)


def paging(notes: Sequence[Note]) -> list[str]:
    """Returns the notes on out-of-core paging, one for each process whose data exceeded --memory."""
    return [note.text for note in notes if _PAGING.search(note.text)]


def watched_pages(notes: Sequence[Note]) -> bool:
    """Returns whether uses are page references reported by the kernel, in which case misses are unknown."""
    return any(
        note.text.startswith(_WATCHED_PREFIX) and not note.text.startswith(_WATCHED_PREFIX + _SAMPLED_SUFFIX)
        for note in notes
    )


def warnings(run: Run, coverage: Coverage | None) -> list[str]:
    """Returns warnings on unobserved parts that are too large for reliable predictions."""
    if coverage is None:
        return []
    said = []
    if coverage.time_at_least > _WARNING_SHARE:
        said.append(
            f"{units.percent(coverage.time_share, 0)} of the time was spent in uninstrumented code: predictions "
            f"omit its memory accesses. {_what_to_build(run, coverage)}"
        )
    if coverage.heap_share > _WARNING_SHARE and coverage.heap_uncovered > _MIN_HEAP_BYTES:
        said.append(
            f"{units.percent(coverage.heap_share, 0)} of the heap was accessed by no instrumented code in "
            f"observed iterations, so it appears idle here: {_join(_objects(coverage))}. Instrument "
            "the code that uses it, or record with --every 1."
        )
    return said


def of_rank(run: Run) -> str | None:
    """Returns a sentence if the process is one of several ranks of an MPI job."""
    if run.rank is None or (run.ranks or 0) < 2:
        return None
    return (
        f"this was made from rank {run.rank} of {run.ranks} alone, for the whole budget given; --rank selects "
        "another rank, and `terrace plan --all-ranks` divides the budget of a node and makes a plan for each rank"
    )


def uncalibrated(run: Run, machine: Machine) -> str | None:
    """Returns a sentence if virtual time uses a core time that was not fitted for the program."""
    if run.core_time_fitted is not False:
        return None
    if run.core_time_from is not None:
        return f"compute uncalibrated: {run.core_time_from}"
    each = units.seconds(machine.instruction_time(run.initiator))
    return (
        f"compute uncalibrated: core time is the machine's {each} an instruction, not the program's; "
        "to calibrate it, record or simulate again with --native FILE, the uninstrumented build of the program"
    )


def calibrated(run: Run) -> str | None:
    """Returns a sentence on the origin of the program's own core time, if known."""
    if not run.core_time_fitted or run.core_time_from is None:
        return None
    return f"calibrated: {run.core_time_from}"


def core_time(run: Run, machine: Machine) -> dict[str, Any] | None:
    """Returns the JSON of the core time; None for real time."""
    if run.core_time_fitted is None:
        return None
    return {
        "instruction_s": machine.instruction_time(run.initiator),
        "calibrated": run.core_time_fitted,
        **({"from": run.core_time_from} if run.core_time_from is not None else {}),
        **({"phases": run.core_times} if run.core_times else {}),
    }


def document(run: Run, coverage: Coverage | None) -> dict[str, Any] | None:
    """Returns the JSON of the coverage; None if not measured."""
    if coverage is None:
        return None
    measured = coverage.samples > 0
    return {
        "samples": coverage.samples,
        "sample_period_s": coverage.sample_period,
        "not_sampled": coverage.not_sampled or None,
        "time_share_without_hooks": coverage.time_share if measured else None,
        "time_share_at_least": coverage.time_at_least if measured else None,
        "heap_bytes": coverage.heap,
        "heap_bytes_uncovered": coverage.heap_uncovered,
        "heap_share_uncovered": coverage.heap_share,
        "code": [
            {"path": c.path, "hooks": c.hooks, "in_loop_s": c.in_loop, "elsewhere_s": c.elsewhere}
            for c in coverage.code
        ],
        "objects": [{"name": name, "bytes_uncovered": size} for name, size in coverage.objects],
        "warnings": warnings(run, coverage),
    }


def _coverage_sentences(coverage: Coverage | None) -> list[str]:
    if coverage is None:
        return ["The share of uninstrumented code was not measured."]
    return [_time(coverage), *_heap(coverage)]


def _time(coverage: Coverage) -> str:
    """Returns the sentence on the time in uninstrumented code."""
    if coverage.not_sampled:
        return f"The share of time in uninstrumented code was not measured: {coverage.not_sampled}."
    where = "in the main loop" if coverage.in_loop else "of the program"
    if coverage.samples < _MIN_SAMPLES:
        return f"The share of time {where} in uninstrumented code is unknown: it was too short to sample."
    parts = _join([f"{coverage.label(c)} {units.percent(share)}" for c, share in coverage.uncovered()])
    named = f" ({parts})" if parts else ""
    return f"Uninstrumented code took {units.percent(coverage.time_share)} of the time {where}{named}."


def _heap(coverage: Coverage) -> list[str]:
    """Returns the sentence on heap that only uninstrumented code used, if any."""
    if coverage.heap_uncovered <= 0:
        return []
    return [
        f"{units.percent(coverage.heap_share)} of the heap, {units.size(coverage.heap_uncovered)} of "
        f"{units.size(coverage.heap)}, was used only by uninstrumented code or in skipped "
        f"iterations ({_join(_objects(coverage))})."
    ]


def _objects(coverage: Coverage) -> list[str]:
    return [f"{name} {units.size(size)}" for name, size in coverage.objects]


def _what_to_build(run: Run, coverage: Coverage) -> str:
    """Returns advice for the files that matter most."""
    named = [c for c, share in coverage.uncovered() if share >= _WARNING_SHARE * coverage.time_share]
    own = [
        f"all of {'the program' if c.path == run.program else c.name}"
        for c in named
        if not c.name.startswith(_SYSTEM)
    ]
    system = [c.name for c in named if c.name.startswith(_SYSTEM)]
    said = []
    if own:
        said.append(f"Build {_join(own)} with terrace-cc, terrace-c++ or terrace-fc.")
    if system:
        said.append(
            f"{_join(system)} cannot be instrumented: call less of it in the main loop, or distrust predictions."
        )
    return " ".join(said)


def _join(items: Sequence[str]) -> str:
    more = [f"{len(items) - _MAX_ITEMS} more"] if len(items) > _MAX_ITEMS else []
    return ", ".join([*items[:_MAX_ITEMS], *more])
