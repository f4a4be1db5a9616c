"""Checks page references (samples of the pages that a program touches): whether they rank objects as the exact
counters do, and the gain of plans from them. Criteria of acceptance/programs."""

from __future__ import annotations

import functools
import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from harness import TERRACE, Criterion, Measured, keep_part, run, workload, workloads
from scipy.stats import spearmanr
from terrace.store.reader import Store

SPEARMAN = 0.9
WORTH = 0.85
LOSS = 0.03
SLOW, FIRST = "slow-only", "first-touch"  # planners
MACHINE = "unimem-lat4"
RANKED = "long"  # beyond the last cache several times over, and long enough for windows to meet each phase
MIN_WINDOWS = 8  # of a collector, before a live run plans by it
# Cost of a window, and the largest share of time of windows: src/tiering/observe/collecting/sampling_overhead.hpp.
WINDOW_SECONDS, PAGE_SECONDS, SHARE_OF_TIME, PAGE = 0.3e-3, 515e-9, 0.015, 4096
MIN_SHARE = 1e-3  # of the objects' cost: objects below it have negligible cost and no rank


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="terrace-references-") as folder:
        yield Path(folder)


def _command(name: str) -> list[str | Path]:
    """Returns the command of the workload with its hooks."""
    return [workload(name), *workloads()[name].words(RANKED)]


def windows_in(seconds: float, data: int) -> int:
    """Returns the maximum number of windows in so much time, of a program with so many bytes of data."""
    cost = WINDOW_SECONDS + PAGE_SECONDS * (data / PAGE)
    return int(seconds * SHARE_OF_TIME / cost)


def _stalls(store: Store, exact: bool) -> dict[str, float]:
    """Returns the exposed latencies of each object in an iteration, summed over objects of one name."""
    profile = store.profile(store.run(), exact)
    stalls: dict[str, float] = {}
    for item, cost in zip(profile.objects, profile.exposure.sum(axis=1), strict=True):
        name = item.name.split("#")[0]
        stalls[name] = stalls.get(name, 0.0) + float(cost)
    return stalls


def _ranked(name: str) -> dict[str, Any]:
    """Records a program with page references and exact counters, and correlates the two rankings of objects."""
    with _folder() as folder:
        output = folder / "both.terrace"
        options: list[str | Path] = [
            "--machine",
            MACHINE,
            "--collector",
            "page-references",
            "--exact",
            "--quiet",
            "-o",
            output,
        ]
        run([TERRACE, "record", *options, "--", *_command(name)], timeout=3600)
        store = Store(output)
        exact, seen = (_stalls(store, way) for way in (True, False))
    all_of_it = sum(exact.values())
    objects = [one for one in exact if exact[one] >= MIN_SHARE * all_of_it]
    if len(objects) < 3:  # the caches hold all that the program uses, or it has fewer
        return {"program": name, "objects": len(objects), "spearman": None}
    truth = np.array([exact[one] for one in objects])
    found = np.array([seen.get(one, 0.0) for one in objects])
    rank = float(spearmanr(truth, found).statistic)
    return {"program": name, "objects": len(objects), "spearman": 0.0 if np.isnan(rank) else rank}


def _ranking() -> Measured:
    """Judges the rank correlation of page references with exact counters, over all workloads."""
    found = [keep_part(f"ranked-{name}", functools.partial(_ranked, name)) for name in workloads()]
    ranked = [row for row in found if row["spearman"] is not None]
    good = [row for row in ranked if row["spearman"] >= SPEARMAN]
    rows = [
        {
            "program": row["program"],
            "objects": row["objects"],
            "spearman": "fewer than three that cost anything"
            if row["spearman"] is None
            else f"{row['spearman']:.2f}",
        }
        for row in found
    ]
    middle = statistics.median(row["spearman"] for row in ranked)
    text = f"{len(good)} of {len(ranked)} at least {SPEARMAN}, median {middle:.2f}"
    return Measured(text, len(good) == len(ranked), rows)


