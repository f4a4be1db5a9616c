"""Judges the ablation of the planner, and its size in lines of code. Criteria of acceptance/moves."""

from __future__ import annotations

import json

from harness import ROOT, SETTINGS, Criterion, Measured
from planning_lines.common import experimented

MAX_LINES = 1700
FOLDERS = ("planners", "search")
# For problems smaller than any of these programs: acceptance/planning has their line.
SMALL = ("refine",)


def ablation() -> Measured:
    """Loops without each part over loops with all."""
    folder = experimented("ablation", SETTINGS.size, "--class", SETTINGS.size)
    rows = json.loads((folder / "parts.json").read_text())["rows"]
    useless = [row["without"] for row in rows if row["stays"] == "no" and row["without"] not in SMALL]
    shown = [
        {key: f"{value:+.2%}" if isinstance(value, float) else value for key, value in row.items()} for row in rows
    ]
    text = (
        f"{len(rows)} parts; too little is brought by {', '.join(useless) or 'none'}, but for {', '.join(SMALL)}"
    )
    return Measured(text, not useless, shown)


def size() -> Measured:
    """Counts the lines of the planners and of the searches that they share, headers too."""
    files = [path for name in FOLDERS for path in sorted((ROOT / "src" / "tiering" / "strategy" / name).iterdir())]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    shared = sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "src" / "tiering" / "strategy" / "tiering").glob("interleave*")
    )
    text = f"{lines} lines in {len(files)} files; beside them {shared} of interleaves, which were among them once"
    return Measured(text, lines < MAX_LINES)


CRITERIA = [
    Criterion("ablation", "what brings less than 0.5 % in the mean and 2 % anywhere is gone", ablation),
    Criterion("planners' size", f"under {MAX_LINES} lines, searches included", size),
]
