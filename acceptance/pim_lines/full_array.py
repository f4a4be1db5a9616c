"""Measures the paper's first benchmark: the whole device in equal blocks, against glibc's malloc for the same
requests. A criterion of acceptance/pim."""

from __future__ import annotations

import functools

from harness import Criterion, Measured

from pim_lines.figures import Figure, figures

WAYS = {"new total": "in a new process", "total": "again"}


def _one(series: str, measure: str, contender: str) -> Figure:
    (figure,) = (row for row in figures("full array", measure, contender) if row.series.startswith(series))
    return figure


def _filled(series: str) -> Measured:
    """Compares the times of filling and freeing the device with glibc's and the paper's."""
    lines = []
    holds = True
    for measure, way in WAYS.items():
        ours, theirs = (_one(series, measure, contender) for contender in ("terrace", "glibc"))
        holds &= ours.median <= theirs.median
        lines.append(
            f"{way}: {ours.median / 1e3:.0f} us ({ours.low / 1e3:.0f}-{ours.high / 1e3:.0f}), "
            f"glibc {theirs.median / 1e3:.0f} us ({theirs.low / 1e3:.0f}-{theirs.high / 1e3:.0f}), "
            f"the paper's algorithm {_one(series, measure, 'paper').median / 1e3:.0f} us"
        )
    occupancy = _one(series, "occupancy", "terrace").least
    full = _one(series, "full", "terrace").least == 1
    lines.append(f"{occupancy:.0f} % of the device taken, one block more {'refused' if full else 'given'}")
    return Measured("\n".join(lines), holds and occupancy == 100 and full)


CRITERIA = [
    Criterion(
        f"full array, {series}",
        f"{text}, the device full: no longer in total than glibc's malloc, in a new process and again",
        functools.partial(_filled, series),
    )
    for series, text in (
        ("horizontal", "1,024 blocks of 1 MiB"),
        ("vertical", "128 blocks of 64 Mibit (the 64 MiB as printed are eight devices)"),
    )
]
