"""The programs of the experiments, a row each: what they are called with, and the study's numbers for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from terrace.errors import WrongCallError

CLASSES = ("S", "W", "A")

# For programs that the studies do not have: as if a rank's data were so large, so that 256 MB hold a quarter.
ASSUMED_FOOTPRINT = 1024e6

# And as long: the iterations of those in the study that have fewest (MG, FT).
_ITERATIONS = 20


@dataclass(frozen=True)
class Workload:
    """A program: its arguments by class, and the bytes of a rank's data objects in class C on 4 ranks."""

    name: str
    arguments: Mapping[str, tuple[str, ...]]
    study_footprint: float = ASSUMED_FOOTPRINT
    in_study: bool = False
    array_file: str = field(default="", kw_only=True)  # where its arrays are made, under workloads/

    def command(self, problem_class: str) -> tuple[str, ...]:
        """What the program is called with."""
        return self.arguments[problem_class]


def _npb(name: str, footprint: float, iterations: int, least: Mapping[str, int] | None = None) -> Workload:
    """A benchmark of NPB with class C's iterations in every class, but no fewer than its class asks for."""
    count = {letter: max(iterations, (least or {}).get(letter, 0)) for letter in CLASSES}
    arguments = {letter: ("--class", letter, "--iterations", str(count[letter])) for letter in CLASSES}
    return Workload(name, arguments, footprint, in_study=True, array_file=f"{name}/{name}.cpp")


def _sized(name: str, **arguments: str) -> Workload:
    return Workload(name, {letter: tuple(arguments[letter].split()) for letter in CLASSES})


def _repeated(name: str, **arguments: str) -> Workload:
    return _sized(name, **{letter: f"{words} --iterations {_ITERATIONS}" for letter, words in arguments.items()})


# Footprints: systems.md, section 1, read off NPB 3.3 compiled for class C on 4 ranks. Iterations: NPB's, class C.
_ROWS = (
    _npb("cg", 311e6, 75),
    _npb("mg", 921e6, 20),
    _npb("ft", 1880e6, 20),
    _npb("bt", 439e6, 200),
    _npb("sp", 367e6, 400),
    _npb("lu", 193e6, 250, {"W": 300}),
    _sized("eddy", S="--elements 6 --steps 10", W="--elements 16 --steps 20", A="--elements 50 --steps 20"),
    _repeated("graph", S="--scale 12", W="--scale 16", A="--scale 19"),
    _repeated("tensor", S="--scale 14", W="--scale 18", A="--scale 21"),
    _repeated("mergejoin", S="--tuples 32768", W="--tuples 524288", A="--tuples 2097152"),
    _sized("hydro", S="--side 64 --steps 20", W="--side 256 --steps 20", A="--side 1024 --steps 10"),
    _sized(
        "stream",
        S="--size 1MiB --repetitions 4",
        W="--size 8MiB --repetitions 4",
        A="--size 64MiB --repetitions 4",
    ),
)
WORKLOADS = {row.name: row for row in _ROWS}


def chosen(names: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """The workloads that --only names, in the table's order. Raises WrongCallError for one that is not there."""
    if names is None:
        return default
    words = [word.strip() for word in names.split(",")]
    for word in words:
        if word not in default:
            raise WrongCallError(f"--only {names}: there is no '{word}' here; there are {', '.join(default)}")
    return tuple(name for name in default if name in words)
