"""Measures a program's virtual time with its data placed in several ways, on one machine with little fast memory,
for `scripts/others` and acceptance/others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from others_tool.build import BuildTree, build
from others_tool.cost import FAST, MACHINE, SMALL_CACHES, observed
from others_tool.execute import FinishedRun, execute, same
from others_tool.loops import are_alike
from others_tool.pricing import planned as planned_for
from others_tool.pricing import priced
from others_tool.profiles import Profile
from others_tool.recipe import Recipe

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
    plan.unlink(missing_ok=True)
    if predicted := planned_for(record, fast, "-o", plan):
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
) -> tuple[dict[str, Profile], FinishedRun]:
    """Runs the program once in all of these configurations; returns the profiles by label, and the run."""
    done: list[FinishedRun] = []
    stores = priced(
        lambda before: done.append(execute(recipe, built, size, work, before)),
        work / "profiles" / f"{recipe.name}-{size}-{name}.terrace",
        configurations,
        *("-m", MACHINE, *CACHES[size]),
    )
    return {label: Profile(path) for label, path in stores.items()}, done[0]


def _ratio(seconds: float | None, fast: float | None) -> float | None:
    return seconds / fast if seconds and fast else None
