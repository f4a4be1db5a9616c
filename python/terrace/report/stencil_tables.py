# SPDX-License-Identifier: Apache-2.0
"""Prints plans of stencil chains as tables and as JSON, for `terrace show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from terrace import units
from terrace.output import table
from terrace.report import stencil_facts as facts
from terrace.store.stencil_plans import Chain, Plan, Plans, Range, Stream

_SMALL = 0.005  # of a chain's bytes; smaller loops are omitted
_MAX_STEPS = 40


def document(plans: Plans, numbers: Sequence[int]) -> dict[str, Any]:
    """Returns the JSON of the chains: the printed figures, and where each loop's parts end."""
    return {
        "executor": plans.executor,
        "memory": plans.memory,
        "left_out": plans.left_out,
        "chains": [_chain_document(plans, number) for number in numbers],
    }


def _chain_document(plans: Plans, number: int) -> dict[str, Any]:
    chain = plans.chains[number - 1]
    return {
        "chain": number,
        "block": plans.blocks[chain.block],
        "runs": chain.runs,
        "seconds": chain.seconds,
        "loops": [
            {
                "name": loop.name,
                "begin": loop.range.begin,
                "end": loop.range.end,
                "bytes": facts.loop_bytes(plans, loop),
                "reach": [facts.read_offsets(loop, d) for d in range(3)],
                "reads": [plans.datasets[a.dataset].name for a in loop.arguments if a.reads],
                "writes": [plans.datasets[a.dataset].name for a in loop.arguments if a.writes],
            }
            for loop in chain.loops
        ],
        "plans": [_plan_document(chain, plan) for plan in chain.plans],
    }


def _plan_document(chain: Chain, plan: Plan) -> dict[str, Any]:
    stream = plan.stream
    return {
        "runs": plan.runs,
        "seconds": plan.seconds,
        "size": plan.size,
        "tiles": plan.tiles,
        "reversed": plan.reversed,
        "skew": plan.skew,
        "depth": [facts.depth(chain, plan, d) for d in range(3)],
        "cuts": [
            [plan.cuts(loop, n, d) for n, loop in enumerate(chain.loops)] if plan.tiles[d] > 1 else None
            for d in range(3)
        ],
        "stream": None
        if stream is None
        else {
            "dimension": stream.dimension,
            "chunk_bytes": stream.chunk,
            "memory_bytes": stream.frames * stream.chunk,
            "most_bytes": stream.most_chunks * stream.chunk,
            "steps": [
                {"tiles": [step.first_tile, step.last_tile]}
                | {k: getattr(step, k) * stream.chunk for k in ("needed", "new", "written", "dropped", "held")}
                for step in stream.steps
            ],
            "moved": [{k: value * stream.chunk for k, value in vars(move).items()} for move in stream.moves],
        },
    }


def print_plans(out: Console, plans: Plans, numbers: Sequence[int], *, everything: bool) -> None:
    """Prints a table of all chains, then the selected ones in detail."""
    streams = any(plan.stream for chain in plans.chains for plan in chain.plans)
    memory = f", {units.size(plans.memory)} of memory" if streams else ""
    out.print(f"Stencil plans of the executor {plans.executor}{memory}", markup=False)
    rows = table("chain", "block", "loops", "ran", "time", "bytes", "tiles", "skew", "steps", left=(1,))
    for number, chain in enumerate(plans.chains, 1):
        plan = facts.main_plan(chain)
        rows.add_row(
            str(number),
            plans.blocks[chain.block],
            str(len(chain.loops)),
            f"{chain.runs:,}",
            units.seconds(chain.seconds),
            units.size(chain.runs * sum(facts.loop_bytes(plans, loop) for loop in chain.loops)),
            _by_axis(plan.tiles) if plan else "",
            _by_axis(plan.skew) if plan else "",
            str(len(plan.stream.steps)) if plan and plan.stream else "",
        )
    out.print(rows)
    if plans.left_out:
        out.print(f"The file omits {plans.left_out:,} runs of further chains.", markup=False)
    for number in numbers:
        out.print(f"\n{facts.title(plans, number)}", markup=False)
        _print_chain(out, plans, plans.chains[number - 1], everything=everything)
    if len(numbers) < len(plans.chains):
        out.print("\nOther chains: --chain N, or --all", markup=False)


