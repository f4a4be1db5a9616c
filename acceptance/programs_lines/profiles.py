"""Reads from a profile how its run was made, for cost.py and small.py."""

from __future__ import annotations

from pathlib import Path

from harness import query


def was_watched(profile: Path) -> bool:
    """Returns whether the pages of an object were monitored."""
    if not profile.exists():
        return False
    return any("objects are watched by" in text for (text,) in query(profile, "SELECT text FROM note"))


def moves_of(profile: Path) -> int:
    """Returns the number of moves that the system executed."""
    if not profile.exists():
        return 0
    ((count,),) = query(profile, "SELECT COUNT(*) FROM move WHERE NOT refused")
    return int(count)
