"""A program's time with its data placed in several ways, on one machine with little fast memory."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from others_tool.build import BIN, BuildTree, build
from others_tool.cost import FAST, MACHINE, SMALL_CACHES, observed
from others_tool.execute import WrongResult, execute, same
from others_tool.loops import are_alike
from others_tool.profiles import Profile
from others_tool.recipe import Recipe

TERRACE = BIN / "terrace"
CACHES: dict[str, tuple[str, ...]] = {"small": SMALL_CACHES, "full": ()}
# Priced in one run; a plan says which loop a run has, so it has a run of its own.
_TOGETHER = {"slow": "slow-only", "fast": "fast-only", "first": "first-touch", "live": "auto"}
_WITH_PLAN = {"fast": "planner=fast-only", "planned": "plan={plan}"}


@dataclass(frozen=True)
class PlacedTimes:
    """Virtual seconds of the main loop over those with fast memory alone; None where there is no loop."""

    slow: float | None
    live: float | None
    planned: float | None
    bound: float | None  # lower bound of the recorded iterations; None if a run has others
    live_run: float  # virtual seconds of the whole run
    first_touch_run: float
    takes_a_loop: bool  # live

    def document(self) -> dict[str, Any]:
        """Returns the result as JSON stores it."""
        return asdict(self)

    def behind(self) -> float:
        """Returns the percentage of first touch's time that live takes more."""
        return 100 * (self.live_run / self.first_touch_run - 1)


def place(recipe: Recipe, size: str, work: Path) -> PlacedTimes:
    """Records it, plans, and runs it. Raises NotBuilt, WrongResult and their like."""
    built = build(recipe, "hooked", work)
    recorded, record = observed(recipe, built, size, work, "record", *CACHES[size])
    profile = Profile(record)
    fast = max(profile.footprint() // FAST, 1)
    stores, done = _run(recipe, built, size, work, {k: f"fast={fast} planner={v}" for k, v in _TOGETHER.items()})
    same(recipe, recorded, done)
    loops = {label: store.seconds_in_loop() for label, store in stores.items()}
    planned = bound = None
    plan = record.with_suffix(".toml")
    if predicted := _plan(record, fast, plan):
        texts = {label: f"fast={fast} {text.format(plan=plan)}" for label, text in _WITH_PLAN.items()}
        with_plan, done = _run(recipe, built, size, work, texts, "planned")
        same(recipe, recorded, done)
        planned = _ratio(with_plan["planned"].seconds_in_loop(), with_plan["fast"].seconds_in_loop())
        if all(are_alike(profile.loop(), one.loop()) for one in (stores["live"], with_plan["planned"])):
            bound = _ratio(predicted["lower_bound_s"], predicted["fast_only_s"])
    return PlacedTimes(
        slow=_ratio(loops["slow"], loops["fast"]),
        live=_ratio(loops["live"], loops["fast"]),
        planned=planned,
        bound=bound,
        live_run=stores["live"].seconds(),
        first_touch_run=stores["first"].seconds(),
        takes_a_loop=bool(stores["live"].taken()),
    )


def _run(
    recipe: Recipe, built: BuildTree, size: str, work: Path, configurations: dict[str, str], name: str = "placed"
) -> tuple[dict[str, Profile], Any]:
    """Runs the program once in all of these configurations; returns the profiles by label, and the run."""
    store = work / "profiles" / f"{recipe.name}-{size}-{name}.terrace"
    stores = {label: store.with_suffix(f".{label}.terrace") for label in configurations}
    for path in stores.values():
        path.unlink(missing_ok=True)
    before: list[str | Path] = [TERRACE, "simulate", "-q", "-m", MACHINE, *CACHES[size]]
    for label, text in configurations.items():
        before += ["--config", f"label={label} {text}"]
    done = execute(recipe, built, size, work, [*before, "-o", store, "--"])
    if missing := [path.name for path in stores.values() if not path.exists()]:
        raise WrongResult(
            f"{recipe.name}: terrace simulate left no {', '.join(missing)}: {done.stderr.strip()[-200:]}"
        )
    return {label: Profile(path) for label, path in stores.items()}, done


def _plan(record: Path, fast: int, plan: Path) -> dict[str, Any] | None:
    """Runs `terrace plan`; returns its report, or None if the profile has nothing to plan for."""
    plan.unlink(missing_ok=True)
    words = [TERRACE, "plan", record, "--json", "--confidence", "0", "--fast", str(fast), "-o", plan]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def _ratio(seconds: float | None, fast: float | None) -> float | None:
    return seconds / fast if seconds and fast else None
