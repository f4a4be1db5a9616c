"""Compares the virtual time of public programs with the clock of this machine, each calibrated automatically.
Criteria of acceptance/others."""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path

from harness import TERRACE, Criterion, Measured, keep_part, run, work
from others_tool.build import WORK
from others_tool.clock import compare
from others_tool.recipe import Recipe
from terrace.errors import TerraceError

from others_lines.programs import PROGRAMS, Row, failures, of_recipes, size

MEAN, LARGE = 0.20, 0.40
MAX_LARGE = 2 / 20  # of the programs
STRICT_MEAN, STRICT_ERROR = 0.12, 0.35


def _measured_machine() -> str:
    """Returns the text of a machine file of this machine."""
    file = work("clock") / "measured.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    run([TERRACE, "machine", "measure", "-o", file])
    return file.read_text(encoding="utf-8")


def _machine() -> Path:
    """Returns the path of a machine file of this machine, measured once."""
    file = work("clock") / "here.toml"
    text = keep_part("clock-machine", _measured_machine, timed=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def rows() -> dict[str, Row]:
    """Returns the measurements of each program, or why they failed."""
    machine = _machine()

    def compared(recipe: Recipe) -> Row:
        try:
            return asdict(compare(recipe, size(), WORK, machine))
        except TerraceError as error:
            return {"failed": str(error)}

    return of_recipes(f"clock-{size()}", compared, timed=True)


def clock(mean_limit: float = MEAN, large_limit: float = LARGE, max_large: float = MAX_LARGE) -> Measured:
    """Compares every program's virtual time with its native one.

    Falls short where the mean absolute error is above `mean_limit`, where more than the share `max_large` of the
    programs are off by more than `large_limit`, or where fewer than PROGRAMS could be compared."""
    found = rows()
    errors = {name: one["error"] for name, one in found.items() if "failed" not in one}
    failed = failures(found)
    mean = sum(map(abs, errors.values())) / max(len(errors), 1)
    large = [name for name, error in errors.items() if abs(error) > large_limit]
    text = f"mean absolute error {mean:.1%} over {len(errors)} programs, {len(large)} above {large_limit:.0%}"
    text += f"; {_without_system(found):.1%} without the kernel's processor time"
    by_size = sorted(errors, key=lambda name: -abs(errors[name]))
    lines = [f"{name} {errors[name]:+.1%}: {_why(found[name])}" for name in by_size]
    holds = mean <= mean_limit and len(large) <= max_large * len(errors) and len(errors) >= PROGRAMS and not failed
    return Measured("\n".join([text, *failed, *lines]), holds, table(found))


def _without_system(found: dict[str, Row]) -> float:
    """Returns the mean absolute error against times without the system's part: virtual time has no page faults and
    files. A section that a program times keeps its part, which is unknown."""
    compared = [one for one in found.values() if "failed" not in one]
    natives = [max(one["native"] - (one["system"] if one["clock"] == "run" else 0.0), 1e-9) for one in compared]
    errors = [one["virtual"] / native - 1 for one, native in zip(compared, natives, strict=True)]
    return float(sum(map(abs, errors)) / max(len(errors), 1))


def _why(row: Row) -> str:
    """Describes the constant that it took, and further causes of its error."""
    spread = f"{row['spread'] / row['native']:.0%}"
    unhooked = "" if row["not_seen"] is None else f", {row['not_seen']:.0%} of the time in code without hooks"
    times = f"{row['virtual']:.3g} s for {row['native']:.3g} s ({row['clock']}, spread {spread})"
    return f"{times}; {row['memory']:.0%} of it waits for memory{unhooked}; {row['constant']}"


def table(found: dict[str, Row]) -> list[Row]:
    """Returns the page's table, a row for each program."""
    return [
        {"program": name, "failed": one["failed"]}
        if "failed" in one
        else {
            "program": name,
            "clock": one["clock"],
            "native, s": f"{one['native']:.3g}",
            "virtual, s": f"{one['virtual']:.3g}",
            "error": f"{one['error']:+.0%}",
            "core time, ps": f"{one['core_time'] * 1e12:.0f}",
            "calibrated": one["calibrated"],
            "memory": f"{one['memory']:.0%}",
            "not seen": "" if one["not_seen"] is None else f"{one['not_seen']:.0%}",
            "system, s": f"{one['system']:.2g}",
        }
        for name, one in found.items()
    ]


CRITERIA = [
    Criterion(
        "virtual time of public programs",
        f"mean absolute error against the clock at most {MEAN:.0%}, at most {MAX_LARGE:.0%} of them above "
        f"{LARGE:.0%}, over at least {PROGRAMS} programs; each is calibrated automatically (--native), "
        "and says its constant; reference: the time that the program prints for its own section, else the "
        "wall-clock time of the run",
        clock,
    ),
    Criterion(
        "virtual time of strangers",
        f"the same: mean at most {STRICT_MEAN:.0%}, none above {STRICT_ERROR:.0%}",
        functools.partial(clock, STRICT_MEAN, STRICT_ERROR, max_large=0.0),
    ),
]
