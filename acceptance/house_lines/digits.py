"""The golden set, made of the commit before the house was rebuilt, against what this installation says."""

from __future__ import annotations

import json
from pathlib import Path

from harness import ROOT, TERRACE, Line, Measured

from house_lines import golden

FILE = Path(__file__).with_name("golden.json")


def digits() -> Measured:
    now_file = ROOT / "out" / "acceptance" / "golden.now.json"
    now = golden.make(now_file, TERRACE, ROOT / "workloads")
    known = golden.explanations()
    found = golden.differences(json.loads(FILE.read_text())["rows"], now)
    unexplained = {name: what for name, what in found.items() if not golden.explanation(name, known)}
    lines = [f"{name}: {what}" for name, what in list(unexplained.items())[:10]]
    text = f"{len(now)} rows, {len(found)} differ, {len(unexplained)} of them without a stated reason"
    return Measured("\n".join([text, *lines]), not unexplained)


LINES = [
    Line(
        "golden set",
        "times, phases, counters, profiles and the order of moves as before the house was rebuilt, to the last "
        "digit, but for differences with a stated reason (golden_differences.toml)",
        digits,
    )
]
