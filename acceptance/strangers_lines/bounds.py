"""Compares bounds of default recordings with the runs of every strategy, program by program, in virtual time.

Public programs, and this project's workloads without markers, are priced in six cases, each program in one run.
Their sizes are small, and so are the caches. Bounds and times are of a loop's mean iteration.
"""

from __future__ import annotations

import functools
from pathlib import Path
from statistics import mean
from typing import Any

from harness import TERRACE, Line, Measured, keep_parts
from others_lines.own import programs as own_programs
from others_lines.programs import failures
from others_tool.build import WORK, NotBuilt
from others_tool.cost import SMALL_CACHES
from others_tool.execute import WrongResult
from others_tool.fetch import NoArchive
from others_tool.profiles import Profile
from terrace.store.reader import Store
from terrace.store.summary import iteration_times

from strangers_lines.live import PROGRAMS, SHARES, Runner, output_of_plan, programs

MAX_LOSS = 3.0  # points that a sampled bound may be further from the best run than the exact one
# Machines, and the share of the footprint that is fast memory, in %.
CASES = tuple((machine, share) for machine in ("unimem-bw2", "unimem-lat4") for share in SHARES)
_STRATEGIES = ("first-touch", "interleave", "auto")
_ROUNDING = 1e-6

# Seconds of the mean iteration: sampled and exact bound, and the best run over as many iterations as each has.
Row = dict[str, float]


def _bound(file: Path, fast: int, *more: str | Path) -> float | None:
    """Returns the lower bound that `terrace plan` prints, 0 without a bound, None without data to plan."""
    words = [TERRACE, "plan", file, "--json", "--confidence", "0", "--fast", str(fast), *more]
    output = output_of_plan(words)
    return output["lower_bound_s"] or 0.0 if output else None


def _price(name: str, runner: Runner) -> dict[str, Any]:
    stem = WORK / "profiles" / f"bounds-{name.replace(' ', '-')}.terrace"
    stem.parent.mkdir(parents=True, exist_ok=True)
    try:
        return {"rows": compare(runner, stem)}
    except (NoArchive, NotBuilt, WrongResult) as error:
        return {"failed": str(error)}


def compare(runner: Runner, stem: Path) -> dict[str, Row]:
    """Returns the rows by case. Programs without a main loop or without a plan have no row."""
    for old in stem.parent.glob(f"{stem.stem}.*"):
        old.unlink()
    machines = tuple(dict.fromkeys(machine for machine, _ in CASES))
    each = [word for name in machines for word in ("--config", f"label=record-{name} machine={name}")]
    runner([TERRACE, "record", "-q", *SMALL_CACHES, *each, "-o", stem, "--"])
    records = {machine: stem.with_suffix(f".record-{machine}.terrace") for machine in machines}
    texts = {f"{machine}-slow": f"machine={machine} planner=slow-only" for machine in machines}
    sampled: dict[str, float | None] = {}
    sizes: dict[str, int] = {}
    for machine, share in CASES:
        case = f"{machine}-{share}"
        sizes[case] = max(Profile(records[machine]).footprint() * share // 100, 1)
        told = f"machine={machine} fast={sizes[case]}"
        texts |= {f"{case}-{strategy}": f"{told} planner={strategy}" for strategy in _STRATEGIES}
        plan = stem.with_suffix(f".{case}.toml")
        sampled[case] = _bound(records[machine], sizes[case], "-o", plan)
        if plan.exists():
            texts[f"{case}-planned"] = f"{told} plan={plan}"
    each = [word for label, text in texts.items() for word in ("--config", f"label={label} {text}")]
    runner([TERRACE, "simulate", "-q", "--exact", *SMALL_CACHES, *each, "-o", stem, "--"])
    found: dict[str, Row] = {}
    for machine, share in CASES:
        case = f"{machine}-{share}"
        slow = stem.with_suffix(f".{machine}-slow.terrace")
        exact = _bound(slow, sizes[case], "--exact")
        runs = [stem.with_suffix(f".{label}.terrace") for label in texts if label.startswith(f"{case}-")]
        times = [seconds for seconds in map(_times, runs) if seconds]
        bound = sampled[case]
        if bound is not None and exact is not None and times:
            best, best_of_all = (
                min(mean(seconds[-len(_times(of)) :]) for seconds in times) for of in (records[machine], slow)
            )
            found[f"{machine}, {share} %"] = {
                "best": best, "sampled": bound, "best_of_all": best_of_all, "exact": exact,
            }  # fmt: skip
    for old in stem.parent.glob(f"{stem.stem}.*"):
        old.unlink()
    return found


def _times(file: Path) -> list[float]:
    """Seconds of the main loop's iterations. Recordings and runs that learn may begin later than others."""
    store = Store(file)
    return iteration_times(store, store.run())


def never_beaten() -> Measured:
    """Judges all cases, with a row for each."""
    rows: list[dict[str, str | float]] = []
    beaten, loose = [], []
    own_programs(marked=False)
    parts = {f"bounds-{name}": functools.partial(_price, name, runner) for name, runner in programs().items()}
    priced = {part.removeprefix("bounds-"): found for part, found in keep_parts(parts).items()}
    for name, found in priced.items():
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
    text += f"; {many} of {len(priced)} programs have a plan"
    failed = failures(priced)
    fine = many >= PROGRAMS and not beaten and not loose and not failed
    return Measured("\n".join([text, *beaten, *loose, *failed]), fine, rows)


LINES = [
    Line(
        "bounds of recordings",
        f"no run of {', '.join(_STRATEGIES)} or of a plan beats the bound printed for it, sampled or exact, and "
        f"the sampled one is at most {MAX_LOSS:.0f} points lower; public programs and this project's workloads, "
        f"at least {PROGRAMS}; "
        + ", ".join(f"{share} % of the footprint as fast memory on {machine}" for machine, share in CASES),
        never_beaten,
    ),
]
