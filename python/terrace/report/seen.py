"""What a profile rests on, in words: what share of the run, and whose core time. All verbs say the same."""

from collections.abc import Sequence
from typing import Any

from terrace import units
from terrace.store.values import Counters, Loop, Machine, Reach, Run

# From here on what was not seen is warned of.
_MUCH = 0.1
# Less of the heap is nothing to place: buffers of the C library.
_LITTLE = 1 << 20
# Fewer samples say nothing.
_FEW = 20
_SHOWN = 4
# Of the system and of compilers: nobody builds these with the wrappers.
_SYSTEM = (
    "libc.so", "libm.so", "ld-linux", "libpthread", "libstdc++", "libc++", "libgfortran", "libquadmath", "libgomp",
    "libomp", "libgcc_s", "linux-vdso", "(",
)  # fmt: skip


def followed(loop: Loop | None) -> str | None:
    """A sentence, where not every iteration was followed."""
    if loop is None or loop.iterations is None or loop.followed is None or loop.followed >= loop.iterations:
        return None
    return f"Followed {loop.followed} of {loop.iterations} iterations; the others count as the last one followed."


def iterations(loop: Loop | None) -> dict[str, int | None]:
    """The same for a JSON document."""
    return {
        "iterations": loop.iterations if loop else None,
        "followed_iterations": loop.followed if loop else None,
    }


def what_was_seen(run: Run, counters: Counters | None, reach: Reach | None, loop: Loop | None = None) -> list[str]:
    """Sentences; what came to nothing is not mentioned."""
    if counters is None:
        why = "the process was killed before it could say" if run.how is None else "a real run does not count"
        return [f"How many accesses were seen is unknown: {why}.", *_reached(reach)]
    seen = "seen, or count as seen where nothing was followed" if followed(loop) else "seen"
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
    return said + _reached(reach)


def warnings(run: Run, reach: Reach | None) -> list[str]:
    """Sentences on what was not seen, where it is so much that no prediction can be trusted."""
    if reach is None:
        return []
    said = []
    if reach.time_at_least > _MUCH:
        said.append(
            f"{units.percent(reach.time_share, 0)} of the time was spent in code without hooks: what it does to "
            f"memory is in no prediction. {_what_to_build(run, reach)}"
        )
    if reach.heap_share > _MUCH and reach.heap_unreached > _LITTLE:
        said.append(
            f"{units.percent(reach.heap_share, 0)} of the heap was used by code without hooks only, so it seems "
            f"idle here: {_list(_objects(reach))}."
        )
    return said


def uncalibrated(run: Run, machine: Machine) -> str | None:
    """A sentence where virtual time rests on a core time that nobody fitted for the program."""
    if run.core_time_fitted is not False:
        return None
    each = units.seconds(machine.instruction_time(run.initiator))
    return (
        f"compute uncalibrated: core time is the machine's {each} an instruction, not the program's; "
        "`terrace lab validate` fits it, --core-time takes it"
    )


def core_time(run: Run, machine: Machine) -> dict[str, Any] | None:
    """The same as a JSON document; None where time is real."""
    if run.core_time_fitted is None:
        return None
    return {
        "instruction_s": machine.instruction_time(run.initiator),
        "calibrated": run.core_time_fitted,
        **({"phases": run.core_times} if run.core_times else {}),
    }


def document(run: Run, reach: Reach | None) -> dict[str, Any] | None:
    """The same as a JSON document; None where it was not measured."""
    if reach is None:
        return None
    measured = reach.samples > 0
    return {
        "samples": reach.samples,
        "sample_period_s": reach.sample_period,
        "not_sampled": reach.not_sampled or None,
        "time_share_without_hooks": reach.time_share if measured else None,
        "time_share_at_least": reach.time_at_least if measured else None,
        "heap_bytes": reach.heap,
        "heap_bytes_unreached": reach.heap_unreached,
        "heap_share_unreached": reach.heap_share,
        "code": [
            {"path": c.path, "hooks": c.hooks, "in_loop_s": c.in_loop, "elsewhere_s": c.elsewhere}
            for c in reach.code
        ],
        "objects": [{"name": name, "bytes_unreached": size} for name, size in reach.objects],
        "warnings": warnings(run, reach),
    }


def _reached(reach: Reach | None) -> list[str]:
    if reach is None:
        return ["What share of the run is code without hooks was not measured."]
    return [_time(reach), *_heap(reach)]


def _time(reach: Reach) -> str:
    if reach.not_sampled:
        return f"What share of the time code without hooks took was not measured: {reach.not_sampled}."
    where = "in the main loop" if reach.in_loop else "of the program"
    if reach.samples < _FEW:
        return f"What share of the time {where} code without hooks took is unknown: it was too short to sample."
    parts = _list([f"{reach.label(c)} {units.percent(share)}" for c, share in reach.unreached()])
    named = f" ({parts})" if parts else ""
    return f"Code without hooks took {units.percent(reach.time_share)} of the time {where}{named}."


def _heap(reach: Reach) -> list[str]:
    if reach.heap_unreached <= 0:
        return []
    return [
        f"{units.percent(reach.heap_share)} of the heap, {units.size(reach.heap_unreached)} of "
        f"{units.size(reach.heap)}, was used by code without hooks only ({_list(_objects(reach))})."
    ]


def _objects(reach: Reach) -> list[str]:
    return [f"{name} {units.size(size)}" for name, size in reach.objects]


def _what_to_build(run: Run, reach: Reach) -> str:
    """What the user can do about the files that matter most."""
    named = [c for c, share in reach.unreached() if share >= _MUCH * reach.time_share]
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
