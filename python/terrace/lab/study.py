# SPDX-License-Identifier: Apache-2.0
"""Runs workloads in virtual time in every column of a result (all slow, live, planned, all fast), and collects the
figures. Used by `terrace bounds`, `lab demo`, `lab sweep` and the experiments.

One execution of a program evaluates any number of configurations (machine, budget, planner) at once, because data
placement does not change the cache misses. The columns are those of docs/explanation/virtual-time.md: slow-only;
live (learned in the first iteration, moves included); steady (the later half of that run's iterations, against the
same iterations of fast-only); planned (an unmodified plan from an earlier profile, for the whole run); fast-only;
and the lower bound that no placement can beat.
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

# The study of Unimem (SC'17): class C on 4 ranks with 256 MB of fast memory and a last-level cache of
# 20 MB.
STUDY_FAST = 256e6
STUDY_CACHE = 20e6


MACHINES = ("unimem-bw2", "unimem-lat4")
_GIVEN = "given by --plan"  # the journal's reason of a plan that the user gave


@dataclass(frozen=True)
class Configuration:
    """One configuration of a run, as `terrace simulate --config` takes it. A plan is applied unmodified.

    Free moves take neither time nor bandwidth: the difference to a normal run is the cost of moves.
    """

    label: str
    machine: str
    planner: str = "auto"
    fast: int | None = None
    plan: Path | None = None
    free_moves: bool = False

    def text(self) -> str:
        """Returns the value of the launcher's option --config for this configuration."""
        words = [f"label={self.label}", f"machine={self.machine}"]
        words.append(f"planner={self.planner}" if self.plan is None else f"plan={self.plan}")
        if self.fast is not None:
            words.append(f"fast={self.fast}")
        if self.free_moves:
            words.append("free-moves=yes")
        return " ".join(words)


@dataclass(frozen=True)
class Outcome:
    """Result of one configuration of a run. Times are virtual seconds of the main loop."""

    store: Path
    loop: float
    iterations: list[float]
    waited: float
    copying: float  # seconds of copying, at the mover's bandwidth
    moved: list[Moved]

    @property
    def moves(self) -> int:
        """Returns the number of completed transfers."""
        return sum(pair.moves for pair in self.moved)

    @property
    def moved_chunks(self) -> int:
        """Returns the number of chunks of all transfers."""
        return sum(pair.chunks for pair in self.moved)

    @property
    def moved_bytes(self) -> int:
        """Returns the number of bytes of all transfers."""
        return sum(pair.size for pair in self.moved)

    @property
    def steady(self) -> float:
        """Returns the time of the later half of the iterations."""
        return figures.steady(self.iterations)


def terrace_program() -> str:
    """Returns the launcher of this installation."""
    import sys

    installed = Path(sys.executable).with_name("terrace")
    return str(installed) if installed.exists() else "terrace"


def machine_here() -> dict[str, Any]:
    """Returns the description of this machine from `terrace machine --json`."""
    return machine_document(None)


def machine_document(name: str | None) -> dict[str, Any]:
    """Returns the description of a machine (None: this one) from `terrace machine --json`."""
    found: dict[str, Any] = json.loads(run_terrace(["machine", *([name] if name else []), "--json"]))
    return found


def run_terrace(
    words: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] | None = None,
    around: Surroundings = AS_HERE,
) -> str:
    """Runs the launcher and returns the program's standard output. Raises TerraceError with the last lines."""
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
    """Builds a workload of Terrace's source tree into the folder, changing nothing but CXX.

    Raises TerraceError with the compiler's last line.
    """
    script = source / "workloads" / "build.sh"
    if not script.is_file():
        raise TerraceError(f"{script} not found: run this in Terrace's source tree, or give --source")
    compiler = Path(terrace_program()).with_name("terrace-c++")
    command = ["sh", str(script.resolve()), str(folder.resolve()), name]
    done = subprocess.run(command, env={**os.environ, "CXX": str(compiler)}, capture_output=True, text=True)
    if done.returncode != 0:
        raise TerraceError(f"building {name} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return folder / name


def outcome(path: Path) -> Outcome:
    """Reads the result of the last main loop from a configuration's profile."""
    store = Store(path)
    run = store.run()
    loop = store.loop(run)
    if loop is None or loop.ended is None:
        raise TerraceError(f"{path}: it contains no completed main loop; `terrace show {path}` says why")
    per_iteration: dict[int, float] = {}
    waited = 0.0
    for phase in store.phase_instances(run):
        per_iteration[phase.iteration] = per_iteration.get(phase.iteration, 0.0) + phase.ended - phase.begun
        waited += phase.waited
    moved = store.moved(run)
    iterations = [per_iteration[i] for i in sorted(per_iteration)]
    copying = figures.copying(_core.Store(str(path)).machine(run.id), run, moved)
    return Outcome(path, loop.ended - loop.begun, iterations, waited, copying, moved)


def check_follows_plan(path: Path) -> None:
    """Raises TerraceError unless the run applied the given plan from the first instruction to the last.

    Its journal then has that plan's record and no other.
    """
    store = Store(path)
    run = store.run()
    reasons = store.plan_reasons(run)
    if not run.follows_plan or len(reasons) != 1:
        raise TerraceError(
            f"{path}: the run should follow the given plan alone, but it has the planner '{run.planner}' and "
            f"{len(reasons)} plan records ({'; '.join(reasons) or 'none'}); "
            f"see `terrace show {path}`"
        )


def check_planner(path: Path, planner: str) -> None:
    """Raises TerraceError unless the planner controlled the run.

    The journal then names it and holds no given plan. It has at least one plan if the planner makes plans, else
    none.
    """
    store = Store(path)
    run = store.run()
    reasons = store.plan_reasons(run)
    if run.planner != planner or _GIVEN in reasons or bool(reasons) != (planner in _core.profiling_planners()):
        raise TerraceError(
            f"{path}: the planner '{planner}' should control the run, but it has the planner '{run.planner}' and "
            f"{len(reasons)} plan records ({'; '.join(reasons) or 'none'}); "
            f"see `terrace show {path}`"
        )


def record(
    program: Sequence[str | os.PathLike[str]],
    machines: Sequence[str],
    folder: Path,
    name: str,
    options: Sequence[str] = (),
) -> None:
    """Runs the program once and profiles it on each machine, with samples and exact counters
    (NAME.MACHINE.terrace).
    """
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
    """Runs the program once, evaluates every configuration, and returns the outcomes and the printed output.

    Raises TerraceError if the run fails, or if a configuration's journal does not match its label.
    """
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
            check_follows_plan(stores[configuration.label])
        else:
            check_planner(stores[configuration.label], configuration.planner)
    return {label: outcome(store) for label, store in stores.items()}, printed


def data_objects(store: Store, run: Run) -> dict[str, int]:
    """Returns the data objects that were live when the main loop began, with their sizes in bytes."""
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
    """Returns the bytes of the data objects live in the main loop, from a native run."""
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{name}.footprint.terrace"
    output.unlink(missing_ok=True)
    run_terrace(["run", "--quiet", "--planner", "slow-only", "--output", output, "--", *program])
    store = Store(output)
    return sum(data_objects(store, store.run()).values())
