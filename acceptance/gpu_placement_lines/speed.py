"""Measures the processor time of GPU simulations: medians over rounds of interleaved programs. Criteria of
acceptance/gpu-placement."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from harness import Criterion, Measured, keep_part
from terrace import _core
from terrace.lab.experiment import ccnuma

from gpu_placement_lines.common import Run, machine, programs, size, trace

ROUNDS = 3
MIN = 1e6  # warp instructions a second
BOUND = 2.0  # all local over all remote: memory holds up what gains so much from 2.5 times the bandwidth
MAX = 1.3  # time with the most SMs over that with the fewest
SMS = (15, 30, 60, 132)
SCALED = ("bfs", "xsbench", "needle")


def _timed(about: _core.Machine, path: str) -> tuple[float, Run]:
    """Measures a simulation with all pages over the link."""
    begun = time.process_time()
    run = _core.simulate_gpu_share(about, path, 0.0)
    return time.process_time() - begun, run


def _speeds() -> dict[str, dict[str, float]]:
    """Returns for each program its gain in local memory, instructions, events and seconds."""
    about = _core.Machine.read(ccnuma.MACHINE)
    taken: dict[str, list[float]] = {}
    known: dict[str, dict[str, float]] = {}
    for number in range(ROUNDS):
        for name in programs():
            path = trace(name, size())
            seconds, remote = _timed(about, path)
            taken.setdefault(name, []).append(seconds)
            if number == 0:
                local = _core.simulate_gpu_share(about, path, 1.0)
                known[name] = {"gain": remote["cycles"] / local["cycles"], "instructions": remote["instructions"],
                               "events": remote["events"]}  # fmt: skip
    return {name: {**of, "seconds": median(taken[name])} for name, of in known.items()}


def speed() -> Measured:
    """Pages over the link. Held to the goal are programs that gain twofold and more from local memory."""
    found: dict[str, dict[str, float]] = keep_part(f"gpu-speed-{size()}", _speeds, timed=True)
    rates = {name: of["instructions"] / of["seconds"] for name, of in found.items()}
    bound = {name: rates[name] for name, of in found.items() if of["gain"] >= BOUND}
    slowest = min(bound, key=lambda name: bound[name], default="")
    least = bound.get(slowest, 0.0)
    lines = [
        f"{least / 1e6:.2f} million a second at least on {len(bound)} programs ({slowest})"
        if bound
        else "no program is memory-bound at this size"
    ]
    rows: list[dict[str, Any]] = []
    for name, of in sorted(found.items(), key=lambda item: -item[1]["gain"]):
        lines.append(
            f"{name}: {rates[name] / 1e6:.2f} million a second, {of['seconds']:.2f} s for "
            f"{of['instructions'] / 1e6:.1f} million, {of['events'] / of['seconds'] / 1e6:.1f} million events a "
            f"second; all local {of['gain']:.2f}x" + ("" if name in bound else ", not held to it")
        )
        rate = round(rates[name] / 1e6, 2)
        rows.append({"program": name, "million_a_second": rate, "memory-bound": name in bound})
    return Measured("\n".join(lines), least >= MIN, rows)


def _scaled() -> dict[str, dict[str, list[float]]]:
    """Returns seconds, events and bytes of DRAM, by program and number of SMs."""
    abouts = {count: machine(processors=count) for count in SMS}
    found: dict[str, dict[str, list[float]]] = {}
    for name in SCALED:
        path = trace(name, size())
        taken: dict[int, list[float]] = {}
        last: dict[int, Run] = {}
        for _ in range(ROUNDS):
            for count, about in abouts.items():
                seconds, last[count] = _timed(about, path)
                taken.setdefault(count, []).append(seconds)
        found[name] = {
            str(count): [median(taken[count]), last[count]["events"], sum(last[count]["demand_bytes"])]
            for count in SMS
        }
    return found


def scaling() -> Measured:
    """Simulates the traces on more SMs, with the same memory behind them."""
    found = keep_part(f"gpu-scaling-{size()}", _scaled, timed=True)
    lines, worst = [], 0.0
    for name, of in found.items():
        seconds, events, _ = of[str(SMS[0])]
        ratio = of[str(SMS[-1])][0] / seconds
        worst = max(worst, ratio)
        lines.append(
            f"{name}: "
            + "; ".join(
                f"{count} SMs {own:.2f} s, {many / 1e6:.2f} million events, "
                f"{own / many / (seconds / events):.2f}x an event, {moved / 1e6:.1f} MB"
                for count, (own, many, moved) in of.items()
            )
        )
    first = f"at most {worst:.2f}x the time on {SMS[-1]} SMs that it takes on {SMS[0]}"
    return Measured("\n".join([first, *lines]), worst <= MAX)


CRITERIA = [
    Criterion(
        "speed",
        f"{MIN / 1e6:.0f} million simulated warp instructions a second on one core, memory-bound programs",
        speed,
    ),
    Criterion(
        "speed, SMs",
        f"{SMS[0]} to {SMS[-1]} SMs at the same traffic: at most {MAX}x the time",
        scaling,
    ),
]
