# SPDX-License-Identifier: Apache-2.0
"""Renders the page of a PIM replay (`terrace lab pim`): maps, occupancy and fragmentation."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import parts, pim_curves, pim_map
from terrace.report.pim_facts import Facts

if TYPE_CHECKING:
    from terrace import _core

_ABOUT_FRAGMENTATION = (
    "1 minus the size of the largest free block, relative to its size if all free rows were contiguous: for any "
    "rectangle, for a run of subarrays in one row (horizontal), for a run of rows in one subarray (vertical). At "
    "0 the free rows are contiguous; near 1 only small blocks can be allocated."
)


def render(facts: Facts) -> str:
    """Returns the HTML file; it contains no external references."""
    title = f"{facts.name}: allocations in a processing-in-memory device"
    sections = [
        parts.section(
            "occupancy-over-time",
            "Occupancy",
            "The share of all rows that blocks occupy, by the direction of their elements.",
            pim_curves.occupancy(facts),
        ),
        parts.section(
            "fragmentation-over-time",
            "Fragmentation",
            _ABOUT_FRAGMENTATION,
            pim_curves.fragmentation(facts),
            _fragments(facts),
        ),
        _map_section(facts, "fullest", "Map at peak occupancy"),
        _map_section(facts, "end", "Map at the end"),
        _differences(facts),
    ]
    footer = "<footer>Written by <code>terrace lab pim</code>.</footer>"
    body = f"{_header(facts)}\n<main>\n{''.join(sections)}</main>\n{footer}"
    return parts.document(title, body)


def _header(facts: Facts) -> str:
    """Renders the headline and the introduction."""
    whole = facts.whole
    full = units.percent(facts.share(whole.peak))
    if whole.failures:
        many = f"{whole.failures:,} of {whole.allocations:,} requests"
        headline = f"{many} failed on a device with a peak occupancy of {full}"
    else:
        headline = f"No request failed; the peak occupancy of the device was {full}"
    lead = f"{facts.name} on {facts.device}: {units.size(whole.geometry.capacity)}."
    if whole.compared:
        lead += (
            f" All {whole.compared:,} outcomes equal the recorded ones."
            if whole.differ == 0
            else f" {whole.differ:,} of {whole.compared:,} outcomes differ from the recorded ones."
        )
    row = whole.geometry.row_bytes
    tiles = [
        ("fast", "Horizontal blocks", units.size(facts.fullest.used[0] * row), "at peak occupancy"),
        ("slow", "Vertical blocks", units.size(facts.fullest.used[1] * row), "at peak occupancy"),
        ("plan", "In use at the end", units.percent(facts.share(sum(whole.used))), f"{whole.blocks:,} blocks"),
        (
            "bound",
            "Fragmentation at the end",
            units.percent(whole.fragmentation.rectangle.fragmentation),
            f"horizontal {units.percent(whole.fragmentation.horizontal.fragmentation)}, "
            f"vertical {units.percent(whole.fragmentation.vertical.fragmentation)}",
        ),
    ]
    return (
        f"<header>\n<h1>Terrace · {escape(facts.name)}</h1>\n"
        f'<p class="headline">{escape(headline)}</p>\n<p class="lead">{escape(lead)}</p>\n'
        f"{parts.tiles(tiles)}\n</header>"
    )


def _map_section(facts: Facts, moment: str, title: str) -> str:
    about = (
        f"{pim_map.words(facts, moment)} Rows are vertical, subarrays horizontal; a line separates banks. "
        "Horizontal blocks are blue, vertical ones brown; neighbours differ in shade."
    )
    return parts.section(f"map-{moment}", title, about, pim_map.draw(facts, moment))


def _fragments(facts: Facts) -> str:
    """Renders the table of the largest free rectangles and runs, when fullest and at the end."""
    rows = [
        [when, kind, *_largest(largest)]
        for when, at in (("fullest", facts.fullest), ("end", facts.whole))
        for kind, largest in (
            ("rectangle", at.fragmentation.rectangle),
            ("horizontal run", at.fragmentation.horizontal),
            ("vertical run", at.fragmentation.vertical),
        )
    ]
    return parts.details(
        "Largest free blocks", ["when", "shape", "rows", "subarrays", "at", "fragmentation"], rows, (0, 1, 4)
    )


def _largest(largest: _core.PimLargestFree) -> list[str]:
    device, subarray, row = largest.position
    at = f"device {device}, subarray {subarray}, row {row}" if largest.units else "nothing is free"
    return [f"{largest.rows:,}", f"{largest.subarrays:,}", at, units.percent(largest.fragmentation)]


def _differences(facts: Facts) -> str:
    """Renders the table of blocks whose address differs from the trace's, if any."""
    whole = facts.whole
    if not whole.differ:
        return ""
    rows = [[f"{line:,}", str(block), recorded, replayed] for line, block, recorded, replayed in whole.differences]
    left_out = whole.differ - len(rows)
    about = (
        f"{whole.differ:,} of {whole.compared:,} blocks have another address than in the trace, or only one of "
        "replay and trace allocated them. Traces of several threads, of other devices and of other allocators "
        "cause such differences."
    )
    more = f"<p>{left_out:,} more are not shown.</p>" if left_out else ""
    table = parts.details("First differences", ["line", "block", "recorded", "replayed"], rows, (2, 3))
    return (
        '<section aria-labelledby="differ-h">\n<h2 id="differ-h">Differences from the recording</h2>\n'
        f"<p>{escape(about)}</p>\n{table}{more}\n</section>\n"
    )
