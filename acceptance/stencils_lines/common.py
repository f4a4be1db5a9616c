"""Runs stencil programs as processes and parses their output, for the criteria of acceptance/stencils."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, Unavailable, run

PROGRAMS = ROOT / "build" / "release" / "workloads" / "stencils"
ALONE, RANKS = PROGRAMS / "terrace-stencils", PROGRAMS / "terrace-stencils-mpi"


def is_small() -> bool:
    """Returns whether this call asks for smaller problems."""
    return bool(getattr(SETTINGS, "small", False))


def reduced(text: str) -> str:
    """Marks a criterion's text if the call asks for smaller problems than the goal."""
    return f"[small] {text}" if is_small() else text


def data_folder() -> Path:
    """Returns the folder of datasets' files."""
    return Path(getattr(SETTINGS, "data", "/var/tmp"))


@dataclass(frozen=True)
class RunResult:
    """Status and output of a program."""

    status: int
    document: Mapping[str, Any]

    def number(self, key: str) -> float:
        """Returns a number of the statistics."""
        return float(self.document[key])

    @property
    def seconds(self) -> float:
        """Returns the seconds in which chains ran."""
        return float(self.document["chain_seconds"])

    def value(self, name: str) -> float:
        """Returns the value of a result."""
        return float(self.document["results"][name]["value"])

    def holds(self, name: str) -> bool:
        """Returns whether a result is as expected."""
        return bool(self.document["results"][name].get("holds", False))


def command(program: str, arguments: Mapping[str, object], ranks: int = 1) -> list[str]:
    """Returns the command line that runs a stencil program."""
    words = [program, *(f"{name}={value}" for name, value in arguments.items())]
    if ranks == 1:
        return [str(ALONE), *words]
    if not RANKS.exists():
        raise Unavailable("terrace-stencils-mpi was not built: install MPI, and run make build")
    return ["mpirun.mpich", "-n", str(ranks), str(RANKS), *words]


def environment(**options: object) -> dict[str, str]:
    """Returns an environment with the options of a context."""
    words = ",".join(f"{name}={value}" for name, value in options.items())
    return {**os.environ, "TERRACE_STENCIL": words, "UCX_MEM_MMAP_HOOK_MODE": "none"}


def stencil(program: str, arguments: Mapping[str, object], ranks: int = 1, **options: object) -> RunResult:
    """Runs a program; its document names unexpected results. Raises RuntimeError if it prints none."""
    words = command(program, arguments, ranks)
    done = run(words, check=False, env=environment(**options), timeout=7200)
    try:
        document = json.loads(done.stdout)
    except ValueError as error:
        tail = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise RuntimeError(f"{' '.join(words[-4:])} ended with {done.returncode}: {' | '.join(tail)}") from error
    return RunResult(done.returncode, document)


def needs(program: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Returns the bytes that each chain has to read and to write, and those of all datasets. No kernel runs."""
    done = run(command(program, {**arguments, "needs": 1}), timeout=1800)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
