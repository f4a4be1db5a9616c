# SPDX-License-Identifier: Apache-2.0
"""Renders the page of stencil plans for `terrace report`: chains, the tiles of each, and the steps of streamed
ones."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from terrace import units
from terrace.report import parts, stencil_picture
from terrace.report import stencil_facts as facts
from terrace.store.stencil_plans import Chain, Plan, Plans

_ABOUT = (
    "Horizontal: space. Vertical: loops, from the first to the last downwards. A band is a tile's part of each "
    "loop: upwards it widens by what the loops below read beyond their own points."
)
_ABOUT_STEPS = " A change of colour marks the end of a step."


def render(plans: Plans, numbers: Sequence[int], name: str) -> str:
    """Returns the HTML file; it contains no external references."""
    body = (
        f"{_header(plans, name)}\n<main>\n{''.join(_section(plans, n) for n in numbers)}{_chains(plans)}</main>\n"
    )
    footer = f"<footer>Repeat: <code>terrace report {escape(name)}</code></footer>"
    return parts.document(f"{name}: tile plans", body + footer)


def _header(plans: Plans, name: str) -> str:
    """Renders the headline and the tiles below it."""
    longest = max(len(chain.loops) for chain in plans.chains)
    runs = sum(chain.runs for chain in plans.chains)
    several = f"{len(plans.chains):,} different chains" if len(plans.chains) != 1 else "One chain"
    headline = f"{several}, run {facts.times(runs)}; the longest has {longest} loops"
    used = [plan for plan in map(facts.main_plan, plans.chains) if plan]
    tiles = [
        ("plan", "Executor", plans.executor, units.size(plans.memory) + " of memory" if plans.memory else ""),
        ("fast", "Time in chains", units.seconds(sum(chain.seconds for chain in plans.chains)), ""),
        ("bound", "Largest skew", str(max((max(plan.skew) for plan in used), default=0)), "points"),
    ]
    streams = [plan.stream for plan in used if plan.stream]
    if streams:
        most = max(stream.most_chunks * stream.chunk for stream in streams)
        tiles.append(("slow", "In memory", units.size(most), "maximum at a time"))
    return (
        f"<header>\n<h1>Terrace · {escape(name)}</h1>\n"
        f'<p class="headline">{escape(headline)}</p>\n{parts.tiles(tiles)}\n</header>'
    )


def _section(plans: Plans, number: int) -> str:
    """Renders the section of one chain."""
    chain = plans.chains[number - 1]
    plan = facts.main_plan(chain)
    title = facts.title(plans, number)
    if plan is None:
        text = "Its loops ran one after the other, without tiles."
        return parts.section(f"chain-{number}", title, text, "", _loops(plans, chain, plan))
    d = facts.outer(chain, plan)
    below, above = facts.depth(chain, plan, d)
    about = (
        f"{_ABOUT}{_ABOUT_STEPS if plan.stream else ''} A tile has "
        f"{' x '.join(str(points) for points in plan.size if points) or 'all'} points; in {facts.AXES[d]} a "
        f"middle tile extends {facts.points(below)} below its own and {above} above."
    )
    if len(chain.plans) > 1:
        about += f" This is the most frequent of {len(chain.plans)} plans of this chain."
    text = parts.section(
        f"chain-{number}", title, about, stencil_picture.draw(plans, number, plan),
        _loops(plans, chain, plan),
    )  # fmt: skip
    if plan.stream:
        stream = plan.stream
        about = (
            "Upwards: data that each step fetches from the file or initialises. Downwards: data that it uses "
            f"last. At most {units.size(stream.most_chunks * stream.chunk)} of "
            f"{units.size(stream.frames * stream.chunk)} are in use at a time. Triangles: data moved while "
            f"the step ran, mean of {facts.times(plan.runs)}; data that stay from chain to chain are not moved."
        )
        picture = stencil_picture.draw_steps(number, chain, plan, stream)
        text += parts.section(f"steps-{number}", f"Data movement by the steps of chain {number}", about, picture)
    return text


def _loops(plans: Plans, chain: Chain, plan: Plan | None) -> str:
    """Renders the table of a chain's loops."""
    d = facts.outer(chain, plan)
    rows = [
        [
            str(n + 1),
            loop.name,
            f"{loop.range.begin[d]:,}..{loop.range.end[d]:,}",
            "{}..{}".format(*facts.read_offsets(loop, d)),
            str(facts.tile_lead(plan, n, d)) if plan else "",
            units.size(facts.loop_bytes(plans, loop)),
        ]
        for n, loop in enumerate(chain.loops)
    ]
    axis = facts.AXES[d]
    return parts.details("Loops", ["loop", "name", axis, f"reads in {axis}", "ahead", "bytes"], rows, (0, 1))


def _chains(plans: Plans) -> str:
    """Renders the table of all chains."""
    rows = [
        [
            str(number),
            plans.blocks[chain.block],
            str(len(chain.loops)),
            f"{chain.runs:,}",
            units.seconds(chain.seconds),
            "x".join(map(str, plan.tiles)) if plan else "",
        ]
        for number, (chain, plan) in enumerate(((chain, facts.main_plan(chain)) for chain in plans.chains), 1)
    ]
    inner = parts.details("All chains", ["chain", "block", "loops", "ran", "time", "tiles"], rows, (0, 1))
    return f'<section aria-labelledby="all-h">\n<h2 id="all-h">All chains</h2>\n{inner}\n</section>\n'
