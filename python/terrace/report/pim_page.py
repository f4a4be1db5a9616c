"""The page of a replay in memory that computes: maps, occupancy and fragmentation in one file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from terrace import units
from terrace.report import pim_curves, pim_map

if TYPE_CHECKING:
    from terrace import _core
    from terrace.pim import Facts

_STYLE = """
figure img { display: block; width: 100%; height: auto; border-radius: .4rem; }
"""
_ABOUT_FRAGMENTATION = (
    "1 less what the largest free block holds, against what it could if all free rows lay together: of any "
    "rectangle, of a run of subarrays in one row (horizontal), of a run of rows in one subarray (vertical). At 0 "
    "the free rows lie together as well as they can; near 1 only small blocks still find room."
)


def render(facts: Facts, maps: Mapping[str, tuple[bytes, bytes]]) -> str:
    """The whole file; it refers to nothing outside of itself. `maps`: PNG files for light and dark pages."""
    style = resources.files("terrace.report").joinpath("style.css").read_text(encoding="utf-8")
    title = f"{facts.name}: allocations in memory that computes"
    sections = [
        _section(
            "occupancy-over-time",
            "How full the device was",
            "The share of all rows that blocks lie in, by the direction in which their elements lie.",
            pim_curves.occupancy(facts),
        ),
        _section(
            "fragmentation-over-time",
            "How broken up the rest was",
            _ABOUT_FRAGMENTATION,
            pim_curves.fragmentation(facts),
            _fragments(facts),
        ),
        _map_section(facts, "fullest", "The fullest moment", maps),
        _map_section(facts, "end", "The end", maps),
        _differences(facts),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}{_STYLE}{pim_curves.STYLE}</style>\n</head>\n<body>\n"
        f"{_header(facts)}\n<main>\n{''.join(sections)}</main>\n"
        "<footer>Written by <code>terrace lab pim</code>.</footer>\n</body>\n</html>\n"
    )


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
    shown = "".join(
        f'<div class="tile {style}"><dt>{escape(name)}</dt>'
        f"<dd>{escape(value)}<small>{escape(about)}</small></dd></div>"
        for style, name, value, about in tiles
    )
    return (
        f"<header>\n<h1>Terrace · {escape(facts.name)}</h1>\n"
        f'<p class="headline">{escape(headline)}</p>\n<p class="lead">{escape(lead)}</p>\n'
        f'<dl class="tiles">{shown}</dl>\n</header>'
    )


def _section(name: str, title: str, about: str, figure: str, table: str = "") -> str:
    return (
        f'<section aria-labelledby="{name}-h">\n<h2 id="{name}-h">{escape(title)}</h2>\n<p>{escape(about)}</p>\n'
        f"<figure>\n{figure}\n</figure>\n{table}\n</section>\n"
    )


def _map_section(facts: Facts, moment: str, title: str, maps: Mapping[str, tuple[bytes, bytes]]) -> str:
    light, dark = (base64.b64encode(png).decode() for png in maps[moment])
    about = (
        "Rows downwards, subarrays across, a line between two banks. Horizontal blocks are blue, vertical ones "
        "brown; neighbours differ in shade."
    )
    figure = (
        f'<picture><source media="screen and (prefers-color-scheme: dark)" srcset="data:image/png;base64,{dark}">'
        f'<img alt="{escape(pim_map.words(facts, moment))}" src="data:image/png;base64,{light}"></picture>'
    )
    return _section(moment, title, about, figure)


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
    return _table(
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
        f"{whole.differ:,} of {whole.compared:,} blocks came to lie elsewhere than the trace says, or found room "
        "where it says there was none, or the other way round. Traces of several threads, of other devices and of "
        "other allocators do that."
    )
    more = f"<p>{left_out:,} more are not shown.</p>" if left_out else ""
    table = _table("The first of them", ["line", "block", "recorded", "replayed"], rows, (2, 3))
    return (
        '<section aria-labelledby="differ-h">\n<h2 id="differ-h">Not as recorded</h2>\n'
        f"<p>{escape(about)}</p>\n{table}{more}\n</section>\n"
    )


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=left' if column in left else ''}>{escape(text)}</{tag}>"
            for column, text in enumerate(row)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f"<details><summary>{escape(title)}</summary><div class=scroll><table>"
        f"<thead><tr>{cells('th', headings)}</tr></thead><tbody>\n{body}\n</tbody></table></div></details>"
    )
