"""Builds a tree for each program and way, by the native compilers or by the wrappers; nothing else differs.
`scripts/others build` and the criteria on public programs call it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from others_tool.fetch import archive
from others_tool.recipe import Recipe, Run

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = ROOT / ".venv" / "bin"
WORK = ROOT / "out" / "others"
WAYS = ("native", "hooked")
LONGEST = 1800.0  # seconds
_COMPILERS = {
    "native": {"CC": "gcc", "CXX": "g++", "FC": "gfortran"},
    "hooked": {name: str(BIN / f"terrace-{of}") for name, of in (("CC", "cc"), ("CXX", "c++"), ("FC", "fc"))},
}
_FLAGS = "-O2 -g"


class NotBuilt(Exception):
    """The text says which program, which way, and the compiler's first error."""


@dataclass(frozen=True)
class BuildTree:
    """One way's tree."""

    source: Path
    program: Path
    seconds: float  # that the build took

    def of(self, run: Run) -> Path:
        """Returns the binary for a size: the run's own, or else the recipe's."""
        return self.source / run.program if run.program else self.program


_ALONE: dict[str, threading.Lock] = {}  # by recipe


def build(recipe: Recipe, way: str, work: Path) -> BuildTree:
    """Builds it, unless that was done with this recipe and these wrappers. Raises NoArchive, NotBuilt.

    Thread-safe."""
    with _ALONE.setdefault(recipe.name, threading.Lock()):
        return _build(recipe, way, work)


def _build(recipe: Recipe, way: str, work: Path) -> BuildTree:
    """Unpacks and builds a program in one way, unless its tree is there and made of the same recipe."""
    folder = work / "trees" / recipe.name / way
    stamp, source = folder / "built.json", folder / "source"
    made_of = _made_of(recipe, way)
    before = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    if before.get("made_of") == made_of:
        return BuildTree(source, source / recipe.program, before["seconds"])
    packed = archive(recipe.source, work / "archives")
    shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    subprocess.run(["tar", "xf", packed, "-C", source, "--strip-components=1"], check=True)
    begun, log = time.monotonic(), folder / "log"
    with log.open("w") as output:
        done = subprocess.run(
            ["sh", "-ec", recipe.build],
            cwd=source,
            env=environment(way),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
        )
    seconds = round(time.monotonic() - begun, 1)
    wanted = {recipe.program, *(run.program for run in recipe.runs.values() if run.program)}
    if done.returncode != 0 or not all((source / name).exists() for name in wanted):
        raise NotBuilt(f"{recipe.name}, {way}: {_first_error(log)}; all of it: {log}")
    stamp.write_text(json.dumps({"made_of": made_of, "seconds": seconds}) + "\n", encoding="utf-8")
    return BuildTree(source, source / recipe.program, seconds)


def environment(way: str) -> Mapping[str, str]:
    """Returns the environment of a build."""
    flags = dict.fromkeys(("CFLAGS", "CXXFLAGS", "FFLAGS", "FCFLAGS"), _FLAGS)
    compilers = _COMPILERS[way]
    return {**os.environ, **flags, **compilers, "F77": compilers["FC"], "JOBS": str(os.cpu_count() or 1)}


def _made_of(recipe: Recipe, way: str) -> str:
    """Returns the hash of all inputs of a build."""
    about = hashlib.sha256(
        "\n".join([recipe.source.sha256 or recipe.source.version, recipe.build, _FLAGS]).encode()
    )
    if way == "hooked":
        stand_ins = sorted(
            path for path in (BIN.parent / "lib" / "terrace" / "stand-ins").rglob("*") if path.is_file()
        )
        for path in [*(Path(_COMPILERS[way][name]) for name in ("CC", "CXX", "FC")), *stand_ins]:
            about.update(path.read_bytes())
    return about.hexdigest()


def _first_error(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() or ["nothing was said"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])[:200]
