# SPDX-License-Identifier: Apache-2.0
"""Provides building blocks of the HTML pages of reports and experiments: the file, sections, collapsible
tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from terrace.report import charts

_MANY_ROWS = 200


def document(title: str, body: str, more_style: str = "") -> str:
    """Returns the HTML file with the script for its charts; it contains no external references."""
    style = resources.files("terrace.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}{more_style}</style>\n</head>\n<body>\n"
        f"{body}\n{charts.library()}</body>\n</html>\n"
    )


def tiles(each: Sequence[tuple[str, str, str, str]]) -> str:
    """Returns key figures; each has a colour's name, a title, a value and a remark."""
    inner = "".join(
        f'<div class="tile {style}"><dt>{escape(name)}</dt>'
        f"<dd>{escape(value)}<small>{escape(about)}</small></dd></div>"
        for style, name, value, about in each
    )
    return f'<dl class="tiles">{inner}</dl>'


def section(name: str, title: str, about: str, figure: str, table: str = "") -> str:
    """Returns a section: heading, text, figure and table. `about`, `figure` and `table` are HTML."""
    return (
        f'<section aria-labelledby="{name}-h">\n<h2 id="{name}-h">{escape(title)}</h2>\n<p>{about}</p>\n'
        f"<figure>\n{figure}\n</figure>\n{table}\n</section>\n"
    )


def details(
    summary: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)
) -> str:
    """Returns a collapsible table; columns in `left` are text. Empty without rows."""
    if not rows:
        return ""

    def cell(tag: str, column: int, text: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{' class=left' if column in left else ''}>{escape(text)}</{tag}>"

    head = "".join(cell("th", c, text) for c, text in enumerate(headings))
    shown = rows[:_MANY_ROWS]
    body = "\n".join(f"<tr>{''.join(cell('td', c, text) for c, text in enumerate(row))}</tr>" for row in shown)
    more = f"<p>{len(rows) - len(shown)} more rows: see terrace export.</p>" if len(rows) > len(shown) else ""
    return (
        f"<details><summary>{escape(summary)}</summary><div class=scroll><table><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table></div>{more}</details>"
    )