def _loop_seconds(options: list[str | Path], name: str, folder: Path, label: str) -> float:
    words = [TERRACE, "simulate", "--machine", MACHINE, *options, "--json", "-o", folder / f"{label}.terrace"]
    done = run([*words, "--", *_command(name)], timeout=3600)
    return float(json.loads(done.stderr.splitlines()[-1])["loop_s"])


def _worth(name: str) -> dict[str, Any]:
    """Returns the seconds of the main loop with everything in slow memory, with what comes first in fast memory,
    and under the plan of each collector."""
    with _folder() as folder:
        fast = ""
        seconds: dict[str, float] = {}
        windows = 0
        for collector in ("load-sampling", "page-references"):
            profile, plan = folder / f"{collector}.terrace", folder / f"{collector}.toml"
            record: list[str | Path] = ["--machine", MACHINE, "--collector", collector, "--quiet", "-o", profile]
            run([TERRACE, "record", *record, "--", *_command(name)], timeout=3600)
            if not fast:
                store = Store(profile)
                data = sum(one.size for one in store.objects(store.run()))
                fast = str(max(data // 4, 1 << 16))
                seconds[SLOW] = _loop_seconds(["--planner", SLOW], name, folder, "slow")
                seconds[FIRST] = _loop_seconds(["--planner", FIRST, "--fast", fast], name, folder, "first")
                windows = windows_in(seconds[SLOW], data)
            run([TERRACE, "plan", profile, "--fast", fast, "-o", plan], timeout=3600)
            seconds[collector] = _loop_seconds(["--plan", plan], name, folder, f"with-{collector}")
    return {"program": name, "windows": windows, **seconds}


def _plans() -> Measured:
    return judged_plans([keep_part(f"worth-{name}", functools.partial(_worth, name)) for name in workloads()])


def judged_plans(found: Sequence[dict[str, Any]]) -> Measured:
    """Judges gains as a share of the possible gain over slow memory alone, and losses against a placement without
    a plan, with as much fast memory."""
    rows, shares, losses = [], [], []
    for row in found:
        slow, first, usual, ours = (row[way] for way in (SLOW, FIRST, "load-sampling", "page-references"))
        won, could = slow - ours, slow - usual
        losses.append(ours / first - 1)
        share = won / could if could > 0.01 * slow else None
        shares += [share] if share is not None else []
        rows.append(
            {
                "program": row["program"],
                "windows": row["windows"] if row["windows"] >= MIN_WINDOWS else 0,
                "slow-only_s": f"{slow:.4g}",
                "first-touch": f"{first / slow - 1:+.1%}",
                "load-sampling": f"{usual / slow - 1:+.1%}",
                "page-references": f"{ours / slow - 1:+.1%}",
                "against first-touch": f"{losses[-1]:+.1%}",
                "share of the gain": "nothing to gain" if share is None else f"{share:.0%}",
            }
        )
    good = sum(share >= WORTH for share in shares)
    text = f"{good} of {len(shares)} win at least {WORTH:.0%} of what the default's plans win, median"
    text += f" {statistics.median(shares):.0%}; worst loss against first touch {max(losses):+.1%}"
    few = [row["program"] for row in found if row["windows"] < MIN_WINDOWS]
    text += f"\nfewer than {MIN_WINDOWS} windows: {', '.join(few)}" if few else ""
    return Measured(text, good == len(shares) and max(losses) <= LOSS and not few, rows)


CRITERIA = [
    Criterion(
        "page references: ranks of objects",
        f"Spearman at least {SPEARMAN} with what each object costs, exact counters, virtual time, each workload",
        _ranking,
    ),
    Criterion(
        "page references: plans",
        f"win at least {WORTH:.0%} of what the default collector's win, a quarter of the data; no loss above "
        f"{LOSS:.0%} against data in fast memory as they come",
        _plans,
    ),
]
