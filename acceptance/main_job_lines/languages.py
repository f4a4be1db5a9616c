"""Builds programs of several files and languages by their own Makefiles, with nothing but the compiler's name
changed. A criterion of acceptance/main-job."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, fresh, run
from terrace import _core
from terrace.lab import study
from terrace.solve.certificate import certificate
from terrace.solve.figures import check_bound
from terrace.store.reader import Store

from main_job_lines.common import BIN

PROGRAMS = ROOT / "tests" / "integration" / "programs"
SIMULATE = ["--quiet", "--machine", "unimem-lat4", "--cache", "l3=256KiB"]


@dataclass(frozen=True)
class Program:
    """A folder of tests/integration/programs, the one variable that changes, and what must come out."""

    language: str
    folder: str
    name: str
    variable: str
    compiler: str
    phases: str  # names of the functions that the main loop calls
    objects: tuple[str, ...]  # beginnings of the names that its data must have
    fast: str


PROGRAMS_OF_LANGUAGES = (
    Program("C", "c", "heat", "CC", "terrace-cc", "heat_cells,record_history,exchange_boundary",
            ("new_temperature cells.c:", "new_history cells.c:", "conductivity", "boundary"), "1MiB"),
    Program("C++", "cxx", "particles", "CXX", "terrace-c++",
            "Particles::push,Particles::deposit,Particles::record",
            ("Particles::Particles particles.cpp:", "Cells::add cells.cpp:"), "512KiB"),
    Program("Fortran 77", "fortran", "fields", "FC", "terrace-fc", "sweep,mix,tally,profile",
            ("fields_.a", "fields_.b", "fields_.c", "tally.counts", "profile profile.f90:"), "1MiB"),
)  # fmt: skip


def build(folder: str, into: Path, *variables: str) -> Path:
    """Builds a copy of a program's folder."""
    copy = into / folder
    shutil.copytree(PROGRAMS / folder, copy)
    run(["make", "-s", "-C", copy, *variables])
    return copy


def language(program: Program) -> tuple[str, bool]:
    """Builds and records a program, plans for it, and runs it by the plan."""
    folder = fresh(f"language-{program.folder}")
    plain = build(program.folder, folder / "plain") / program.name
    hooked = (
        build(program.folder, folder / "hooked", f"{program.variable}={BIN / program.compiler}") / program.name
    )
    files = len([one for one in (PROGRAMS / program.folder).iterdir() if one.suffix[1:2] in ("c", "f")])
    native = run([plain]).stdout
    profile, plan, placed = (folder / name for name in ("profile.terrace", "plan.toml", "placed.terrace"))
    phases = ["--phases", program.phases]
    recorded = run([TERRACE, "record", "--exact", *SIMULATE, *phases, "-o", profile, "--", hooked]).stdout
    run([TERRACE, "plan", profile, "--fast", program.fast, "-o", plan])
    obeyed = run(
        [
            TERRACE,
            "simulate",
            *SIMULATE,
            *phases,
            "--plan",
            plan,
            "--fast",
            program.fast,
            "-o",
            placed,
            "--",
            hooked,
        ]
    ).stdout
    study.check_follows_plan(placed)
    names = [one.name for one in Store(profile).objects(Store(profile).run())]
    missing = [start for start in program.objects if not any(name.startswith(start) for name in names)]
    text = tomllib.loads(plan.read_text())
    wanted = {
        one["name"] for one in text["object"] if one.get("place") == "dram" or "dram" in one.get("parts", {})
    }
    wanted |= {move["object"] for move in text.get("move", []) if move["to"] == "dram"}
    named = sorted(name for name in wanted if name.startswith(program.objects))
    before, after = study.outcome(profile), study.outcome(placed)
    bound = certificate(profile, int(_core.parse_size(program.fast))).loop
    for what, found in (("recorded", before), ("placed", after)):
        check_bound(f"{program.language}, {what}", bound, found.loop)
    same = native == recorded == obeyed == run([hooked]).stdout
    holds = not missing and bool(named) and same and after.loop < before.loop
    return (
        f"{program.language}, {files} files, {program.variable}={program.compiler}: "
        f"{len(program.objects) - len(missing)} of {len(program.objects)} objects named"
        + (f" (not {', '.join(missing)})" if missing else "")
        + f"; plan puts {', '.join(named) or 'nothing'} into {program.fast} of fast memory, the loop goes from "
        f"{before.loop * 1e3:.3g} ms to {after.loop * 1e3:.3g} ms; output {'the same' if same else 'DIFFERENT'}",
        holds,
    )


def languages() -> Measured:
    results = [language(program) for program in PROGRAMS_OF_LANGUAGES]
    return Measured("\n".join(text for text, _ in results), all(holds for _, holds in results))


CRITERIA = [
    Criterion(
        "a C, a C++ and a Fortran 77 program",
        "of several files, built with nothing but CC=/CXX=/FC= changed: named objects, also in COMMON, and a plan",
        languages,
    ),
]
