# SPDX-License-Identifier: Apache-2.0
"""Writes the run as a timeline in trace-event JSON (`terrace export`), for ui.perfetto.dev and chrome://tracing.

Each process has a thread of iterations with their phases and waits, and as many threads of moves as run
concurrently. Times are microseconds since the first process began.
"""

from typing import Any

from terrace import units
from terrace.store.reader import Store
from terrace.store.values import Move, PhaseInstance, Run

_PROGRAM = 1
_FIRST_MOVER = 10
_MICRO = 1e6


def trace(store: Store, runs: list[Run]) -> dict[str, Any]:
    """Returns the trace-event document that `terrace export` writes."""
    events: list[dict[str, Any]] = []
    for run in runs:
        events += _names(run)
        events += _loop(run, store.phase_instances(run))
        events += _moves(store, run)
        events += _plans(store, run)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "source": store.path.name,
            "time": "virtual" if any(run.virtual for run in runs) else "real",
        },
    }


def _names(run: Run) -> list[dict[str, Any]]:
    return [
        _meta(run, "process_name", 0, f"{run.name} ({run.backend} time)"),
        _meta(run, "thread_name", _PROGRAM, "phases"),
    ]


def _meta(run: Run, kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": run.process, "tid": thread, "ts": 0, "args": {"name": name}}


def _slice(
    run: Run, thread: int, name: str, category: str, begun: float, ended: float, **args: object
) -> dict[str, Any]:
    """Returns a trace event with a begin and a duration."""
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": run.process,
        "tid": thread,
        "ts": begun * _MICRO,
        "dur": max(ended - begun, 0.0) * _MICRO,
        "args": args,
    }


def _loop(run: Run, instances: list[PhaseInstance]) -> list[dict[str, Any]]:
    """Returns the events of iterations and their phases."""
    events = []
    for number in sorted({i.iteration for i in instances}):
        inside = [i for i in instances if i.iteration == number]
        begun, ended = min(i.begun for i in inside), max(i.ended for i in inside)
        events.append(_slice(run, _PROGRAM, f"iteration {number + 1}", "iteration", begun, ended))
        for i in inside:
            events.append(
                _slice(
                    run, _PROGRAM, i.name, "phase", i.begun, i.ended, phase=i.phase, waited_us=i.waited * _MICRO
                )
            )
            if i.waited > 0:
                # A phase waits at its begin: its data must arrive first.
                events.append(_slice(run, _PROGRAM, "waits for moves", "wait", i.begun, i.begun + i.waited))
    return events


def _moves(store: Store, run: Run) -> list[dict[str, Any]]:
    """Returns the events of moves, on as many lanes as overlap."""
    moves = [move for move in store.moves(run) if not move.refused]
    if not moves:
        return []
    places = {place.id: place.name for place in store.machine(run).places}
    names = {item.id: item.name for item in store.objects(run)}
    events = []
    lanes: list[float] = []  # end time of each lane's last move
    for move in sorted(moves, key=lambda m: (m.begun, m.done)):
        lane = next((n for n, free in enumerate(lanes) if free <= move.begun), len(lanes))
        if lane == len(lanes):
            lanes.append(0.0)
            events.append(
                _meta(run, "thread_name", _FIRST_MOVER + lane, "moves" if lane == 0 else f"moves {lane + 1}")
            )
        lanes[lane] = move.done
        events.append(_move(run, _FIRST_MOVER + lane, move, names.get(move.object, str(move.object)), places))
    return events


def _move(run: Run, thread: int, move: Move, name: str, places: dict[int, str]) -> dict[str, Any]:
    source, target = places.get(move.source, "?"), places.get(move.target, "?")
    return _slice(
        run,
        thread,
        f"{name} to {target}",
        "move",
        move.begun,
        move.done,
        size=units.size(move.size),
        bytes=move.size,
        source=source,
        target=target,
        asked_us=move.asked * _MICRO,
        waited_us=move.waited * _MICRO,
        benefit_us=move.benefit * _MICRO,
        cost_us=move.cost * _MICRO,
    )


def _plans(store: Store, run: Run) -> list[dict[str, Any]]:
    """Returns an instant event for each plan."""
    return [
        {
            "name": f"plan by {plan.planner}",
            "cat": "plan",
            "ph": "i",
            "s": "p",
            "pid": run.process,
            "tid": _PROGRAM,
            "ts": plan.at * _MICRO,
            "args": {"why": plan.why, "predicted_us": plan.predicted * _MICRO},
        }
        for plan in store.plans(run)
    ]
