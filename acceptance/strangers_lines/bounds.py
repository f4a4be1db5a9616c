"""Compares bounds of default recordings with the runs of every strategy, program by program, in virtual time.

This project's workloads without markers are priced on two machines at three sizes of fast memory, each program in
one run. Their sizes are small, and so are the caches. Bounds and times are of a loop's mean iteration.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from statistics import mean

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work
from others_lines.live import MACHINES, SHARES
from others_lines.own import programs
from others_tool.cost import SMALL_CACHES
from others_tool.profiles import Profile
from terrace.store.reader import Store
from terrace.store.summary import iteration_times

MAX_LOSS = 3.0  # points that a sampled bound may be further from the best run than the exact one
_STRATEGIES = ("first-touch", "interleave", "auto")
_ROUNDING = 1e-6

Row = dict[str, float]  # seconds of the mean iteration: best run, sampled and exact bound


def _bound(file: Path, fast: int, *more: str) -> float | None:
    """What `terrace plan` prints for a profile, 0 where it proves none; None where it has nothing to plan for."""
    done = run([TERRACE, "plan", file, "--json", "--confidence", "0", "--fast", str(fast), *more], check=False)
    return json.loads(done.stdout)["lower_bound_s"] or 0.0 if done.returncode == 0 else None


def _price(name: str, words: list[str]) -> dict[str, Row]:
    return compare(programs(marked=False) / name, words, work("others") / f"bounds-{name}.terrace")


def compare(program: Path, words: list[str], stem: Path) -> dict[str, Row]:
    """Returns the rows by machine and share. Programs without a main loop or without a plan have no row."""
    for old in stem.parent.glob(f"{stem.stem}.*"):
        old.unlink()
    records = {machine: stem.with_suffix(f".record-{machine}.terrace") for machine in MACHINES}
    texts: dict[str, str] = {}
    found: dict[str, Row] = {}
    for machine, record in records.items():
        run([TERRACE, "record", "-q", "-m", machine, *SMALL_CACHES, "-o", record, "--", program, *words])
        texts[f"{machine}-slow"] = f"machine={machine} planner=slow-only"
        for share in SHARES:
            fast = max(Profile(record).footprint() * share // 100, 1)
            for strategy in _STRATEGIES:
                texts[f"{machine}-{share}-{strategy}"] = f"machine={machine} fast={fast} planner={strategy}"
            plan = stem.with_suffix(f".{machine}-{share}.toml")
            words_of_plan: list[str | Path] = [
                TERRACE,
                "plan",
                record,
                "--confidence",
                "0",
                "--fast",
                str(fast),
                "-o",
                plan,
            ]
            if run(words_of_plan, check=False).returncode == 0:
                texts[f"{machine}-{share}-planned"] = f"machine={machine} fast={fast} plan={plan}"
    each = [word for label, text in texts.items() for word in ("--config", f"label={label} {text}")]
    run([TERRACE, "simulate", "-q", "--exact", *SMALL_CACHES, *each, "-o", stem, "--", program, *words])
    for machine, record in records.items():
        for share in SHARES:
            fast = max(Profile(record).footprint() * share // 100, 1)
            sampled = _bound(record, fast)
            exact = _bound(stem.with_suffix(f".{machine}-slow.terrace"), fast, "--exact")
            labels = [label for label in texts if label.startswith(f"{machine}-{share}-")]
            count = len(_times(record))
            times = [_times(stem.with_suffix(f".{label}.terrace"))[-count:] for label in labels]
            known = [mean(seconds) for seconds in times if seconds]
            if sampled is not None and exact is not None and known:
                found[f"{machine}, {share} %"] = {"best": min(known), "sampled": sampled, "exact": exact}
    return found


def _times(file: Path) -> list[float]:
    """Seconds of the main loop's iterations. A recording may begin later than a run that it is compared with."""
    store = Store(file)
    return iteration_times(store, store.run())


def never_beaten() -> Measured:
    """A row for each case; judged are all of them."""
    rows: list[dict[str, str | float]] = []
    beaten, loose = [], []
    for name, words in every_workload("small").items():
        found: dict[str, Row] = keep_part(f"bounds-{name}", functools.partial(_price, name, words))
        for where, row in found.items():
            best, sampled, exact = row["best"], row["sampled"], row["exact"]
            loss = 100 * (exact - sampled) / best
            rows.append({"program": name, "where": where, "sampled": sampled / best, "exact": exact / best})
            for kind, bound in (("sampled", sampled), ("exact", exact)):
                if best < bound * (1 - _ROUNDING):
                    beaten.append(f"{name}, {where}: {100 * (1 - best / bound):.2f} % below the {kind} bound")
            if loss > MAX_LOSS:
                loose.append(f"{name}, {where}: {loss:.1f} points below the exact bound")
    text = f"{len(beaten)} bounds of {2 * len(rows)} beaten, {len(loose)} more than {MAX_LOSS:.0f} points loose"
    return Measured("\n".join([text, *beaten, *loose]), bool(rows) and not beaten and not loose, rows)


LINES = [
    Line(
        "bounds of recordings",
        f"no run of {', '.join(_STRATEGIES)} or of a plan beats the bound printed for it, sampled or exact, and "
        f"the sampled one is at most {MAX_LOSS:.0f} points lower; on {len(MACHINES)} machines with "
        f"{', '.join(map(str, SHARES))} % of the footprint as fast memory",
        never_beaten,
    ),
]
