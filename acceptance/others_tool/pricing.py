# SPDX-License-Identifier: Apache-2.0
"""Observes a program under a subcommand in many configurations at once, and plans from its recordings. The
criteria on public programs and placed.py use it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from terrace.store.reader import Store
from terrace.store.summary import iteration_times

from others_tool.build import BIN
from others_tool.execute import WrongResult

# Runs the program with a command in front of it: [terrace, simulate, ..., "--"].
Launch = Callable[[Sequence[str | Path]], object]
# Messages of `terrace plan` for profiles without a main loop, or whose loop misses nowhere.
_NOTHING_TO_PLAN = (
    "there is nothing to plan",
    "has no profile",
    "no main loop",
    "no access to the program's objects was observed",
    "of its data fit into the last cache",
)


def words_of(configurations: Mapping[str, str]) -> list[str]:
    """Returns the options for configurations, which are texts by label."""
    return [word for label, text in configurations.items() for word in ("--config", f"label={label} {text}")]


def observed_in(
    launch: Launch, verb: str, store: Path, configurations: Mapping[str, str], *options: str
) -> dict[str, Path]:
    """Runs the program once under the subcommand in all configurations; returns the profiles by label. Raises
    WrongResult if one is missing."""
    stores = {label: store.with_suffix(f".{label}.terrace") for label in configurations}
    store.parent.mkdir(parents=True, exist_ok=True)
    for path in stores.values():
        path.unlink(missing_ok=True)
    launch([BIN / "terrace", verb, "-q", *options, *words_of(configurations), "-o", store, "--"])
    if missing := [path.name for path in stores.values() if not path.exists()]:
        raise WrongResult(f"terrace {verb} left no {', '.join(missing)}")
    return stores


def priced(launch: Launch, store: Path, configurations: Mapping[str, str], *options: str) -> dict[str, Path]:
    """Simulates the program once in all configurations; returns the profiles by label."""
    return observed_in(launch, "simulate", store, configurations, *options)


def planned(profile: Path, fast: int, *more: str | Path, confidence: str = "0") -> dict[str, Any] | None:
    """Returns the report of `terrace plan`; None if it says that there is nothing to plan. Raises WrongResult for
    any other failure."""
    words = [BIN / "terrace", "plan", profile, "--json", "--fast", str(fast), *more]
    words += ["--confidence", confidence] if confidence else []
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        report: dict[str, Any] = json.loads(done.stdout)
        return report
    said = done.stderr.strip()
    if said.startswith("terrace: ") and "\n" not in said and any(why in said for why in _NOTHING_TO_PLAN):
        return None
    raise WrongResult(f"{' '.join(map(str, words))} ended with {done.returncode}: {said[-200:]}")


def times(profile: Path) -> list[float]:
    """Returns the seconds of the main loop's iterations; recordings and runs that learn may begin later than
    others."""
    store = Store(profile)
    return iteration_times(store, store.run())


def mean_of_last(profile: Path, count: int) -> float | None:
    """Returns the mean seconds of the last `count` iterations, or None without any."""
    last = times(profile)[-count:] if count else []
    return mean(last) if last else None
