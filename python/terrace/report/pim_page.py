"""The page of a replay in memory that computes: maps, occupancy and fragmentation in one file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import parts, pim_curves, pim_map
from terrace.report.pim_facts import Facts

if TYPE_CHECKING:
    from terrace import _core

_ABOUT_FRAGMENTATION = (
    "1 less what the largest free block holds, against what it could if all free rows were together: of any "
    "rectangle, of a run of subarrays in one row (horizontal), of a run of rows in one subarray (vertical). At 0 "
    "the free rows are together as well as they can; near 1 only small blocks still find room."
)


def render(facts: Facts) -> str:
    """The whole file; it refers to nothing outside of itself."""
    title = f"{facts.name}: allocations in memory that computes"
    sections = [
        parts.section(
            "occupancy-over-time",
            "How full the device was",
            "The share of all rows that blocks occupy, by the direction of their elements.",
            pim_curves.occupancy(facts),
        ),
        parts.section(
            "fragmentation-over-time",
            "How broken up the rest was",
            _ABOUT_FRAGMENTATION,
            pim_curves.fragmentation(facts),
            _fragments(facts),
        ),
        _map_section(facts, "fullest", "The fullest moment"),
        _map_section(facts, "end", "The end"),
        _differences(facts),
    ]
    footer = "<footer>Written by <code>terrace lab pim</code>.</footer>"
    body = f"{_header(facts)}\n<main>\n{''.join(sections)}</main>\n{footer}"
    return parts.document(title, body)


def _header(facts: Facts) -> str:
    whole = facts.whole
    full = units.percent(facts.share(whole.peak))
    if whole.failures:
        many = f"{whole.failures:,} of {whole.allocations:,} requests"
        headline = f"{many} found no room on a device that was {full} full at most"
    else:
        headline = f"Every request found room; the device was {full} full at most"
    lead = f"{facts.name} on {facts.device}: {units.size(whole.geometry.capacity)}."
    if whole.compared:
        lead += (
            f" All {whole.compared:,} outcomes are as recorded."
            if whole.differ == 0
            else f" {whole.differ:,} of {whole.compared:,} outcomes are not as recorded."
        )
    row = whole.geometry.row_bytes
    tiles = [
        ("fast", "Horizontal blocks", units.size(facts.fullest.used[0] * row), "at the fullest moment"),
        ("slow", "Vertical blocks", units.size(facts.fullest.used[1] * row), "at the fullest moment"),
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
        f"{pim_map.words(facts, moment)} Rows downwards, subarrays across, a line between two banks. Horizontal "
        "blocks are blue, vertical ones brown; neighbours differ in shade."
    )
    return parts.section(f"map-{moment}", title, about, pim_map.draw(facts, moment))


def _fragments(facts: Facts) -> str:
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
        "The largest free blocks", ["when", "shape", "rows", "subarrays", "at", "fragmentation"], rows, (0, 1, 4)
    )


def _largest(largest: _core.PimLargestFree) -> list[str]:
    device, subarray, row = largest.position
    at = f"device {device}, subarray {subarray}, row {row}" if largest.units else "nothing is free"
    return [f"{largest.rows:,}", f"{largest.subarrays:,}", at, units.percent(largest.fragmentation)]


def _differences(facts: Facts) -> str:
    whole = facts.whole
    if not whole.differ:
        return ""
    rows = [[f"{line:,}", str(block), recorded, replayed] for line, block, recorded, replayed in whole.differences]
    left_out = whole.differ - len(rows)
    about = (
        f"{whole.differ:,} of {whole.compared:,} blocks came elsewhere than the trace says, or found room "
        "where it says there was none, or the other way round. Traces of several threads, of other devices and of "
        "other allocators do that."
    )
    more = f"<p>{left_out:,} more are not shown.</p>" if left_out else ""
    table = parts.details("The first of them", ["line", "block", "recorded", "replayed"], rows, (2, 3))
    return (
        '<section aria-labelledby="differ-h">\n<h2 id="differ-h">Not as recorded</h2>\n'
        f"<p>{escape(about)}</p>\n{table}{more}\n</section>\n"
    )
