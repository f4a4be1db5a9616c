"""Live runs against first touch and against plans, on public programs in size small, in virtual time.

Every program is recorded, planned for and priced on every shipped machine with two kinds of memory, with three
sizes of fast memory. Each program is kept on each machine, so an interrupted call goes on where it was.
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import ROOT, TERRACE, Line, Measured, keep_part
from others_tool.build import WORK, Built, NotBuilt, build
from others_tool.cost import SMALL_CACHES
from others_tool.execute import WrongResult, execute
from others_tool.fetch import NoArchive
from others_tool.profiles import Profile
from others_tool.recipe import Recipe, read_all

SIZE = "small"
SHARES = (25, 50, 75)  # % of the footprint that is fast memory
MAX_BEHIND = 1.0  # % of first touch's time that live may take more
MIN_GAIN = 0.70  # of what the plan gains, in the geometric mean
MIN_SEEN = 1.0  # % that the plan has to gain for a row to count in that mean
_LEAST_SHARE = 0.01  # stands for a live run that gains nothing: a geometric mean has no zeros
PROGRAMS = 20  # at least

Row = dict[str, Any]


@functools.cache
def two_kinds() -> dict[str, list[str]]:
    """The shipped machines with two kinds of memory, and the options that make the caches that they have small."""
    machines: dict[str, list[str]] = {}
    for path in sorted((ROOT / "machines").glob("*.toml")):
        machine = tomllib.loads(path.read_text(encoding="utf-8"))
        caches = {cache["name"] for one in machine["initiator"] for cache in one.get("cache", [])}
        small = [text for text in SMALL_CACHES[1:] if text.partition("=")[0] in caches]
        if len(machine["place"]) == 2:
            machines[path.stem] = [SMALL_CACHES[0], *small] if small else []
    return machines


def _simulate(
    recipe: Recipe, built: Built, store: Path, texts: dict[str, str], caches: list[str]
) -> dict[str, float]:
    """Virtual seconds of the whole run in each configuration, all priced in one run."""
    stores = {label: store.with_suffix(f".{label}.terrace") for label in texts}
    for path in stores.values():
        path.unlink(missing_ok=True)
    each = [word for label, text in texts.items() for word in ("--config", f"label={label} {text}")]
    execute(recipe, built, SIZE, WORK, [TERRACE, "simulate", "-q", *caches, *each, "-o", store, "--"])
    if missing := [path.name for path in stores.values() if not path.exists()]:
        raise WrongResult(f"{recipe.name}: terrace simulate left no {', '.join(missing)}")
    seconds = {label: Profile(path).seconds() for label, path in stores.items()}
    for path in stores.values():
        path.unlink()
    return seconds


def _json(command: list[str | Path]) -> Row | None:
    """What it says; None where the profile has nothing to say of."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout) if done.returncode == 0 else None


