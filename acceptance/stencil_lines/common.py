"""Stencil programs as processes: what they print, and the figures of this machine beside them."""

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
    """Whether this call asks for smaller problems."""
    return bool(getattr(SETTINGS, "small", False))


def reduced(text: str) -> str:
    """A line's text: of a small call it begins with what is smaller than promised."""
    return f"[small] {text}" if is_small() else text


def data_folder() -> Path:
    """Where files of datasets lie."""
    return Path(getattr(SETTINGS, "data", "/var/tmp"))


@dataclass(frozen=True)
class Ran:
    """What a program printed."""

    status: int
    document: Mapping[str, Any]

    def number(self, key: str) -> float:
        """Of the statistics."""
        return float(self.document[key])

    @property
    def seconds(self) -> float:
        """In which chains ran."""
        return float(self.document["chain_seconds"])

    def value(self, name: str) -> float:
        """A result."""
        return float(self.document["results"][name]["value"])

    def holds(self, name: str) -> bool:
        """Whether a result is as expected."""
        return bool(self.document["results"][name].get("holds", False))


def command(program: str, arguments: Mapping[str, object], ranks: int = 1) -> list[str]:
    """What a shell would be given."""
    words = [program, *(f"{name}={value}" for name, value in arguments.items())]
    if ranks == 1:
        return [str(ALONE), *words]
    if not RANKS.exists():
        raise Unavailable("no MPI: terrace-stencils-mpi was not built")
    return ["mpirun.mpich", "-n", str(ranks), str(RANKS), *words]


def environment(**options: object) -> dict[str, str]:
    """Options of a context."""
    words = ",".join(f"{name}={value}" for name, value in options.items())
    return {**os.environ, "TERRACE_STENCIL": words, "UCX_MEM_MMAP_HOOK_MODE": "none"}


def stencil(program: str, arguments: Mapping[str, object], ranks: int = 1, **options: object) -> Ran:
    """Runs it; what is not as expected is in the document. Raises RuntimeError where it prints none."""
    words = command(program, arguments, ranks)
    done = run(words, check=False, env=environment(**options), timeout=7200)
    try:
        document = json.loads(done.stdout)
    except ValueError as error:
        tail = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise RuntimeError(f"{' '.join(words[-4:])} ended with {done.returncode}: {' | '.join(tail)}") from error
    return Ran(done.returncode, document)


def needs(program: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    """What its chains have to read and to write, by chain, and the bytes of all datasets. No kernel runs."""
    done = run(command(program, {**arguments, "needs": 1}), timeout=1800)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
