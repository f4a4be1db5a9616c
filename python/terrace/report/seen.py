"""What a profile rests on, in words: what share of the run, and whose core time. All verbs say the same."""

from collections.abc import Sequence
from typing import Any

from terrace import units
from terrace.store.values import Counters, Coverage, Loop, LoopCandidate, Machine, Note, Run

# From here on what was not seen is warned of.
_MUCH = 0.1
# Less of the heap is nothing to place: buffers of the C library.
_LITTLE = 1 << 20
# Fewer samples say nothing.
_FEW = 20
_SHOWN = 4
_MAX_OTHERS = 3
# The verdict on parts of loops that were taken, the main loop among them (src/tiering/runtime/loop_candidates.cpp).
WITHIN = "within "
# How the note of a program without hooks begins (agent/page_use_monitor.cpp), and goes on where what is known
# is misses all the same.
_WATCHED = "no hooks: objects are watched by "
_SAMPLES = "the processor's samples"
# Of the system and of compilers: nobody builds these with the wrappers.
_SYSTEM = (
    "libc.so", "libm.so", "ld-linux", "libpthread", "libstdc++", "libc++", "libgfortran", "libquadmath", "libgomp",
    "libomp", "libgcc_s", "linux-vdso", "(",
)  # fmt: skip


def observed(loop: Loop | None) -> str | None:
    """A sentence, where not every iteration was observed."""
    if loop is None or loop.iterations is None or loop.observed is None or loop.observed >= loop.iterations:
        return None
    return f"Observed {loop.observed} of {loop.iterations} iterations; the others count as the last one observed."


def iterations(loop: Loop | None) -> dict[str, int | None]:
    """The same for a JSON document."""
    return {
        "iterations": loop.iterations if loop else None,
        "observed_iterations": loop.observed if loop else None,
        "iterations_before": loop.turns_before if loop else None,
    }


def found(loop: Loop | None) -> str:
    """What was taken for the main loop and why; empty where the program or the user said which it is."""
    if loop is None or not loop.why:
        return ""
    return (
        f"The main loop was found: {loop.name}, after {loop.turns_before} of its turns, which are not among the "
        f"iterations: {loop.why}. --loop names another, --phases functions."
    )


def other_loops(loop: Loop | None, candidates: list[LoopCandidate]) -> list[str]:
    """Returns a line for each of the largest loops outside of the main loop that could have been it; none where
    the program or the user said which it is."""
    if loop is not None and not loop.why:
        return []
    others = [one for one in candidates if one.verdict and not one.verdict.startswith(WITHIN)]
    return [
        f"Not the main loop: {one.name}, {units.percent(one.share)} of the work, {_visits(one)}: {one.verdict}."
        for one in others[:_MAX_OTHERS]
    ]


def _visits(loop: LoopCandidate) -> str:
    """Leaves out iterations where these were not followed: each visit has at least one."""
    visits = f"{loop.visits} visit{'s' * (loop.visits != 1)}"
    return f"{loop.iterations} iterations in {visits}" if loop.iterations >= loop.visits else visits


def what_was_seen(
    run: Run, counters: Counters | None, coverage: Coverage | None, loop: Loop | None = None
) -> list[str]:
    """Sentences; what came to nothing is not mentioned."""
    if counters is None:
        why = "the process was killed before it could say" if run.how is None else "a real run does not count"
        return [f"How many accesses were seen is unknown: {why}.", *_covered(coverage)]
    seen = "seen, or count as seen where nothing was observed" if observed(loop) else "seen"
    said = [f"{units.count(counters.accesses)} accesses were {seen}."]
    if counters.unseen > 0:
        said.append(
            f"{units.count(counters.unseen)} more, {units.percent(counters.unseen_share)} of all, were not seen: "
            "they came while Terrace was at work in their thread."
        )
    if counters.dropped > 0:
        share = units.percent(counters.dropped / max(1, counters.accesses))
        said.append(
            f"{units.count(counters.dropped)} of those seen, {share}, went to memory that belongs to no object, "
            "and cost no time."
        )
    return said + _covered(coverage)


def watched_pages(notes: Sequence[Note]) -> bool:
    """Whether uses are those of pages, as the kernel tells them: nothing is known of misses then."""
    return any(note.text.startswith(_WATCHED) and not note.text.startswith(_WATCHED + _SAMPLES) for note in notes)


