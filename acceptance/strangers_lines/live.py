"""Compares live runs with first touch and with plans, on public programs and on this project's own, in virtual
time. Criteria of acceptance/strangers.

Every program in size small is recorded once for several machines with the same caches, planned for with three
sizes of fast memory on each, and priced in two runs. The default takes four machines of one study, which differ in
their slow memory; with --apart all shipped machines with two kinds of memory are taken. Each program is a part
that is kept for each group of machines, so that an interrupted call goes on where it was.
"""

from __future__ import annotations

import functools
import json
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from harness import ROOT, Criterion, Measured, every_workload, run
from others_lines.own import programs as own_programs
from others_lines.programs import keep_each
from others_tool.build import WORK, build
from others_tool.cost import SMALL_CACHES
from others_tool.execute import execute
from others_tool.pricing import Launch, mean_of_last, observed_in, planned, priced, times
from others_tool.profiles import Profile
from others_tool.recipe import Recipe, read_all

SIZE = "small"
SHARES = (25, 50, 75)  # % of the footprint that is fast memory
MAX_BEHIND = 1.0  # % of first touch's time that live may take more
MIN_GAIN = 0.70  # of what the plan gains, in the geometric mean
MIN_SEEN = 1.0  # % that the plan has to gain for a row to count in that mean
MAX_OVER_BOUND = 12.0  # % that an iteration of the planned run may take more than the plan's bound
MEAN_OVER_BOUND = 4.0  # the same in the geometric mean
_ROUNDING = 1e-4  # %
_MIN_SHARE = 0.01  # stands for a live run that gains nothing: a geometric mean has no zeros
PROGRAMS = 20  # at least
# Half and an eighth of the bandwidth, four times the latency, and slow writes: one recording serves all of them.
USUAL = ("unimem-bw2", "unimem-bw8", "unimem-lat4", "unimem-pcram")

Row = dict[str, Any]


@dataclass(frozen=True)
class Machines:
    """Group of shipped machines with equal caches, given these --cache options, so that their misses are equal."""

    names: tuple[str, ...]
    caches: tuple[str, ...]


@functools.cache
def two_kinds() -> list[Machines]:
    """Returns the shipped machines with two kinds of memory by their caches, and the options that make those
    small."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    sizes = dict(text.split("=") for text in SMALL_CACHES[1:])
    for path in sorted((ROOT / "machines").glob("*.toml")):
        machine = tomllib.loads(path.read_text(encoding="utf-8"))
        if len(machine["place"]) != 2:
            continue
        caches = [
            cache | {"size": sizes.get(cache["name"], cache["size"])}
            for one in machine["initiator"]
            for cache in one.get("cache", [])
        ]
        small = [f"{cache['name']}={cache['size']}" for cache in caches if cache["name"] in sizes]
        seen = json.dumps([caches, machine.get("line"), [one.get("line") for one in machine["initiator"]]])
        groups.setdefault(seen, ([], small))[0].append(path.stem)
    return [Machines(tuple(names), (SMALL_CACHES[0], *small) if small else ()) for names, small in groups.values()]


def usual() -> list[Machines]:
    """Returns the default groups, each with the default's machines only."""
    chosen = [(tuple(name for name in group.names if name in USUAL), group.caches) for group in two_kinds()]
    return [Machines(names, caches) for names, caches in chosen if names]


def programs() -> dict[str, Launch]:
    """Returns how each program is run: public ones by their recipes, this project's own without markers and with
    them."""

    def public(recipe: Recipe, words: Sequence[str | Path]) -> object:
        return execute(recipe, build(recipe, "hooked", WORK), SIZE, WORK, [str(word) for word in words])

    def own(name: str, arguments: list[str], marked: bool, words: Sequence[str | Path]) -> object:
        return run([*words, own_programs(marked=marked) / name, *arguments])

    launches: dict[str, Launch] = {
        f"{label} {name}": functools.partial(own, name, words, marked)
        for label, marked in (("own", False), ("marked", True))
        for name, words in every_workload("small").items()
    }
    return launches | {name: functools.partial(public, recipe) for name, recipe in read_all().items()}


def _seconds(stores: dict[str, Path]) -> dict[str, float]:
    """Returns the virtual seconds of the whole runs. Removes the profiles."""
    seconds = {label: Profile(path).seconds() for label, path in stores.items()}
    for path in stores.values():
        path.unlink()
    return seconds


