"""Compares bounds of default recordings with the runs of every strategy, program by program, in virtual time. A
criterion of acceptance/strangers.

Public programs, and this project's workloads without markers, are priced in six cases, each program in one run.
Their sizes are small, and so are the caches. Bounds and times are of a loop's mean iteration.
"""

from __future__ import annotations

import functools
from statistics import mean
from typing import Any

from harness import Criterion, Measured
from others_lines.own import programs as own_programs
from others_lines.programs import failures, keep_each
from others_tool.build import WORK
from others_tool.cost import SMALL_CACHES
from others_tool.pricing import Launch, observed_in, planned, priced, times
from others_tool.profiles import Profile

from strangers_lines.live import PROGRAMS, SHARES, programs

MAX_LOSS = 3.0  # points that a sampled bound may be further from the best run than the exact one
# Machines, and the share of the footprint that is fast memory, in %.
CASES = tuple((machine, share) for machine in ("unimem-bw2", "unimem-lat4") for share in SHARES)
_STRATEGIES = ("first-touch", "interleave", "auto")
_ROUNDING = 1e-6

# Seconds of the mean iteration: sampled and exact bound, and the best run over as many iterations as each has.
Row = dict[str, float]


def _bound(report: dict[str, Any] | None) -> float | None:
    """Returns the lower bound that `terrace plan` prints, 0 without a bound, None without data to plan."""
    return report["lower_bound_s"] or 0.0 if report else None


def _price(name: str, launch: Launch) -> dict[str, Any]:
    """Returns the rows by case. Programs without a main loop or without a plan have no row."""
    stem = WORK / "profiles" / f"bounds-{name.replace(' ', '-')}.terrace"
    for old in stem.parent.glob(f"{stem.stem}.*"):
        old.unlink()
    machines = {machine: f"machine={machine}" for machine, _ in CASES}
    records = observed_in(launch, "record", stem.with_suffix(".record.terrace"), machines, *SMALL_CACHES)
    texts = {f"{machine}-slow": f"machine={machine} planner=slow-only" for machine in machines}
    sampled: dict[str, float | None] = {}
    sizes: dict[str, int] = {}
    for machine, share in CASES:
        case = f"{machine}-{share}"
        sizes[case] = max(Profile(records[machine]).footprint() * share // 100, 1)
        told = f"machine={machine} fast={sizes[case]}"
        texts |= {f"{case}-{strategy}": f"{told} planner={strategy}" for strategy in _STRATEGIES}
        plan = stem.with_suffix(f".{case}.toml")
        sampled[case] = _bound(planned(records[machine], sizes[case], "-o", plan))
        if plan.exists():
            texts[f"{case}-planned"] = f"{told} plan={plan}"
    stores = priced(launch, stem, texts, "--exact", *SMALL_CACHES)
    found: dict[str, Row] = {}
    for machine, share in CASES:
        case = f"{machine}-{share}"
        slow = stores[f"{machine}-slow"]
        exact = _bound(planned(slow, sizes[case], "--exact"))
        runs = [seconds for label in texts if label.startswith(f"{case}-") and (seconds := times(stores[label]))]
        bound = sampled[case]
        if bound is not None and exact is not None and runs:
            best, best_of_all = (
                min(mean(seconds[-len(times(of)) :]) for seconds in runs) for of in (records[machine], slow)
            )
            found[f"{machine}, {share} %"] = {
                "best": best, "sampled": bound, "best_of_all": best_of_all, "exact": exact,
            }  # fmt: skip
    for old in stem.parent.glob(f"{stem.stem}.*"):
        old.unlink()
    return {"rows": found}


def never_beaten() -> Measured:
    """Checks that no run beats the bound of its recording; a row for each case."""
    rows: list[dict[str, str | float]] = []
    beaten, loose = [], []
    own_programs(marked=False)
    kept = keep_each(
        "bounds", {name: functools.partial(_price, name, runner) for name, runner in programs().items()}
    )
    for name, found in kept.items():
        for where, row in found.get("rows", {}).items():
            sampled, exact = row["sampled"] / row["best"], row["exact"] / row["best_of_all"]
            loss = 100 * (exact - sampled)
            rows.append({"program": name, "where": where, "sampled": sampled, "exact": exact})
            for kind, bound in (("sampled", sampled), ("exact", exact)):
                if bound * (1 - _ROUNDING) > 1:
                    beaten.append(f"{name}, {where}: {100 * (1 - 1 / bound):.2f} % faster than the {kind} bound")
            if loss > MAX_LOSS:
                loose.append(f"{name}, {where}: sampled bound {loss:.1f} points below the exact one")
    text = f"{len(beaten)} bounds of {2 * len(rows)} beaten, {len(loose)} more than {MAX_LOSS:.0f} points loose"
    many = len({row["program"] for row in rows})
    text += f"; {many} of {len(kept)} programs have a plan"
    failed = failures(kept)
    fine = many >= PROGRAMS and not beaten and not loose and not failed
    return Measured("\n".join([text, *beaten, *loose, *failed]), fine, rows)


CRITERIA = [
    Criterion(
        "bounds of recordings",
        f"no run of {', '.join(_STRATEGIES)} or of a plan beats the bound printed for it, sampled or exact, and "
        f"the sampled one is at most {MAX_LOSS:.0f} points lower; public programs and this project's workloads, "
        f"at least {PROGRAMS}; "
        + ", ".join(f"{share} % of the footprint as fast memory on {machine}" for machine, share in CASES),
        never_beaten,
    ),
]
