"""Compares this installation with the golden set (golden.json), whose results are of the commit before the tree
was restructured. A criterion of acceptance/house."""

from __future__ import annotations

import json
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, work

from house_lines import golden

FILE = Path(__file__).with_name("golden.json")


def digits() -> Measured:
    now = golden.make(work("house") / "golden.now.json", TERRACE, ROOT / "workloads")
    found = golden.differences(json.loads(FILE.read_text())["rows"], now)
    lines = [f"{name}: {what}" for name, what in list(found.items())[:10]]
    return Measured("\n".join([f"{len(now)} rows, {len(found)} differ", *lines]), not found)


CRITERIA = [
    Criterion(
        "golden set",
        "times, phases, counters, profiles and the order of moves as before the house was rebuilt, to the last "
        "digit",
        digits,
    )
]