def price(name: str, launch: Launch, machines: Machines) -> Row:
    """Returns by machine the seconds by share of fast memory and strategy, those of slow-only and fast-only, and
    the ratio of the planned run's iterations to their bound."""
    stem = WORK / "profiles" / f"{name.replace(' ', '-')}-{SIZE}-{machines.names[0]}.terrace"
    unplanned: dict[str, str] = {}
    with_plan: dict[str, str] = {}
    bounds: dict[str, tuple[float, int]] = {}
    texts = {machine: f"machine={machine}" for machine in machines.names}
    for machine, record in observed_in(launch, "record", stem, texts, *machines.caches).items():
        footprint, count = Profile(record).footprint(), len(times(record))
        for label in ("slow", "fast"):
            unplanned[f"{machine}-{label}"] = f"machine={machine} planner={label}-only"
        for share in SHARES:
            fast, case = max(footprint * share // 100, 1), f"{machine}-{share}"
            unplanned[f"{case}-first"] = f"machine={machine} fast={fast} planner=first-touch"
            unplanned[f"{case}-live"] = f"machine={machine} fast={fast} planner=auto"
            plan = stem.with_suffix(f".{case}.toml")
            plan.unlink(missing_ok=True)
            if said := planned(record, fast, "-o", plan):
                with_plan[f"{case}-planned"] = f"machine={machine} fast={fast} plan={plan}"
                bounds[case] = said["lower_bound_s"], count
        record.unlink()
    seconds = _seconds(priced(launch, stem.with_suffix(".x.terrace"), unplanned, *machines.caches))
    over_bound: dict[str, float] = {}
    if with_plan:
        stores = priced(launch, stem.with_suffix(".y.terrace"), with_plan, *machines.caches)
        for case, (bound, count) in bounds.items():
            iteration = mean_of_last(stores[f"{case}-planned"], count)
            if iteration and bound > 0:
                over_bound[case] = iteration / bound
        seconds |= _seconds(stores)
    return {
        machine: {"seconds": _of(machine, seconds), "over bound": _of(machine, over_bound)}
        for machine in machines.names
    }


def _of(machine: str, values: dict[str, float]) -> dict[str, float]:
    """Returns the entries whose label begins with the machine's name, without it."""
    start = f"{machine}-"
    return {label.removeprefix(start): value for label, value in values.items() if label.startswith(start)}


@functools.cache
def _table(whole: bool) -> tuple[list[Row], list[str]]:
    """Returns a row for each program, machine and share, with times over those with fast memory alone, and the
    failures."""
    rows: list[Row] = []
    failed: list[str] = []
    own_programs(marked=False)
    for group in two_kinds() if whole else usual():
        makes = {name: functools.partial(price, name, launch, group) for name, launch in programs().items()}
        for name, part in keep_each(f"live-{'-'.join(group.names)}", makes).items():
            if "failed" in part:
                failed.append(f"{name}, {', '.join(group.names)}: {part['failed']}")
                continue
            for machine, found in part.items():
                rows += _rows(name, machine, found)
    return rows, failed


def _rows(name: str, machine: str, priced: Row) -> list[Row]:
    """Returns the rows of a program on a machine, one for each share of fast memory."""
    rows = []
    seconds = priced["seconds"]
    for share in SHARES:
        taken = {way: seconds.get(f"{share}-{way}") for way in ("first", "live", "planned")}
        rows.append(
            {
                "program": name,
                "machine": machine,
                "fast, %": share,
                "slow-only": seconds["slow"] / seconds["fast"],
                **{way: time / seconds["fast"] if time else None for way, time in taken.items()},
                "planned over its bound": priced["over bound"].get(str(share)),
                "behind, %": 100 * (taken["live"] / taken["first"] - 1),
            }
        )
    return rows


def _where(row: Row) -> str:
    return f"{row['program']}, {row['machine']}, {row['fast, %']} %"


def _programs(rows: Iterable[Row]) -> int:
    return len({row["program"] for row in rows})


def never_behind(whole: bool = False) -> Measured:
    """Judges live runs (planner auto) against first touch; lists the rows that exceed MAX_BEHIND."""
    rows, failed = _table(whole)
    over = sorted((row for row in rows if row["behind, %"] > MAX_BEHIND), key=lambda row: -row["behind, %"])
    most = max((row["behind, %"] for row in rows), default=math.inf)
    text = f"{len(rows) - len(over)} of {len(rows)} cases of {_programs(rows)} programs, {most:+.1f} % at most"
    lines = [f"{_where(row)}: {row['behind, %']:+.1f} %" for row in over]
    return Measured(
        "\n".join([text, *lines, *failed]), not over and not failed and _programs(rows) >= PROGRAMS, rows
    )


def gain_shares(rows: Iterable[Row], reference: str) -> list[float]:
    """Returns live's gains over `reference` as shares of the plan's, where the plan gains enough to compare."""
    return [
        min(max((row[reference] - row["live"]) / (row[reference] - row["planned"]), _MIN_SHARE), 1.0)
        for row in rows
        if row["planned"] and row["planned"] < (1 - MIN_SEEN / 100) * row[reference]
    ]


def share_of_gain(whole: bool = False) -> Measured:
    """Compares gains over slow-only, and states those over first touch."""
    rows, failed = _table(whole)
    means = {}
    for reference in ("slow-only", "first"):
        shares = gain_shares(rows, reference)
        means[reference] = geometric_mean(shares) if shares else 0.0
    counted = len(gain_shares(rows, "slow-only"))
    text = (
        f"{means['slow-only']:.0%} of the plan's gain over slow-only in the geometric mean of {counted} cases; "
        f"{means['first']:.0%} of that over first touch"
    )
    return Measured("\n".join([text, *failed]), means["slow-only"] >= MIN_GAIN and not failed)


def near_the_bound(whole: bool = False) -> Measured:
    """Names the rows in which the planned run's iterations are further from the plan's bound than the limit."""
    rows, failed = _table(whole)
    known = [row for row in rows if row["planned over its bound"]]
    over = [100 * (row["planned over its bound"] - 1) for row in known]
    far = sorted(
        (-percent, _where(row)) for percent, row in zip(over, known, strict=True) if percent > MAX_OVER_BOUND
    )
    average = 100 * (geometric_mean(1 + percent / 100 for percent in over) - 1) if over else math.inf
    text = (
        f"{average:.1f} % in the geometric mean of {len(known)} cases, {max(over, default=math.inf):.1f} % at most"
    )
    lines = [f"{where}: {-percent:+.1f} %" for percent, where in far]
    beaten = [_where(row) for percent, row in zip(over, known, strict=True) if percent < -_ROUNDING]
    lines += [f"{where}: below the bound" for where in beaten]
    many = len({row["program"] for row in known}) >= PROGRAMS
    fine = average <= MEAN_OVER_BOUND and many and not far and not beaten and not failed
    return Measured("\n".join([text, *lines, *failed]), fine)


def _criteria(whole: bool) -> list[Criterion]:
    """Returns the criteria on the machines of the default, or on all."""
    of = ", all machines" if whole else ""
    machines = "all shipped machines with two kinds of memory" if whole else ", ".join(USUAL)
    where = f"on {machines}, {', '.join(map(str, SHARES))} % of the footprint being fast"
    return [
        Criterion(
            f"live and first touch, strangers and own programs{of}",
            f"live takes at most {MAX_BEHIND:.0f} % longer than first touch, {where}; {PROGRAMS} programs or more",
            functools.partial(never_behind, whole),
            whole,
        ),
        Criterion(
            f"live and planned, strangers and own programs{of}",
            f"live gains at least {MIN_GAIN:.0%} of what the plan of its recording gains over slow-only, in the "
            f"geometric mean of the cases in which that is {MIN_SEEN:.0f} % or more; {where}",
            functools.partial(share_of_gain, whole),
            whole,
        ),
        Criterion(
            f"planned and its bound, strangers and own programs{of}",
            f"iterations of the planned run take at most {MEAN_OVER_BOUND:.0f} % longer than the bound of its "
            f"plan in the geometric mean, and none over {MAX_OVER_BOUND:.0f} %; {where}",
            functools.partial(near_the_bound, whole),
            whole,
        ),
    ]


CRITERIA = [*_criteria(whole=False), *_criteria(whole=True)]