def warnings(run: Run, coverage: Coverage | None) -> list[str]:
    """Sentences on what was not seen, where it is so much that no prediction can be trusted."""
    if coverage is None:
        return []
    said = []
    if coverage.time_at_least > _MUCH:
        said.append(
            f"{units.percent(coverage.time_share, 0)} of the time was spent in code without hooks: what it does "
            f"to memory is in no prediction. {_what_to_build(run, coverage)}"
        )
    if coverage.heap_share > _MUCH and coverage.heap_uncovered > _LITTLE:
        said.append(
            f"{units.percent(coverage.heap_share, 0)} of the heap was used by code without hooks only, so it "
            f"seems idle here: {_list(_objects(coverage))}."
        )
    return said


def uncalibrated(run: Run, machine: Machine) -> str | None:
    """A sentence where virtual time rests on a core time that nobody fitted for the program."""
    if run.core_time_fitted is not False:
        return None
    if run.core_time_from is not None:
        return f"compute uncalibrated: {run.core_time_from}"
    each = units.seconds(machine.instruction_time(run.initiator))
    return (
        f"compute uncalibrated: core time is the machine's {each} an instruction, not the program's; "
        "to calibrate it, pass the program built without hooks: --native FILE"
    )


def calibrated(run: Run) -> str | None:
    """A sentence that says where the program's own core time came from, where that is known."""
    if not run.core_time_fitted or run.core_time_from is None:
        return None
    return f"calibrated: {run.core_time_from}"


def core_time(run: Run, machine: Machine) -> dict[str, Any] | None:
    """The same as a JSON document; None where time is real."""
    if run.core_time_fitted is None:
        return None
    return {
        "instruction_s": machine.instruction_time(run.initiator),
        "calibrated": run.core_time_fitted,
        **({"from": run.core_time_from} if run.core_time_from is not None else {}),
        **({"phases": run.core_times} if run.core_times else {}),
    }


def document(run: Run, coverage: Coverage | None) -> dict[str, Any] | None:
    """The same as a JSON document; None where it was not measured."""
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


def _covered(coverage: Coverage | None) -> list[str]:
    if coverage is None:
        return ["What share of the run is code without hooks was not measured."]
    return [_time(coverage), *_heap(coverage)]


def _time(coverage: Coverage) -> str:
    if coverage.not_sampled:
        return f"What share of the time code without hooks took was not measured: {coverage.not_sampled}."
    where = "in the main loop" if coverage.in_loop else "of the program"
    if coverage.samples < _FEW:
        return f"What share of the time {where} code without hooks took is unknown: it was too short to sample."
    parts = _list([f"{coverage.label(c)} {units.percent(share)}" for c, share in coverage.uncovered()])
    named = f" ({parts})" if parts else ""
    return f"Code without hooks took {units.percent(coverage.time_share)} of the time {where}{named}."


def _heap(coverage: Coverage) -> list[str]:
    if coverage.heap_uncovered <= 0:
        return []
    return [
        f"{units.percent(coverage.heap_share)} of the heap, {units.size(coverage.heap_uncovered)} of "
        f"{units.size(coverage.heap)}, was used by code without hooks only ({_list(_objects(coverage))})."
    ]


def _objects(coverage: Coverage) -> list[str]:
    return [f"{name} {units.size(size)}" for name, size in coverage.objects]


def _what_to_build(run: Run, coverage: Coverage) -> str:
    """What the user can do about the files that matter most."""
    named = [c for c, share in coverage.uncovered() if share >= _MUCH * coverage.time_share]
    own = [
        f"all of {'the program' if c.path == run.program else c.name}"
        for c in named
        if not c.name.startswith(_SYSTEM)
    ]
    system = [c.name for c in named if c.name.startswith(_SYSTEM)]
    said = []
    if own:
        said.append(f"Build {_list(own)} with terrace-cc and its sisters.")
    if system:
        said.append(
            f"Of {_list(system)} nothing can be seen: call less of it in the main loop, or mistrust the rest."
        )
    return " ".join(said)


def _list(items: Sequence[str]) -> str:
    more = [f"{len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return ", ".join([*items[:_SHOWN], *more])
