"""Counts how many of the stated 90 % intervals hold the truth, by kind, over programs of both sorts, size small.
Criteria of acceptance/strangers.

time     `terrace plan`, predicted_low_s to predicted_high_s. Truth: the mean iteration of a run under that plan.
regret   `terrace plan`, confidence.regret_low_s to regret_high_s. Truth: the same time less that of a run under
         the plan that is made of exact counters; no less than 0.
objects  `terrace show`, benefit_low_s to benefit_high_s of each ranked object. Truth: the same difference, of an
         iteration with nothing in fast memory and with this object alone there, from exact counters.

All times are virtual. Each program is recorded twice, at different sampling distances, as independent draws of its
samples, each on another machine with another size of fast memory.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import TERRACE, Criterion, Measured, every_workload, run, work
from others_lines.own import programs
from others_lines.programs import failures, keep_each
from others_tool.build import WORK, build
from others_tool.cost import SMALL_CACHES
from others_tool.execute import execute
from others_tool.pricing import Launch, mean_of_last, observed_in, planned, priced, times
from others_tool.profiles import Profile
from others_tool.recipe import Recipe, read_all

MIN, MAX = 0.85, 0.97
MIN_PROGRAMS = 20  # public ones that can be measured
# The machine, cycles between samples (None: the collector's own), the share of the footprint that is fast memory.
DRAWS = (("unimem-bw2", None, 25), ("unimem-lat4", 7000, 50))
KINDS = ("time", "regret", "objects")
_ROUNDING = 1e-9

Row = dict[str, Any]  # kind, where, low, high, truth; seconds


def compare(launch: Launch, stem: Path) -> list[Row]:
    """Returns a row for each stated interval. Programs without a main loop or without a plan have none."""
    for old in stem.parent.glob(f"{stem.name}.*"):
        old.unlink()
    texts = {machine: f"machine={machine}" for machine, *_ in DRAWS}
    exact = observed_in(
        launch, "record", stem.with_name(f"{stem.name}.exact.terrace"), texts, "--exact", *SMALL_CACHES
    )
    rows: list[Row] = []
    plans: dict[str, tuple[Path, Row]] = {}
    configurations: dict[str, str] = {}
    for machine, distance, share in DRAWS:
        record, truth = stem.with_name(f"{stem.name}.{machine}.terrace"), exact[machine]
        sample = ["--sample", str(distance)] if distance else []
        launch([TERRACE, "record", "-q", "-m", machine, *sample, *SMALL_CACHES, "-o", record, "--"])
        label = f"{machine}-{distance or 'default'}"
        rows += _objects(record, truth, label)
        fast = max(Profile(record).footprint() * share // 100, 1)
        plan, of_exact = record.with_suffix(".toml"), record.with_suffix(".exact.toml")
        if said := planned(record, fast, "-o", plan, confidence=""):
            plans[label] = record, said
            configurations[label] = f"machine={machine} fast={fast} plan={plan}"
            if planned(truth, fast, "-o", of_exact, "--exact"):
                configurations[f"{label}-exact"] = f"machine={machine} fast={fast} plan={of_exact}"
    stores = (
        priced(launch, stem.with_name(f"{stem.name}.placed.terrace"), configurations, *SMALL_CACHES)
        if plans
        else {}
    )
    for label, (record, said) in plans.items():
        count = len(times(record))
        found = (stores.get(f"{label}{kind}") for kind in ("", "-exact"))
        rows += _of_plan(label, said, *(mean_of_last(store, count) if store else None for store in found))
    return rows


def _of_plan(label: str, said: dict[str, Any], planned: float | None, best: float | None) -> list[Row]:
    """Returns the rows of one plan: its stated intervals of time and regret, with the measured truths."""
    rows = []
    if planned is not None:
        ends = {"low": said["predicted_low_s"], "high": said["predicted_high_s"]}
        rows.append({"kind": "time", "where": label, **ends, "truth": planned})
    if planned is not None and best is not None:
        stated = said["confidence"]
        ends = {"low": stated["regret_low_s"], "high": stated["regret_high_s"]}
        rows.append({"kind": "regret", "where": label, **ends, "truth": max(planned - best, 0.0), "time": planned})
    return rows


def _objects(record: Path, exact: Path, label: str) -> list[Row]:
    """Returns a row for each ranked object: its stated interval, and its benefit by exact counters."""
    shown = run([TERRACE, "show", "--json", record], check=False)
    known = run([TERRACE, "show", "--json", "--exact", exact], check=False)
    if shown.returncode != 0 or known.returncode != 0:
        return []
    truth = {one["name"]: one["benefit_s"] for one in json.loads(known.stdout)["objects"]}
    return [
        {
            "kind": "objects",
            "where": f"{label} {one['name']}",
            "low": one["benefit_low_s"],
            "high": one["benefit_high_s"],
            "truth": truth.get(one["name"], 0.0),
        }
        for one in json.loads(shown.stdout)["objects"]
        if one["rank"] is not None
    ]


def _own(name: str, words: list[str]) -> Row:
    program = programs(marked=False) / name
    return {"rows": compare(lambda before: run([*before, program, *words]), work("others") / f"covers-{name}")}


def _public(recipe: Recipe) -> Row:
    """Returns the intervals and truths of a public program, or why it failed."""
    built = build(recipe, "hooked", WORK)
    stem = WORK / "profiles" / f"covers-{recipe.name}"
    try:
        return {"rows": compare(lambda before: execute(recipe, built, "small", WORK, before), stem)}
    except RuntimeError as error:
        return {"failed": str(error)}


def held(row: Row) -> bool:
    """Returns whether the interval contains the true value, up to rounding."""
    slack = _ROUNDING * max(abs(row["truth"]), abs(row["high"]))
    return bool(row["low"] - slack <= row["truth"] <= row["high"] + slack)


def shares(rows: Sequence[Row]) -> dict[str, tuple[float, int]]:
    """Returns by kind the share of intervals that contain the true value, and the number of intervals."""
    found = {}
    for kind in KINDS:
        of_kind = [held(row) for row in rows if row["kind"] == kind]
        found[kind] = (sum(of_kind) / max(len(of_kind), 1), len(of_kind))
    return found


def _text(name: str, rows: Sequence[Row]) -> str:
    return f"{name}: " + ", ".join(f"{kind} {share:.1%} of {many}" for kind, (share, many) in shares(rows).items())


def cover() -> Measured:
    """Judges each kind over all programs; a row for each program."""
    programs(marked=False)
    public = {name: functools.partial(_public, recipe) for name, recipe in read_all().items()}
    own = {f"own {name}": functools.partial(_own, name, words) for name, words in every_workload("small").items()}
    found = keep_each("covers", public | own)
    by_program: dict[str, list[Row]] = {name: one["rows"] for name, one in found.items() if "rows" in one}
    groups = {
        title: [row for name in names if name in by_program for row in by_program[name]]
        for title, names in (("all", found), ("public programs", public), ("own workloads", own))
    }
    texts = [*(_text(title, rows) for title, rows in groups.items()), *failures(found)]
    table = [
        {"program": name, **{kind: f"{share * n:.0f} of {n}" for kind, (share, n) in shares(rows).items()}}
        for name, rows in by_program.items()
    ]
    fine = (
        all(MIN <= share <= MAX for share, _ in shares(groups["all"]).values()) and own.keys() <= by_program.keys()
    )
    return Measured("\n".join(texts), fine and len(public.keys() & by_program) >= MIN_PROGRAMS, table)


CRITERIA = [
    Criterion(
        "intervals",
        f"{MIN:.0%} to {MAX:.0%} of the stated 90 % intervals hold the truth, by kind (time of an iteration "
        "under a plan, cost of sampling error, benefit of an object), over this project's workloads and "
        f"{MIN_PROGRAMS} public programs, size small; "
        + "; ".join(
            f"on {machine} {share} % of the footprint as fast memory, "
            + (f"a sample every {distance} cycles" if distance else "the usual samples")
            for machine, distance, share in DRAWS
        ),
        cover,
    ),
]
