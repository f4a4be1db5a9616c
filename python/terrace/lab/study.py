"""Runs workloads in virtual time in every column that a result has, and gathers the numbers.

One execution of a program prices any number of configurations (machine, budget, planner) at once: what caches let
through does not depend on where data is. The columns are those of docs/virtual-time.md: slow-only, live (the
first iteration learned on the spot, moves paid for), steady (the later half of that run's iterations, against
the same iterations of fast-only), planned (obeying a plan made from an earlier profile, as it is, from the first
instruction to the last), fast-only, and the bound that no placement can beat.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.errors import TerraceError
from terrace.lab.surroundings import AS_HERE, Surroundings
from terrace.solve import figures
from terrace.store.reader import Store
from terrace.store.values import Moved, Run

# Unimem's study (systems.md, section 1): 256 MB of fast memory beside class C on 4 ranks, and a last-level cache
# of 20 MB.
STUDY_FAST = 256e6
STUDY_CACHE = 20e6


MACHINES = ("unimem-bw2", "unimem-lat4")
STATIC = ("first-touch", "interleave", "weighted-interleave")  # decide when memory is made, and learn nothing
_GIVEN = "given by --plan"  # why a plan is in force, as the journal has it


@dataclass(frozen=True)
class Configuration:
    """One configuration of a run, as `terrace simulate --config` takes it. A plan is obeyed as it is.
    Free moves take neither time nor bandwidth: what moves cost is the difference."""

    label: str
    machine: str
    planner: str = "auto"
    fast: int | None = None
    plan: Path | None = None
    free_moves: bool = False

    def text(self) -> str:
        """What follows --config."""
        words = [f"label={self.label}", f"machine={self.machine}"]
        words.append(f"planner={self.planner}" if self.plan is None else f"plan={self.plan}")
        if self.fast is not None:
            words.append(f"fast={self.fast}")
        if self.free_moves:
            words.append("free-moves=yes")
        return " ".join(words)


@dataclass(frozen=True)
class Outcome:
    """What one configuration of a run came to. Times are virtual seconds of the main loop."""

    store: Path
    loop: float
    iterations: list[float]
    waited: float
    copying: float  # what the moves take of the mover, at its price
    moved: list[Moved]

    @property
    def moves(self) -> int:
        """How many transfers were not refused."""
        return sum(pair.moves for pair in self.moved)

    @property
    def moved_chunks(self) -> int:
        """In all of them."""
        return sum(pair.chunks for pair in self.moved)

    @property
    def moved_bytes(self) -> int:
        """In all of them."""
        return sum(pair.size for pair in self.moved)

    @property
    def steady(self) -> float:
        """Of the later half of the iterations."""
        return figures.steady(self.iterations)


def terrace_program() -> str:
    """The launcher of this installation."""
    import sys

    beside = Path(sys.executable).with_name("terrace")
    return str(beside) if beside.exists() else "terrace"


def machine_here() -> dict[str, Any]:
    """The machine at hand, as `terrace machine --json` describes it."""
    found: dict[str, Any] = json.loads(run_terrace(["machine", "--json"]))
    return found


def run_terrace(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
) -> str:
    """Runs the launcher; what the program wrote to standard output. Raises TerraceError with its last lines."""
    command = [terrace_program(), *(os.fspath(word) for word in words)]
    variables = {**os.environ, **(environment or {})}
    with around.entered() as (stdin, folder):
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=variables, stdin=stdin, cwd=folder
        )
    if done.returncode != around.status:
        tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-4:])
        raise TerraceError(f"{' '.join(command)[:160]} ended with {done.returncode}: {tail}")
    return done.stdout


def build(source: Path, name: str, folder: Path) -> Path:
    """A workload of Terrace's source tree, built into the folder with nothing but CXX changed. Raises TerraceError
    with the compiler's last line."""
    script = source / "workloads" / "build.sh"
    if not script.is_file():
        raise TerraceError(f"{script} is not there: run this in Terrace's source tree, or give --source")
    compiler = Path(terrace_program()).with_name("terrace-c++")
    command = ["sh", str(script.resolve()), str(folder.resolve()), name]
    done = subprocess.run(command, env={**os.environ, "CXX": str(compiler)}, capture_output=True, text=True)
    if done.returncode != 0:
        raise TerraceError(f"building {name} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return folder / name


def outcome(path: Path) -> Outcome:
    """Reads what a configuration's journal said of its last main loop."""
    store = Store(path)
    run = store.run()
    loop = store.loop(run)
    if loop is None or loop.ended is None:
        raise TerraceError(f"{path}: no main loop ended in it")
    per_iteration: dict[int, float] = {}
    waited = 0.0
    for phase in store.phase_instances(run):
        per_iteration[phase.iteration] = per_iteration.get(phase.iteration, 0.0) + phase.ended - phase.begun
        waited += phase.waited
    moved = store.moved(run)
    iterations = [per_iteration[i] for i in sorted(per_iteration)]
    copying = figures.copying(_core.Store(str(path)).machine(run.id), run, moved)
    return Outcome(path, loop.ended - loop.begun, iterations, waited, copying, moved)


def obeyed(path: Path) -> None:
    """Raises TerraceError unless the run obeyed the plan that it was given from the first instruction to the last:
    its journal then has that plan's record and no other."""
    store = Store(path)
    run = store.run()
    reasons = store.plan_reasons(run)
    if not run.obeys_a_plan or len(reasons) != 1:
        raise TerraceError(
            f"{path}: a run that obeys a given plan has one plan record and no planner; this one has the planner "
            f"'{run.planner}' and {len(reasons)} plan records ({'; '.join(reasons) or 'none'})"
        )


def decided(path: Path, planner: str) -> None:
    """Raises TerraceError unless the run was left to that planner: its journal then names it and holds no plan
    that was given; where it makes plans, it made one at least, and else there is none."""
    store = Store(path)
    run = store.run()
    reasons = store.plan_reasons(run)
    if run.planner != planner or _GIVEN in reasons or bool(reasons) != _plans(planner):
        raise TerraceError(
            f"{path}: a run that is left to '{planner}' has its name and only plans of its own; this one has the "
            f"planner '{run.planner}' and {len(reasons)} plan records ({'; '.join(reasons) or 'none'})"
        )


def _plans(planner: str) -> bool:
    """Whether it makes plans while the program runs: static placements and policies decide without."""
    return planner not in ("slow-only", "fast-only", *STATIC, *_core.policies())


def record(
    program: Sequence[str | os.PathLike[str]],
    machines: Sequence[str],
    folder: Path,
    name: str,
    options: Sequence[str] = (),
) -> None:
    """One execution, profiled on each machine with exact counters beside the samples: NAME.MACHINE.terrace."""
    folder.mkdir(parents=True, exist_ok=True)
    words: list[str | os.PathLike[str]] = [
        "record",
        "--exact",
        "--quiet",
        "--output",
        folder / f"{name}.terrace",
        *options,
    ]
    for machine in machines:
        words += ["--config", Configuration(machine, machine).text()]
    run_terrace([*words, "--", *program])


def simulate(
    program: Sequence[str | os.PathLike[str]],
    configurations: Sequence[Configuration],
    folder: Path,
    name: str,
    options: Sequence[str] = (),
) -> tuple[dict[str, Outcome], str]:
    """One execution, priced in every configuration, and what the program printed. Raises TerraceError when it
    fails, and where a configuration's journal does not hold the plans that its label promises."""
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{name}.terrace"
    for old in folder.glob(f"{name}*.terrace"):
        old.unlink()
    words: list[str | os.PathLike[str]] = ["simulate", "--quiet", "--output", output, *options]
    for configuration in configurations:
        words += ["--config", configuration.text()]
    printed = run_terrace([*words, "--", *program])
    stores = {
        configuration.label: folder / f"{name}.{configuration.label}.terrace" for configuration in configurations
    }
    for configuration in configurations:
        if configuration.plan is not None:
            obeyed(stores[configuration.label])
        else:
            decided(stores[configuration.label], configuration.planner)
    return {label: outcome(store) for label, store in stores.items()}, printed


def data_objects(store: Store, run: Run) -> dict[str, int]:
    """The program's data objects that lived when its main loop began, with their sizes in bytes."""
    loop = store.loop(run)
    begun = loop.begun if loop else 0.0
    kinds = {"heap", "mapping", "fixed", "common", "named"}
    return {
        item.name: item.size
        for item in store.objects(run)
        if item.kind in kinds
        and item.born <= begun
        and (item.died is None or item.died > begun)
        and not item.name.startswith("(")
    }


def footprint(program: Sequence[str | os.PathLike[str]], folder: Path, name: str) -> int:
    """Bytes of the data objects that live in the main loop, from a native run."""
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{name}.footprint.terrace"
    output.unlink(missing_ok=True)
    run_terrace(["run", "--quiet", "--planner", "slow-only", "--output", output, "--", *program])
    store = Store(output)
    return sum(data_objects(store, store.run()).values())