def _by_axis(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _print_chain(out: Console, plans: Plans, chain: Chain, *, everything: bool) -> None:
    plan = facts.main_plan(chain)
    d = facts.outer(chain, plan)
    _print_cuts(out, chain)
    if plan:
        below, above = facts.depth(chain, plan, d)
        out.print(
            f"In {facts.AXES[d]} a middle tile extends {facts.points(below)} below its own and {above} above.\n",
            markup=False,
        )
    sizes = [facts.loop_bytes(plans, loop) for loop in chain.loops]
    total = max(sum(sizes), 1)
    shown = [n for n, size in enumerate(sizes) if everything or size >= _SMALL * total]
    rows = table("loop", "name", "range", "reads", "ahead", "bytes", "datasets", left=(1, 2, 6))
    for n in shown:
        loop = chain.loops[n]
        low, high = facts.read_offsets(loop, d)
        rows.add_row(
            str(n + 1),
            loop.name,
            _text(loop.range),
            f"{low}..{high}" if low or high else "",
            str(facts.tile_lead(plan, n, d)) if plan else "",
            units.size(sizes[n]),
            ", ".join(plans.datasets[a.dataset].name + ("*" if a.writes else "") for a in loop.arguments),
        )
    if len(shown) < len(sizes):
        rest = sum(size for n, size in enumerate(sizes) if n not in set(shown))
        rows.add_row("", f"({len(sizes) - len(shown)} more)", "", "", "", units.size(rest), "")
    out.print(rows)
    out.print(
        f"reads: offsets in {facts.AXES[d]}; ahead: points in {facts.AXES[d]} by which the loop's part of a tile "
        "extends beyond the tile; *: written",
        markup=False,
    )
    if plan and plan.stream:
        _print_steps(out, plan, plan.stream, None if everything else _MAX_STEPS)


def _text(of: Range) -> str:
    sides = [f"{a}..{b}" for a, b in zip(of.begin, of.end, strict=True)]
    while len(sides) > 1 and sides[-1] == "0..1":
        sides.pop()
    return " x ".join(sides)


def _print_cuts(out: Console, chain: Chain) -> None:
    """Prints the tiles of each plan of a chain."""
    if not chain.plans:
        out.print("Its loops ran one after the other, without tiles.\n", markup=False)
        return
    rows = table("tile", "tiles", "skew", "backwards in", "ran", "time of a run", left=(0, 1, 2, 3))
    for plan in chain.plans:
        rows.add_row(
            _by_axis(plan.size),
            _by_axis(plan.tiles),
            _by_axis(plan.skew),
            ", ".join(axis for axis, back in zip(facts.AXES, plan.reversed, strict=True) if back),
            f"{plan.runs:,}",
            units.seconds(plan.seconds / plan.runs),
        )
    out.print(rows)


def _print_steps(out: Console, plan: Plan, stream: Stream, limit: int | None) -> None:
    """Prints the steps of a streamed chain, by plan and as executed."""
    chunk = stream.chunk
    rows = table(
        "step", "tiles", "needs", "initialises", "writes last", "drops", "holds", "fetched", "cleared", "admitted",
        "stored",
    )  # fmt: skip
    for number, step in enumerate(stream.steps[:limit]):
        moved = stream.moves[number]
        by_plan = (step.needed, step.new, step.written, step.dropped, step.held)
        by_run = (moved.fetched, moved.cleared, moved.admitted, moved.stored)
        rows.add_row(
            str(number + 1),
            f"{step.first_tile}..{step.last_tile}",
            *(units.size(count * chunk) for count in by_plan),
            *(units.size(count * chunk / plan.runs) for count in by_run),
        )
    out.print()
    out.print(rows)
    if limit is not None and len(stream.steps) > limit:
        out.print(f"Shows {limit} of {len(stream.steps)} steps; --all shows all.", markup=False)
    last = stream.moves[-1]
    out.print(
        f"At most {units.size(stream.most_chunks * chunk)} are in use at a time, of "
        f"{units.size(stream.frames * chunk)}, in chunks of {units.size(chunk)}. By the plan, a step needs data "
        "from the file, initialises others, writes some for the last time, drops others that it only reads, and "
        "holds all from their first use to their last. While it ran, on average over the runs, data were fetched "
        "from the file, cleared to zero, admitted without their values, and stored in the file. After the last "
        f"step {units.size(last.fetched * chunk / plan.runs)} were fetched and "
        f"{units.size(last.stored * chunk / plan.runs)} stored.",
        markup=False,
    )
