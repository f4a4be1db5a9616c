"""A picture of bars for a terminal: one line for each label and time."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from terrace import units

_WIDTH = 48  # characters of the longest bar


def bars(title: str, rows: Sequence[tuple[str, float]], encoding: str | None = None) -> str:
    """The rows (label, seconds) as bars in proportion to their times, the longest over the whole width.

    Blocks where the terminal can show them, number signs elsewhere. Raises ValueError without rows.
    """
    longest = max(seconds for _, seconds in rows)
    width = max(len(label) for label, _ in rows)
    block = "█" if "utf" in (encoding or sys.stdout.encoding or "").lower() else "#"
    lines = [title]
    for label, seconds in rows:
        bar = block * max(1, round(_WIDTH * seconds / longest))
        lines.append(f"  {label:>{width}}  {bar} {units.seconds(seconds)}")
    return "\n".join(lines)
