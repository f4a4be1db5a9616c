"""What share of a program's accesses a profile rests on, in words: `terrace show` and the report say the same."""

from terrace import units
from terrace.values import Counters, Run


def what_was_seen(run: Run, counters: Counters | None) -> list[str]:
    """Sentences; what came to nothing is not mentioned."""
    if counters is None:
        why = "the process was killed before it could say" if run.how is None else "a real run does not count"
        return [f"How many accesses were seen is unknown: {why}."]
    said = [
        f"{units.count(counters.accesses)} accesses were seen. What code does that was not built with the "
        "wrappers is not counted."
    ]
    if counters.unseen > 0:
        said.append(
            f"{units.count(counters.unseen)} more, {units.percent(counters.unseen_share)} of all, were not seen: "
            "they came while Terrace was at work in their thread."
        )
    if counters.dropped > 0:
        share = units.percent(counters.dropped / max(1, counters.accesses))
        said.append(
            f"{units.count(counters.dropped)} of those seen, {share}, went to memory that belongs to no object, "
            "and cost no time."
        )
    return said
