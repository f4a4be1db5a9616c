"""Why a store has no profile of a process, in words. All verbs say the same."""

from collections.abc import Sequence

from terrace.store.values import Counters, Loop, Run

NOTHING_SEEN = (
    "no use of its data was seen in the main loop, so what they cost is not known: let it run longer, "
    "or take another --collector"
)


def why_no_loop(run: Run, loop: Loop | None, small_loops: Sequence[str], counters: Counters | None) -> str | None:
    """Why no main loop was seen; None where one was."""
    if small_loops:
        return f"{small_loops[0]} took less than 40 % of the time since it began; --loop {small_loops[0]} takes it"
    if loop is not None:
        return None
    # Only virtual time counts accesses: a real run says nothing by having none.
    if run.virtual and counters and counters.accesses == 0:
        return "no access was seen: build it with terrace-cc, terrace-c++ or terrace-fc"
    mark = "mark it (docs/quick-start.md), or " if run.virtual else ""
    return f"no main loop was seen: {mark}name it: --loop NAME, or --phases f,g"


def no_profile(run: Run, no_loop: str | None, exact: bool) -> str:
    """A sentence on a process without a profile, or without an exact one; `no_loop` is of why_no_loop()."""
    if exact and not no_loop:
        return f"process {run.process} has no exact profile (simulate with --exact)"
    if no_loop:
        why = no_loop
    elif run.obeys_a_plan:
        why = "it obeyed the plan that it was given; look at the profile of that plan"
    elif run.planner == "auto":
        why = "its main loop was too short for profiling to pay; terrace record profiles any loop"
    else:
        why = f"the planner {run.planner} does not profile; terrace record does"
    return f"process {run.process} has no profile: {why}"
