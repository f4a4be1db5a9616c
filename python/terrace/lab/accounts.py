"""What a run under Terrace says of itself in JSON, in the last line of its standard error."""

from __future__ import annotations

import json as json_text
from typing import Any

DOCUMENT = '{"schema":'  # how Terrace's last line begins


def of(complained: str) -> dict[str, Any] | None:
    """Terrace's document at the end of standard error, where the program may have left a line open."""
    line = complained.rstrip("\n").rpartition("\n")[2]
    try:
        document = json_text.loads(line[line.index(DOCUMENT) :])
    except ValueError:
        return None
    return document if isinstance(document, dict) and "file" in document else None


def predicted_gain(account: dict[str, Any], seconds: float) -> float | None:
    """What a run of so many seconds says of its own gain: by what it waited for a file, or by its plan."""
    longer = (account.get("over_file") or {}).get("longer_s")
    if longer is not None:
        return -longer / (seconds - longer) if longer < seconds else None
    gain = (account.get("proof") or {}).get("predicted_gain")
    return None if gain is None else float(gain)
