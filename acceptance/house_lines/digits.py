# SPDX-License-Identifier: Apache-2.0
"""Compares this installation with the golden set of another commit. A criterion of acceptance/house.

The set is made with an installation of the commit to compare with:

    python acceptance/house_lines/golden.py write out/golden.json --terrace OLD/bin/terrace
"""

from __future__ import annotations

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable, work

from house_lines import golden

FILE = ROOT / "out" / "golden.json"


def digits() -> Measured:
    if not FILE.exists():
        raise Unavailable(
            f"{FILE} is missing: golden.py writes it with an installation of the commit to compare with"
        )
    try:
        now = work("house") / "golden.now.json"
        count, found = golden.compare(FILE, now, TERRACE, ROOT / "workloads")
    except golden.Refused as reason:
        raise Unavailable(str(reason)) from reason
    lines = [f"{name}: {what}" for name, what in list(found.items())[:10]]
    return Measured("\n".join([f"{count} rows, {len(found)} differ", *lines]), not found)


CRITERIA = [
    Criterion(
        "golden set",
        "times, phases, counters, profiles and the order of moves are those of another commit, to the last digit",
        digits,
    )
]
