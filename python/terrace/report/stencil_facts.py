# SPDX-License-Identifier: Apache-2.0
"""Derives figures from the plans of stencil chains: traffic of loops, their lead (points that a loop computes
ahead of its tile), and the reach of tiles. `terrace show` and `terrace report` print and draw them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from terrace.errors import WrongCallError
from terrace.store.stencil_plans import Chain, Loop, Plan, Plans

AXES = "xyz"


def title(plans: Plans, number: int) -> str:
    """Describes a chain; numbers are from 1."""
    chain = plans.chains[number - 1]
    loops = f"{len(chain.loops)} loop{'s' * (len(chain.loops) != 1)}"
    return f"Chain {number} of the block '{plans.blocks[chain.block]}': {loops}, ran {times(chain.runs)}"


def times(count: int) -> str:
    """Formats a count of runs."""
    return "once" if count == 1 else f"{count:,} times"


def points(count: int) -> str:
    """Formats a count of points."""
    return f"{count} point{'s' * (count != 1)}"


def chosen(file: Path, plans: Plans, number: int | None, most: int) -> list[int]:
    """Returns the numbers of the chains to show: `number`, or else the longest ones in order of occurrence."""
    if not plans.chains:
        raise WrongCallError(f"{file}: no chain ran, so it contains no plans; let the program terminate normally")
    if number is not None:
        if not 1 <= number <= len(plans.chains):
            raise WrongCallError(f"--chain {number}: {file} has chains 1 to {len(plans.chains)}; give one of them")
        return [number]
    order = sorted(range(1, len(plans.chains) + 1), key=lambda n: -plans.chains[n - 1].seconds)
    return sorted(order[:most])


def main_plan(chain: Chain) -> Plan | None:
    """Returns the plan of a chain that ran most often, the fastest one of equals; None if loops ran one after the
    other.
    """
    if not chain.plans:
        return None
    return max(chain.plans, key=lambda plan: (plan.runs, -plan.seconds))


def outer(chain: Chain, plan: Plan | None) -> int:
    """Returns the dimension that tables and pictures show: that of the steps of a streamed plan, else the
    outermost one that is cut into tiles, else the outermost."""
    if plan is not None and plan.stream is not None:
        return plan.stream.dimension
    cut = [d for d in range(3) if plan is not None and plan.tiles[d] > 1]
    long = [d for d in range(3) if any(loop.range.length(d) > 1 for loop in chain.loops)]
    return max(cut or long or [0])


def loop_bytes(plans: Plans, loop: Loop) -> int:
    """Returns the bytes that a loop reads and writes, as the statistics count them."""
    each = sum(plans.datasets[a.dataset].element * (a.reads + a.writes) for a in loop.arguments)
    return each * loop.range.points


def read_offsets(loop: Loop, d: int) -> tuple[int, int]:
    """Returns the minimum and maximum read offset of a loop in a dimension, including 0."""
    reads = [a for a in loop.arguments if a.reads]
    return min([0, *(a.low[d] for a in reads)]), max([0, *(a.high[d] for a in reads)])


def tile_lead(plan: Plan, number: int, d: int) -> int:
    """Returns the lead of a loop in most tiles: by how many points its part of a tile extends beyond the tile's
    edge."""
    runs = plan.edges[d][number] if plan.edges[d] else []
    return max(runs, default=(0, 0))[1]


def depth(chain: Chain, plan: Plan, d: int) -> tuple[int, int]:
    """Returns how far a middle tile extends beyond its points, below and above, in computation and reads."""
    tile = plan.tiles[d] // 2
    if plan.tiles[d] == 1:
        return 0, 0
    sign = -1 if plan.reversed[d] else 1
    first = plan.range.end[d] if plan.reversed[d] else plan.range.begin[d]
    last = plan.range.begin[d] if plan.reversed[d] else plan.range.end[d]
    ends = [first + sign * plan.size[d] * t for t in (tile, tile + 1)]  # of the middle tile
    if (ends[1] - last) * sign > 0:
        ends[1] = last
    low, high = min(ends), max(ends)
    below, above = 0, 0
    for number, loop in enumerate(chain.loops):
        begin, end = part(plan.cuts(loop, number, d), tile)
        if begin < end and loop.range.points:
            beyond = read_offsets(loop, d)
            below = max(below, low - (begin + beyond[0]))
            above = max(above, end + beyond[1] - high)
    return below, above


def part(cuts: Sequence[int], tile: int) -> tuple[int, int]:
    """Returns the range of a loop in a dimension that a tile computes."""
    begin, end = sorted((cuts[tile], cuts[tile + 1]))
    return begin, end
