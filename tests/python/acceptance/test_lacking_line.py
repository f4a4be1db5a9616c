"""Systems that lack something, watched: which of Terrace's lines are of how the run went."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "acceptance"))

from programs_lines import lacking  # noqa: E402

CLOSING = [
    "terrace: 52 iterations in 7.96s of real time (auto), 234 moves of 119MiB; profile in k.terrace",
    "terrace: gained 11 % (predicted 0.0 %): 127ms in 20 iterations with the plan, 142ms in 16 iterations without",
    "terrace: no main loop was seen (name it with --loop NAME, or with --phases f,g); profile in k.terrace",
    "terrace: undone, as it lost 12 %: 127ms in 20 iterations with the plan, 142ms in 16 iterations without",
]
MORE = ["terrace: no userfaultfd here: pages are watched less well", "terrace: 7 pages are lost"]


def test_beyond_closing_drops_closing_lines():
    assert lacking.beyond_closing([*CLOSING, *MORE, "of the program"]) == MORE


def test_conditions_include_a_complete_system():
    assert lacking.ALL_THERE in lacking._conditions().CONDITIONS


def test_short_of_unmonitored_pages_are_named():
    conditions = lacking._conditions().CONDITIONS
    assert set(lacking.NOT_WATCHED) | set(lacking.NOT_MOVED) < set(conditions)
    found = [{"name": name, "why": "", "seen": ["g++, 0 moves", "sweeps, 12 moves"]} for name in conditions]
    assert lacking.short_of(found) == []
    for each in found:
        each["seen"] = ["g++, 7 moves"]
    able = [name for name in conditions if name not in lacking.NOT_WATCHED]
    assert lacking.short_of(found) == [f"{name}: sweeps was not watched" for name in able]
    for each in found:
        each["seen"] = ["sweeps, 0 moves"]
    assert lacking.short_of(found) == [
        f"{name}: nothing of sweeps was moved" for name in able if name not in lacking.NOT_MOVED
    ]
    assert lacking.short_of([{"name": "no /sys", "why": "no rights", "seen": []}]) == []
