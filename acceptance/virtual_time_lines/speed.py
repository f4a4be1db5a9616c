"""Measures how long a run takes under the hooks alone, profiled and simulated, relative to the native program; and
cachegrind, which follows every access through two levels of caches too, and keeps no time. Criteria of
acceptance/virtual-time.

Seconds are processor time, user and system, of the command and all that it started; the clock's are shown beside
them. The ways take turns; medians count.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from harness import Criterion, Measured, Unavailable, fresh, query, workloads

from virtual_time_lines.common import FinishedRun, simulate, timed, workload

ROUNDS = 3
HOOKS_OFF, PROFILE, SIMULATED = 5.0, 10.0, 25.0  # at most, native being 1
ACCESSES = 100e6  # a second, at least
CACHEGRIND = 1.0  # times its time, at most: it follows the same accesses without timing
CACHEGRIND_SECONDS = 180  # beyond, it runs at the smaller size
OPTIONS = ["--machine", "unimem-lat4"]
FAST = ["--fast", "64MiB"]
WAYS = ("native", "hooks off", "profile", "simulated")


@dataclass(frozen=True)
class Program:
    name: str
    arguments: str
    smaller: str  # for cachegrind

    def command(self, hooked: bool, arguments: str = "") -> list[str | Path]:
        return [workload(self.name, hooked), *(arguments or self.arguments).split()]


def programs() -> list[Program]:
    """Returns the workloads that state the size `speed`."""
    return [
        Program(about.name, " ".join(about.words("speed")), " ".join(about.words("cachegrind")))
        for about in workloads().values()
        if about.has("speed")
    ]


@dataclass(frozen=True)
class Speeds:
    program: Program
    cpu: dict[str, float]  # by way, the median
    wall: dict[str, float]
    accesses: float  # a second, simulated

    def factor(self, way: str) -> float:
        return self.cpu[way] / self.cpu["native"]

    def text(self) -> str:
        """Returns the sentence that states the program's slowdowns."""
        times = ", ".join(
            f"{way} {self.factor(way):.1f}x ({self.wall[way] / self.wall['native']:.1f}x by the clock)"
            for way in WAYS[1:]
        )
        return (
            f"{self.program.name} {self.program.arguments}: native {self.cpu['native']:.2f} s, {times}, "
            f"{self.accesses / 1e6:.0f} million accesses a second"
        )


def _measure(program: Program, folder: Path) -> Speeds:
    """Times a program natively and in every way, interleaved; returns medians."""
    store = folder / f"{program.name}.terrace"
    native, hooked = program.command(False), program.command(True)
    runs: dict[str, list[FinishedRun]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        runs["native"].append(timed(native))
        runs["hooks off"].append(timed(hooked))
        runs["profile"].append(simulate(store, OPTIONS, hooked, verb="record"))
        runs["simulated"].append(simulate(store, [*OPTIONS, *FAST], hooked))
    cpu = {way: median(done.cpu for done in runs[way]) for way in WAYS}
    wall = {way: median(done.wall for done in runs[way]) for way in WAYS}
    (accesses,) = query(store, "SELECT sum(accesses) FROM counters")[0]
    return Speeds(program, cpu, wall, accesses / cpu["simulated"])


def speed() -> Measured:
    """Judges the slowdowns in the geometric mean over programs."""
    folder = fresh("speed")
    found = [_measure(program, folder) for program in programs()]
    means = {way: geometric_mean([one.factor(way) for one in found]) for way in WAYS[1:]}
    accesses = geometric_mean([one.accesses for one in found])
    summary = (
        "geometric means: "
        + ", ".join(f"{way} {means[way]:.1f}x" for way in WAYS[1:])
        + f", {accesses / 1e6:.0f} million accesses a second"
    )
    holds = (
        means["hooks off"] <= HOOKS_OFF
        and means["profile"] <= PROFILE
        and means["simulated"] <= SIMULATED
        and accesses >= ACCESSES
    )
    return Measured("\n".join([summary, *(one.text() for one in found)]), holds)


# --- cachegrind -------------------------------------------------------------------------------------------------


def _cachegrind(program: Program, arguments: str) -> tuple[float, float]:
    """Returns native and cachegrind's seconds."""
    command = program.command(False, arguments)
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
    native = median(timed(command).cpu for _ in range(ROUNDS))
    return native, timed([*tool, *command]).cpu


def beside_cachegrind() -> Measured:
    """Compares simulated runs with the same programs under cachegrind, at sizes that end in time."""
    if shutil.which("valgrind") is None:
        raise Unavailable("valgrind is not installed")
    folder = fresh("cachegrind")
    lines, ratios = [], []
    for program in programs():
        arguments = program.smaller
        native, slow = _cachegrind(program, arguments)
        whole = median(timed(program.command(False)).cpu for _ in range(ROUNDS))
        if whole * slow / native <= CACHEGRIND_SECONDS:
            arguments = program.arguments
            native, slow = _cachegrind(program, arguments)
        store = folder / f"{program.name}.terrace"
        ours = simulate(store, [*OPTIONS, *FAST], program.command(True, arguments)).cpu
        ratios.append(ours / slow)
        lines.append(
            f"{program.name} {arguments}: cachegrind {slow / native:.1f}x native ({native:.3f} s), simulated "
            f"{ours / native:.1f}x, which is {ours / slow:.2f} of cachegrind's time"
        )
    summary = f"geometric mean: simulated takes {geometric_mean(ratios):.2f} of cachegrind's time"
    return Measured("\n".join([summary, *lines]), geometric_mean(ratios) <= CACHEGRIND)


CRITERIA = [
    Criterion(
        "speed",
        f"{', '.join(program.name for program in programs())} in class A sizes, native being 1: hooks off at most "
        f"{HOOKS_OFF:.0f}x, profile "
        f"{PROFILE:.0f}x, simulated {SIMULATED:.0f}x and at least {ACCESSES / 1e6:.0f} million accesses a second",
        speed,
    ),
    Criterion(
        "cachegrind beside it",
        "the same programs, as a ratio in one run: simulated takes no longer than cachegrind in the geometric "
        "mean",
        beside_cachegrind,
    ),
]
