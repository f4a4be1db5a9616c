"""Draws random placement problems that are small enough to be solved exactly, for optimum.py."""

from __future__ import annotations

import random
from typing import Any

Dump = dict[str, Any]

MAX_CHUNKS = 12
MAX_PHASES = 8
CHUNK = 65536  # bytes, of which a chunk has 1 to 64


def instance(seed: int) -> Dump:
    """Returns a random problem with two places, of which the second is slower in bandwidth, latency or both. Each
    phase touches a share of the chunks, such that a copy takes between a third and ten times of a chunk's traffic.
    Under odd seeds moves cost the mover and the program more than their bytes."""
    dice = random.Random(seed)
    fast, slow = _places(dice)
    sizes = [dice.randint(1, 64) * CHUNK for _ in range(dice.randint(4, MAX_CHUNKS))]
    fast["budget"] = int(sum(sizes) * dice.uniform(0.1, 0.7))
    slow["budget"] = sum(sizes) + 1
    to_slow = dice.uniform(0.4, 1) * min(fast["read_bandwidth"], slow["write_bandwidth"])
    to_fast = dice.uniform(0.4, 1) * min(slow["read_bandwidth"], fast["write_bandwidth"])
    touched, reuse = dice.uniform(0.2, 0.8), 10 ** dice.uniform(-0.5, 1)
    phases = [_phase(dice, n, sizes, slow, touched, reuse) for n in range(dice.randint(2, MAX_PHASES))]
    return {
        "schema": "terrace-problem-3",
        "machine": "random",
        "loop": "loop",
        "cores": 1.0,
        "asking": 0.0,
        "touch_waits": False,
        "cyclic": True,
        "exact": False,
        "places": [fast, slow],
        "copier": "random" if seed % 2 else "ideal",
        "copy": [[0, to_slow], [to_fast, 0]],
        "homes": [1],
        "fastest_first": [[0, 1]],
        "objects": [{"name": f"object{n}", "size": size, "chunks": 1} for n, size in enumerate(sizes)],
        "items": [
            {
                "size": size,
                "domain": 0,
                "object": n,
                "ordinal": 0,
                "chunks": 1,
                "measured_at": 1,
                "remapping": seed % 2 * dice.uniform(0, 2) * size / 16e9,
                "stall": seed % 2 * dice.uniform(0, 0.5) * size / 16e9,
            }
            for n, size in enumerate(sizes)
        ],
        "phases": phases,
    }


def _places(dice: random.Random) -> tuple[Dump, Dump]:
    """Returns fast and slow memory of a random problem: slow has less bandwidth, more latency, or both."""
    bandwidth, latency = dice.uniform(8e9, 32e9), dice.uniform(50e-9, 150e-9)
    fast = _place("fast", bandwidth, bandwidth * dice.uniform(0.5, 1), latency)
    limit = dice.choice(["bandwidth", "latency", "both"])
    if limit != "latency":
        bandwidth *= dice.uniform(0.3, 0.6)
    if limit != "bandwidth":
        latency *= dice.uniform(2, 4)
    return fast, _place("slow", bandwidth, bandwidth * dice.uniform(0.5, 1), latency)


def _place(name: str, read: float, write: float, latency: float) -> Dump:
    return {
        "name": name,
        "kind": name,
        "domain": 0,
        "read_bandwidth": read,
        "write_bandwidth": write,
        "latency": latency,
    }


def _phase(dice: random.Random, number: int, sizes: list[int], slow: Dump, touched: float, reuse: float) -> Dump:
    """Returns a phase of a random problem: the items that it accesses, and its time in slow memory."""
    exposed = (0.1, 1.0) if dice.random() < 0.5 else (0.02, 0.1)
    cells: list[list[float]] = []
    for item, size in enumerate(sizes):
        if dice.random() < touched:
            read = size * dice.uniform(0.2, 3) * reuse
            cells.append([item, read, size * dice.uniform(0, 1) * reuse, read / 64 * dice.uniform(*exposed), 10])
    core = sum(cell[1] for cell in cells) / 16e9 * dice.uniform(0.1, 1)
    stalled = core + sum(cell[3] * slow["latency"] for cell in cells)
    busy = sum(cell[1] / slow["read_bandwidth"] + cell[2] / slow["write_bandwidth"] for cell in cells)
    return {
        "name": f"phase{number}",
        "core": core,
        "measured": max(stalled, busy),
        "unexplained": 0.0,
        "samples": 1000,
        "samples_with_access": 800,
        "cells": cells,
    }
