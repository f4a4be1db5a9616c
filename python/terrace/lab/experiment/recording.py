# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of cells on first use, and keeps them: programs, recordings, profiles. measure.py reads them to
answer a cell.

A program runs once for each cache configuration; everything else is a replay. Files are written under a temporary
name and renamed, so that several runs may share a folder: a run makes the recordings that it needs and misses, and
concurrent runs make identical ones.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.lab import study
from terrace.lab.experiment.cells import document, write_whole
from terrace.lab.workloads import Workload, read
from terrace.solve.linear import WORK

# Machines with equal caches share one recording.
_UNIMEM = "unimem-bw2"
_SHARED = {"unimem": _UNIMEM, "ddr5": "ddr5-nvme"}
_SECOND_TO_LAST = 4  # minimum ratio of consecutive cache sizes


@dataclass(frozen=True)
class Place:
    """Folders of an experiment, and parameters of its programs."""

    folder: Path
    source: Path  # Terrace's source tree
    problem_class: str
    cache: str = ""  # class C: size of the last cache
    work: float = WORK  # solver limit for each bound: nonzeros x iterations (linear.prices)

    def workload(self, name: str) -> Workload:
        """Returns the workload from its manifest."""
        return read(self.source / "workloads" / name)

    def program(self, name: str) -> Path:
        """Returns the path of a workload's instrumented binary."""
        return self.folder / "bin" / name

    def misses(self, name: str, machine: str) -> Path:
        """Returns the path of its recording for the machine's caches."""
        return self.folder / "recordings" / f"{name}.{shape(machine)}.misses"

    def facts(self, name: str, machine: str) -> Path:
        """Returns the path of the recording's metadata."""
        return self.misses(name, machine).with_suffix(".json")

    def profile(self, name: str, machine: str) -> Path:
        """Returns the path of its profile on the machine, with samples and exact counters."""
        return self.folder / "profiles" / f"{name}.{uncopied(machine)}.terrace"


@dataclass(frozen=True)
class Recording:
    """A recorded program."""

    misses: Path
    footprint: int
    options: tuple[str, ...]  # for every replay: the recorded caches, and the cores


def uncopied(machine: str) -> str:
    """Returns the machine without its copier suffix, on which recordings and profiles do not depend."""
    return machine.partition("@")[0]


def shape(machine: str) -> str:
    """Returns the machine whose recording serves this one."""
    machine = uncopied(machine)
    return _SHARED.get(machine.partition("-")[0], machine)


def build(place: Place, names: Sequence[str]) -> None:
    """Builds the missing workloads, changing nothing but CXX."""
    missing = [name for name in names if not place.program(name).exists()]
    if not missing:
        return
    scratch = place.folder / f"bin.{os.getpid()}"

    def one(name: str) -> None:
        built = study.build(place.source, name, scratch / name)
        place.program(name).parent.mkdir(parents=True, exist_ok=True)
        built.replace(place.program(name))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, missing))
    shutil.rmtree(scratch)


def record(place: Place, name: str, machine: str) -> None:
    """Runs the program once: records its misses, and its profile on the machine of that cache configuration."""
    machine = shape(machine)
    if place.facts(name, machine).exists():
        return
    workload = place.workload(name)
    command = [str(place.program(name)), *_words(workload, place.problem_class)]
    scratch = place.folder / "scratch" / f"record.{name}.{machine}.{os.getpid()}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    footprint = study.footprint(command, scratch, name)
    options = ["--cache", f"l3={place.cache}"] if place.cache else _options(workload, machine, footprint)
    misses, store = scratch / "misses", scratch / "record.terrace"
    words: list[str | Path] = ["record", "--exact", "--quiet", "--machine", machine, *options]
    study.run_terrace([*words, "--misses", misses, "--output", store, "--", *command])
    for made, kept in ((store, place.profile(name, machine)), (misses, place.misses(name, machine))):
        kept.parent.mkdir(parents=True, exist_ok=True)
        made.replace(kept)
    facts = {"workload": name, "command": command[1:], "footprint_bytes": footprint, "options": options}
    write_whole(place.facts(name, machine), document(facts))
    shutil.rmtree(scratch)


def _words(workload: Workload, problem_class: str) -> tuple[str, ...]:
    """Returns the program's arguments in the study, or those of a size that is not a class."""
    words = workload.study.words.get(problem_class)
    return words if words is not None else tuple(workload.words(problem_class))


def recording(place: Place, name: str, machine: str) -> Recording:
    """Returns the recording made by `record`."""
    facts = json.loads(place.facts(name, machine).read_text(encoding="utf-8"))
    return Recording(place.misses(name, machine), facts["footprint_bytes"], tuple(facts["options"]))


def profile(place: Place, name: str, machine: str) -> None:
    """Makes the recording's profile on a machine."""
    machine = uncopied(machine)
    kept = place.profile(name, machine)
    if kept.exists():
        return
    made = place.folder / "scratch" / f"profile.{name}.{machine}.{os.getpid()}.terrace"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    of = recording(place, name, machine)
    words: list[str | Path] = [
        "replay",
        of.misses,
        "--quiet",
        "--profile",
        "--exact",
        "--machine",
        machine,
        *of.options,
    ]
    study.run_terrace([*words, "--output", made])
    kept.parent.mkdir(parents=True, exist_ok=True)
    made.replace(kept)


def _options(workload: Workload, machine: str, footprint: int) -> list[str]:
    """Returns cache options: the last cache, with the shares of all cores, in class C's ratio to the footprint.

    The caches before it keep their sizes, but have at most a quarter of the next. Uses all cores if the study did.
    """
    initiator = tomllib.loads(_core.Machine.read(machine).to_toml())["initiator"][0]
    caches = initiator["cache"]
    last = study.STUDY_CACHE
    if shape(machine) != _UNIMEM:
        shares = 1 if caches[-1]["shared"] else initiator["cores"]
        last = _core.parse_size(caches[-1]["size"]) * shares
    size = last * footprint / workload.study.footprint
    options: list[str] = []
    for cache in reversed(caches):
        if cache is not caches[-1]:
            size = min(_core.parse_size(cache["size"]), size / _SECOND_TO_LAST)
        options += ["--cache", f"{cache['name']}={int(size)}"]
    return options if shape(machine) == _UNIMEM else [*options, "--cores", "all"]
