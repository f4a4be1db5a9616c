"""Checks CloverLeaf's published energies by every executor, on one and two threads, and one, two and four ranks.
Criteria of acceptance/stencils."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

from harness import Criterion, Measured, keep_part

from stencils_lines.common import data_folder, is_small, reduced, stencil

NEAR = 1e-10


@dataclass(frozen=True)
class Problem:
    """`energy` is the kinetic energy at the end that the reference codes of the UK Mini-App Consortium hold their
    test problems against (CloverLeaf_ref at commit 0fdb917, CloverLeaf3D_ref at 324c829; the 3D one of tp1 belongs
    to the deck of 10 x 2 x 2 cells). `memory` is what may be in memory when the data are in a file, of all ranks
    together: a third of them or less, where that is not below the smallest that `streamed` takes."""

    program: str
    name: str
    energy: float
    loops: int
    memory: int

    @property
    def is_long(self) -> bool:
        return self.name == "tp4"


MIB = 1 << 20
MIN = 256 << 10
PROBLEMS = (
    Problem("cloverleaf2d", "tp1", 1.82280367310258, 156, MIN),
    Problem("cloverleaf2d", "tp2", 1.19316898756307, 156, 60 * MIB),
    Problem("cloverleaf2d", "tp4", 0.307475452287895, 156, 1024 * MIB),
    Problem("cloverleaf3d", "tp1", 3.64560737191257, 603, MIN),
    Problem("cloverleaf3d", "tp2", 20.0546870878964, 603, 96 * MIB),
    Problem("cloverleaf3d", "tp4", 17.9845165368889, 603, 1500 * MIB),
)
EXECUTORS = ("parallel", "tiled", "streamed")
RANKS, THREADS = (1, 2, 4), (1, 2)
MAX_THREADS = 4  # of all ranks: threads wait for one another without sleep at first


@dataclass(frozen=True)
class Way:
    """How a problem is run."""

    executor: str
    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.executor}, {self.ranks} ranks of {self.threads} threads"


def _ways(problem: Problem) -> list[Way]:
    """Returns all ways; several ranks of the long problems have a thread each."""
    ways = [Way(*way) for way in itertools.product(EXECUTORS, RANKS, THREADS)]
    most = 2 if problem.is_long else MAX_THREADS
    return [way for way in ways if way.threads == 1 or way.ranks * way.threads <= most]


def _run(problem: Problem, way: Way) -> list[float]:
    """Returns the kinetic energy, the loops of a step, and the bytes that came from the first rank's file."""
    options: dict[str, object] = {"executor": way.executor, "threads": way.threads}
    if way.executor == "streamed":
        options |= {"memory": max(problem.memory // way.ranks, MIN), "folder": data_folder()}
    ran = stencil(problem.program, {"problem": problem.name}, way.ranks, **options)
    return [ran.value("ke"), ran.value("loops_per_step"), ran.number("bytes_in")]


def _of(problem: Problem) -> tuple[str, bool]:
    """Returns a line of text, and whether all ways have the published energy, equal digits, the loops, and moved
    data if they are in a file."""
    found = {
        way: keep_part(
            f"stencil-energy-{problem.program}-{problem.name}-{way.executor}-{way.ranks}-{way.threads}",
            functools.partial(_run, problem, way),
        )
        for way in _ways(problem)
    }
    first = next(iter(found.values()))[0]
    far = max(abs(energy / problem.energy - 1) for energy, _, _ in found.values())
    others = [str(way) for way, (energy, _, _) in found.items() if energy != first]
    loops = {round(count) for _, count, _ in found.values()}
    streamed = [way for way in found if way.executor == "streamed"]
    # The data of 2D tp1, 25 datasets of a page each, are less than the smallest memory; so are a rank's of tp1.
    small = [way for way in streamed if problem.memory // way.ranks < MIN or problem == PROBLEMS[0]]
    moving = [found[way][2] for way in streamed if way not in small]
    still = sum(moved <= 0 for moved in moving)
    moved = f"of {len(streamed)} ways {len(moving) - still} moved data"
    moved += f", {min(moving) / 1e6:.0f} MB or more from a rank's file" if moving else ""
    moved += f"; the data of {len(small)} are less than the smallest memory" if small else ""
    digits = f"other digits: {'; '.join(others)}" if others else "the same digits"
    text = (
        f"{problem.program} {problem.name}: {first:.14g}, published {problem.energy:.14g}, at most {far:.1e} off; "
        f"{len(found)} ways ({', '.join(EXECUTORS)}; 1, 2 and 4 ranks; 1 and 2 threads"
        f"{', several ranks of 1' if problem.is_long else ', 4 ranks of 1'}), {digits}; "
        f"{', '.join(map(str, sorted(loops)))} loops a step; streamed: {moved}"
    )
    return text, far <= NEAR and not others and still == 0 and loops == {problem.loops}


def energies() -> Measured:
    """Runs each way as a process of its own. The digits have to be equal in all of them."""
    chosen = [problem for problem in PROBLEMS if not (is_small() and problem.is_long)]
    found = [_of(problem) for problem in chosen]
    text = "\n".join(text for text, _ in found)
    text += "\nwithout tp4, the largest problems" if is_small() else ""
    return Measured(reduced(text), all(holds for _, holds in found) and not is_small())


CRITERIA = [
    Criterion(
        "energies",
        "published kinetic energies of tp1, tp2, tp4 to 1e-10 and the same digits: untiled, tiled, streamed, by 1 "
        "and 2 threads, by 1, 2 and 4 ranks; where data are in a file they are moved",
        energies,
    )
]
