"""Runs `terrace machine measure` on a machine that also does other work: every file is like those of the idle
machine, or refused. A criterion of acceptance/strangers."""

from __future__ import annotations

import contextlib
import functools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from harness import TERRACE, Criterion, Measured, keep_part, work

FILES = 10  # half of them while other programs run
BUSY = 4
WITHIN = 0.15  # of the median of quiet files, in each figure
LONGEST = {"quick": 30.0, "default": 120.0}  # seconds

# Two that compute, and two that go through more memory than caches hold.
_COMPUTES = "while True: pass"
_STREAMS = "a = bytearray(1 << 28)\nwhile True: a[:1 << 27] = a[1 << 27:]"


@contextlib.contextmanager
def _busy_processes(count: int) -> Iterator[None]:
    """Keeps the machine busy with computing and streaming processes while the caller measures."""
    programs = [subprocess.Popen([sys.executable, "-c", _STREAMS if i % 2 else _COMPUTES]) for i in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def figures(document: dict[str, Any]) -> dict[str, float]:
    """Returns the figures that virtual time uses from a machine file, by name, without fitted integers (streams,
    TLB)."""
    found: dict[str, float] = {}
    for initiator in document["initiators"]:
        name = initiator["name"]
        for key in ("instruction_time", "mlp", "prefetch_mlp"):
            found[f"{name}.{key}"] = initiator[key]
        for cache in initiator["caches"]:
            found[f"{name}.{cache['name']}.latency"] = cache["latency"]
        for function, seconds in initiator["library"].items():
            found[f"{name}.{function}"] = seconds
    for path in document["paths"]:
        for key in ("read", "write", "latency"):
            found[f"{path['initiator']}->{path['place']}.{key}"] = path[key]
    return found


def _measured(mode: str, number: int, busy: bool) -> dict[str, Any]:
    """Measures the machine once, idle or busy; returns the figures, or why it was refused."""
    file = work("strangers") / f"{mode}-{number}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    words = [TERRACE, "machine", "measure", "--json", "-o", file, *(["--quick"] if mode == "quick" else [])]
    with _busy_processes(BUSY if busy else 0):
        begun = time.monotonic()
        done = subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=900)
        seconds = time.monotonic() - begun
    return {
        "seconds": seconds,
        "figures": figures(json.loads(done.stdout)) if done.returncode == 0 else {},
        "refused": done.stderr.strip() if done.returncode != 0 else "",
    }


def worst(document: dict[str, float], quiet: dict[str, float]) -> tuple[float, str]:
    """Returns the figure of a file that is farthest from the quiet ones, by its ratio to their median."""
    return max((max(value / quiet[name], quiet[name] / value) - 1, name) for name, value in document.items())


def _ten(mode: str) -> Measured:
    """Measures idle and busy in turn, and compares each file with the idle medians."""
    runs = [
        (busy, keep_part(f"measure-{mode}-{i}", functools.partial(_measured, mode, i, busy), timed=True))
        for i in range(FILES)
        for busy in [i % 2 == 1]
    ]
    quiet = [run["figures"] for busy, run in runs if not busy and run["figures"]]
    if not quiet:
        return Measured("all files of the idle machine were refused: " + runs[0][1]["refused"], False)
    medians = {name: statistics.median(file[name] for file in quiet) for name in quiet[0]}
    rows, wrong = [], 0
    for busy, run in runs:
        off, name = worst(run["figures"], medians) if run["figures"] else (0.0, "")
        good = (off <= WITHIN if run["figures"] else busy and bool(run["refused"])) and run["seconds"] <= LONGEST[
            mode
        ]
        wrong += not good
        rows.append(
            {
                "beside": BUSY if busy else 0,
                "seconds": round(run["seconds"], 1),
                "worst figure": f"{name} {100 * off:.0f} %" if run["figures"] else run["refused"],
            }
        )
    refused = sum(not run["figures"] for _, run in runs)
    longest = max(run["seconds"] for _, run in runs)
    text = f"{FILES - wrong} of {FILES} good, {refused} of them refused, {longest:.0f} s at most"
    return Measured(text, wrong == 0, rows)


def quick_files() -> Measured:
    """Measures ten files with --quick."""
    return _ten("quick")


def default_files() -> Measured:
    """Measures ten files with default options."""
    return _ten("default")


_GOAL = "within 15 % of the quiet median in every figure, or refused with its reason if busy; at most "
CRITERIA = [
    Criterion("measure --quick, half of ten beside four busy processes", _GOAL + "30 s", quick_files),
    Criterion("measure, half of ten beside four busy processes", _GOAL + "2 min", default_files),
]