def price(recipe: Recipe, machine: str) -> Row:
    """Seconds by share of fast memory and strategy, those of slow-only and fast-only, and the bounds of the main
    loop over fast-only."""
    built, caches = build(recipe, "hooked", WORK), two_kinds()[machine]
    record = WORK / "profiles" / f"{recipe.name}-{SIZE}-live-{machine}.terrace"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    execute(recipe, built, SIZE, WORK, [TERRACE, "record", "-q", "-m", machine, *caches, "-o", record, "--"])
    footprint = Profile(record).footprint()
    unplanned = {label: f"machine={machine} planner={label}-only" for label in ("slow", "fast")}
    planned, bounds = {}, {}
    for share in SHARES:
        fast = max(footprint * share // 100, 1)
        unplanned[f"{share}-first"] = f"machine={machine} fast={fast} planner=first-touch"
        unplanned[f"{share}-live"] = f"machine={machine} fast={fast} planner=auto"
        plan = record.with_suffix(f".{share}.toml")
        plan.unlink(missing_ok=True)
        words: list[str | Path] = [
            TERRACE,
            "plan",
            record,
            "--json",
            "--confidence",
            "0",
            "--fast",
            str(fast),
            "-o",
            plan,
        ]
        if said := _json([*words]):
            planned[f"{share}-planned"] = f"machine={machine} fast={fast} plan={plan}"
            bounds[str(share)] = said["lower_bound_s"] / said["fast_only_s"] if said["fast_only_s"] else None
    seconds = _simulate(recipe, built, record.with_suffix(".x.terrace"), unplanned, caches)
    if planned:
        seconds |= _simulate(recipe, built, record.with_suffix(".y.terrace"), planned, caches)
    return {"seconds": seconds, "bounds": bounds}


def _priced(recipe: Recipe, machine: str) -> Row:
    try:
        return price(recipe, machine)
    except (NoArchive, NotBuilt, WrongResult) as error:
        return {"failed": str(error)}


@functools.cache
def _table() -> tuple[list[Row], list[str]]:
    """A row for each program, machine and share, times over those with fast memory alone; what failed."""
    rows: list[Row] = []
    failed: list[str] = []
    for name, recipe in read_all().items():
        for machine in two_kinds():
            part = keep_part(f"live-{name}-{machine}", functools.partial(_priced, recipe, machine))
            if "failed" in part:
                failed.append(f"{name}, {machine}: {part['failed']}")
                continue
            seconds = part["seconds"]
            for share in SHARES:
                times = {way: seconds.get(f"{share}-{way}") for way in ("first", "live", "planned")}
                rows.append(
                    {
                        "program": name,
                        "machine": machine,
                        "fast, %": share,
                        "slow-only": seconds["slow"] / seconds["fast"],
                        **{way: time / seconds["fast"] if time else None for way, time in times.items()},
                        "bound of the loop": part["bounds"].get(str(share)),
                        "behind, %": 100 * (times["live"] / times["first"] - 1),
                    }
                )
    return rows, failed


def _where(row: Row) -> str:
    return f"{row['program']}, {row['machine']}, {row['fast, %']} %"


def _programs(rows: Iterable[Row]) -> int:
    return len({row["program"] for row in rows})


def never_behind() -> Measured:
    """Names the rows in which live takes longer than first touch by more than the limit."""
    rows, failed = _table()
    over = sorted((row for row in rows if row["behind, %"] > MAX_BEHIND), key=lambda row: -row["behind, %"])
    most = max((row["behind, %"] for row in rows), default=math.inf)
    text = f"{len(rows) - len(over)} of {len(rows)} cases of {_programs(rows)} programs, {most:+.1f} % at most"
    lines = [f"{_where(row)}: {row['behind, %']:+.1f} %" for row in over]
    return Measured("\n".join([text, *lines, *failed]), not over and _programs(rows) >= PROGRAMS, rows)


def gain_shares(rows: Iterable[Row], reference: str) -> list[float]:
    """What live gains over `reference` as a share of what the plan gains, where the plan gains enough to tell."""
    return [
        min(max((row[reference] - row["live"]) / (row[reference] - row["planned"]), _LEAST_SHARE), 1.0)
        for row in rows
        if row["planned"] and row["planned"] < (1 - MIN_SEEN / 100) * row[reference]
    ]


def share_of_gain() -> Measured:
    """Compares gains over slow-only, and states those over first touch."""
    rows, _ = _table()
    means = {}
    for reference in ("slow-only", "first"):
        shares = gain_shares(rows, reference)
        means[reference] = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else 0.0
    counted = len(gain_shares(rows, "slow-only"))
    text = (
        f"{means['slow-only']:.0%} of the plan's gain over slow-only in the geometric mean of {counted} cases; "
        f"{means['first']:.0%} of that over first touch"
    )
    return Measured(text, means["slow-only"] >= MIN_GAIN)


LINES = [
    Line(
        "live and first touch, public programs",
        f"live takes at most {MAX_BEHIND:.0f} % longer than first touch, on all shipped machines with two kinds "
        f"of memory, {', '.join(map(str, SHARES))} % of the footprint being fast, {PROGRAMS} programs or more",
        never_behind,
    ),
    Line(
        "live and planned, public programs",
        f"live gains at least {MIN_GAIN:.0%} of what the plan of its recording gains over slow-only, in the "
        f"geometric mean of the cases in which that is {MIN_SEEN:.0f} % or more",
        share_of_gain,
    ),
]
