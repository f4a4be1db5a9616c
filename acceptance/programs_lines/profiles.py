"""Reads from a profile how its run was made."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def was_watched(profile: Path) -> bool:
    """Returns whether the pages of an object were monitored."""
    if not profile.exists():
        return False
    with sqlite3.connect(profile) as store:
        return any("objects are watched by" in text for (text,) in store.execute("SELECT text FROM note"))


def moves_of(profile: Path) -> int:
    """Returns the number of moves that the system executed."""
    if not profile.exists():
        return 0
    with sqlite3.connect(profile) as store:
        ((count,),) = store.execute("SELECT COUNT(*) FROM move WHERE NOT refused")
    return int(count)
