# SPDX-License-Identifier: Apache-2.0
"""Fits a core time per instruction to each function of a program, from a sampled native run, for `terrace lab
calibrate`.

A run in virtual time counts, for each function, instructions, cache hits beyond the first level, and misses. The
machine file prices hits and misses, as virtual time does. A function's core time is the remaining native time
divided by its instructions. Functions with too few samples, and those with an impossible result (because the
compiler inlined another function in only one of the builds), are fitted together as the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from terrace.solve import calibration

MIN_SHARE = 0.01  # of the program's time; smaller functions belong to the rest
MIN_SAMPLES = 40  # a relative standard error of one sixth
MIN_CORE = 1 / 16  # of a function's native time; below, the error of virtual time's stalls dominates

# Columns of a calibrating run's output (observe/pipeline/function_counters.hpp), after the name.
_COUNTS = ("work", "walks", "prefetched", "independent", "dependent", "weight", "written", "calls")
_PARTS = 256  # units per instruction
_WEIGHTS = 255  # units per latency


@dataclass(frozen=True)
class Use:
    """Event counts of one function in a run in virtual time."""

    instructions: float
    walks: int
    prefetched: int
    independent: int
    dependent: int
    weight: int
    written: int
    hits: tuple[int, ...]  # by cache, from the first level on

    def __add__(self, other: Use) -> Use:
        return Use(
            self.instructions + other.instructions,
            self.walks + other.walks,
            self.prefetched + other.prefetched,
            self.independent + other.independent,
            self.dependent + other.dependent,
            self.weight + other.weight,
            self.written + other.written,
            tuple(a + b for a, b in zip(self.hits, other.hits, strict=True)),
        )


NOTHING = Use(0.0, 0, 0, 0, 0, 0, 0, (0, 0, 0, 0))


@dataclass(frozen=True)
class Prices:
    """Costs of a function's hits and misses on the machine of the native runs. Seconds, bytes per second."""

    hits: tuple[float, ...]
    walk: float
    latency: float
    prefetched: float  # relative to the latency
    independent: float
    read: float
    write: float
    least: float  # minimum and maximum core time per instruction
    most: float
    line: int = 64

    def stalls(self, use: Use) -> float:
        """Returns the time of hits and of exposed latencies."""
        hits = sum(count * price for count, price in zip(use.hits, self.hits, strict=False))
        exposed = (
            use.prefetched * self.prefetched + use.independent * self.independent + use.weight / _WEIGHTS
        ) * self.latency
        return hits + use.walks * self.walk + exposed

    def transfers(self, use: Use) -> float:
        """Returns the time that the place needs to deliver the data."""
        read = use.prefetched + use.independent + use.dependent
        return read * self.line / self.read + use.written * self.line / self.write


@dataclass(frozen=True)
class FunctionFit:
    """A function with its own core time. Seconds."""

    name: str
    core_time: float
    native: float
    stalls: float


@dataclass(frozen=True)
class FunctionFits:
    """Core time of the rest, and of functions with one of their own."""

    rest: float
    functions: list[FunctionFit] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Returns the lines of a --core-time file, the rest first."""
        of_functions = [f"{one.name}()={_picoseconds(one.core_time)}" for one in self.functions]
        return [_picoseconds(self.rest), *of_functions]

    def options(self) -> list[str]:
        """Returns the options of `terrace simulate`."""
        return [f"--core-time={line}" for line in self.lines()]


def read_uses(text: str) -> dict[str, Use]:
    """Parses the lines that a calibrating run wrote. Raises ValueError if a line has another form."""
    uses: dict[str, Use] = {}
    for line in text.splitlines():
        name, *words = line.split("\t")
        counts = [int(word) for word in words]
        if len(counts) < len(_COUNTS) or min(counts) < 0:
            raise ValueError(
                f"the calibrating run wrote {line!r} instead of the event counts of a function; calibrate again"
            )
        of = dict(zip(_COUNTS, counts, strict=False))
        del of["calls"]
        work = of.pop("work")
        hits = (*counts[len(_COUNTS) :], 0, 0, 0, 0)[:4]
        use = Use(instructions=work / _PARTS, hits=tuple(hits), **of)
        uses[name] = uses.get(name, NOTHING) + use
    return uses


def prices(machine: Mapping[str, Any]) -> Prices:
    """Returns the prices of the first initiator and its home place, from what `terrace machine --json` prints."""
    (initiator, *_) = machine["initiators"]
    path = max(
        (one for one in machine["paths"] if one["initiator"] == initiator["name"]),
        key=lambda one: next(p["capacity"] for p in machine["places"] if p["name"] == one["place"]),
    )
    hits = [cache["overlapped"] or cache["latency"] / initiator["mlp"] for cache in initiator["caches"][1:]]
    return Prices(
        (0.0, *hits),
        initiator["tlb"]["walk"] if initiator.get("tlb") else 0.0,
        path["latency"],
        1 / initiator["prefetch_mlp"],
        1 / initiator["mlp"],
        path["read"],
        path["write"],
        *calibration.possible(initiator["frequency"] or None),
        machine["line"],
    )


def total(uses: Mapping[str, Use]) -> Use:
    """Returns the sum over all functions."""
    return sum(uses.values(), NOTHING)


def core_time(use: Use, native: float, of: Prices) -> float:
    """Returns the core time per instruction if `use` takes `native` seconds, after hits and misses."""
    return max(native - of.stalls(use), MIN_CORE * native) / use.instructions


def fit(
    uses: Mapping[str, Use], native: Mapping[str, float], samples: float, of: Prices, program: float
) -> FunctionFits:
    """Fits all functions. `native`: seconds of each function; `samples`: their total number; `program`: the core
    time of the whole program.
    """
    whole = sum(native.values())
    taken = {
        name: FunctionFit(name, core_time(use, native[name], of), native[name], of.stalls(use))
        for name, use in uses.items()
        if _is_told_apart(native.get(name, 0.0), whole, samples) and use.instructions > 0
    }
    # An impossible core time includes a function that only the plain compiler inlined. Drop it.
    taken = {name: one for name, one in taken.items() if of.least <= one.core_time <= of.most}
    rest = _rest(uses, native, taken, of, program)
    return FunctionFits(rest, sorted(taken.values(), key=lambda one: (-one.native, one.name)))


def _is_told_apart(native: float, whole: float, samples: float) -> bool:
    return whole > 0 and native >= MIN_SHARE * whole and native / whole * samples >= MIN_SAMPLES


def _rest(
    uses: Mapping[str, Use],
    native: Mapping[str, float],
    taken: Mapping[str, FunctionFit],
    of: Prices,
    program: float,
) -> float:
    """Returns the core time of all functions without one of their own. With it the whole program takes its native
    time, also if the plain compiler inlines functions into one with a core time of its own. Returns the whole
    program's core time if these functions take too little time."""
    left = total({name: use for name, use in uses.items() if name not in taken})
    took = sum(time for name, time in native.items() if name not in taken)
    least = MIN_SHARE * sum(native.values())
    if left.instructions <= 0 or (took < least and left.instructions * program < least):
        return program
    return min(max(core_time(left, took, of), of.least), of.most)


def _picoseconds(seconds: float) -> str:
    return f"{seconds * 1e12:.9f}ps"
