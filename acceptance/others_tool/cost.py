"""Measures a program natively, with idle hooks, simulated and recorded, and reads Terrace's findings about it.
`scripts/others cost` and the criteria on public programs call it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from others_tool.build import BIN, BuildTree, build
from others_tool.execute import FinishedRun, WrongResult, execute, same
from others_tool.loops import MainLoop
from others_tool.profiles import Profile
from others_tool.recipe import Recipe

MACHINE = "unimem-lat4"
FAST = 4  # fast memory is the footprint over this
# Caches so small that data of size small does not fit into them: without misses no placement matters.
SMALL_CACHES = ("--cache", "l2=16KiB", "l3=60KiB")
NATIVE_RUNS = 3
TERRACE = BIN / "terrace"


@dataclass(frozen=True)
class Cost:
    """Processor seconds of each way, and what was found."""

    native: float
    hooks_off: float
    simulate: float
    record: float
    footprint: int  # bytes
    loop: MainLoop
    time_share: float | None  # of the virtual time after set-up that the loop holds
    miss_share: float | None  # of the misses after set-up
    misses: int  # lines after set-up
    compares: bool  # whether it prints or writes anything that could be wrong
    seen_time: float | None  # share of the time that hooked code took; None where it was not measured
    seen_heap: float | None
    virtual: float  # seconds
    said: float | None  # the time that it printed itself, natively
    complaint: str  # of `terrace show`, where it shows nothing


def measure(recipe: Recipe, size: str, work: Path) -> Cost:
    """Builds both ways, runs every way, compares the results. Raises NotBuilt, WrongResult and their like."""
    built = {way: build(recipe, way, work) for way in ("native", "hooked")}
    natives = [execute(recipe, built["native"], size, work) for _ in range(NATIVE_RUNS)]
    native, hooked = natives[0], built["hooked"]
    idle = execute(recipe, hooked, size, work)
    observed(recipe, hooked, "small", work, "record")  # fills the cache of facts about the program's files
    recorded, record = observed(recipe, hooked, size, work, "record")
    footprint = Profile(record).footprint()
    simulated, simulate = observed(
        recipe, hooked, size, work, "simulate", "--exact", "--fast", str(max(footprint // FAST, 1))
    )
    for each in (*natives[1:], idle, recorded, simulated):
        same(recipe, native, each)
    profile = Profile(simulate)
    coverage = profile.coverage()
    return Cost(
        native=median(each.cpu for each in natives),
        hooks_off=idle.cpu,
        simulate=simulated.cpu,
        record=recorded.cpu,
        footprint=footprint,
        loop=profile.loop(),
        time_share=profile.share_of_time(),
        miss_share=profile.share_of_misses(),
        misses=profile.misses_after_set_up(),
        compares=bool(native.output.strip() or native.sums),
        seen_time=coverage.time,
        seen_heap=coverage.heap,
        virtual=profile.seconds(),
        complaint=complaint(simulate),
        said=native.said,
    )


def observed(
    recipe: Recipe, built: BuildTree, size: str, work: Path, verb: str, *options: str
) -> tuple[FinishedRun, Path]:
    """Runs the program under a subcommand of Terrace with its default options; returns the run and its profile."""
    store = work / "profiles" / f"{recipe.name}-{size}-{verb}.terrace"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.unlink(missing_ok=True)
    before: list[str | Path] = [TERRACE, verb, "-q", "-m", MACHINE, *options, "-o", store, "--"]
    done = execute(recipe, built, size, work, before)
    if not store.exists():
        raise WrongResult(f"{recipe.name}: terrace {verb} left no profile: {done.stderr.strip()[-200:]}")
    return done, store


def complaint(store: Path) -> str:
    """Returns the error of `terrace show` for the profile, or ""."""
    done = subprocess.run([str(TERRACE), "show", str(store)], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1].rpartition(": ")[2]
