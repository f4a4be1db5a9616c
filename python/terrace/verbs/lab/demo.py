"""`terrace lab demo`: the main job on CG and MG, from the profile to the report, in virtual time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from terrace import _core
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import study, workloads
from terrace.lab.study import MACHINES, STUDY_CACHE, STUDY_FAST, Configuration, Outcome
from terrace.lab.workloads import CLASSES, Workload
from terrace.output import bars, console, table
from terrace.report.gather import gather
from terrace.report.page import render
from terrace.solve import figures
from terrace.solve.certificate import certificate

# Of the footprint: sizes of fast memory in the last picture, on the last machine; a quarter is there anyway.
_PICTURE_SHARES = (1 / 16, 1 / 8, 1 / 2)
_EPILOG = """\b
Example:
  terrace lab demo --output out/demo
"""


@dataclass(frozen=True)
class Row:
    """A workload on a machine at a size of fast memory; times are virtual seconds of the main loop."""

    workload: str
    machine: str
    ratio: str
    fast_bytes: int
    footprint_bytes: int
    slow_only_s: float
    managed_s: float
    live_s: float
    steady_s: float  # the later half of the live run's iterations
    steady_fast_only_s: float  # of fast-only's, the same iterations
    fast_only_s: float
    lower_bound_s: float
    gap: float  # planned over fast-only
    steady_gap: float  # steady over the same iterations of fast-only
    moves: int
    moved_bytes: int
    overlap: float | None  # None where nothing moved
    iterations: int
    verified: bool


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    app.command("demo", epilog=_EPILOG)(demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results, profiles and report.")
    ] = Path("out/demo"),
    problem_class: Annotated[str, typer.Option("--class", help="Size of CG and MG: S, W or A.")] = "W",
    source: Annotated[Path, typer.Option(help="Terrace's source tree, for the workloads.")] = Path(),
) -> None:
    """Profile, plan and run CG and MG on the machines of Unimem's study; write a table and a report."""
    begun = time.monotonic()
    if problem_class not in CLASSES:
        raise WrongCallError(f"--class {problem_class}: there are {', '.join(CLASSES)}")
    programs = workloads.of_study(workloads.read_all(source / "workloads"), "demo")
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    binaries = _build(source / "workloads" / "build.sh", [one.name for one in programs], output / "bin")
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        parts = list(pool.map(lambda w: _workload(w, binaries, output, problem_class), programs))
    rows = [row for part, _ in parts for row in part]
    report = output / "report.html"
    report.write_text(render(gather(output / "mg-live.unimem-lat4-quarter-live.terrace")), encoding="utf-8")
    seconds = time.monotonic() - begun
    document = {
        "schema": 2,
        "class": problem_class,
        "run_seconds": round(seconds, 1),
        "rows": [asdict(r) for r in rows],
    }
    (output / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    _print(rows, problem_class)
    for _, picture in parts:
        print(f"\n{picture}")
    print()
    print(f"{seconds:.0f} s; {output / 'results.json'}; report: {report}")
    if not all(row.verified for row in rows):
        raise TerraceError("a workload did not verify")


def _build(script: Path, names: Sequence[str], folder: Path) -> dict[str, Path]:
    """The programs with nothing but CXX changed."""
    compiler = Path(study.terrace_program()).with_name("terrace-c++")
    command = ["sh", str(script.resolve()), str(folder.resolve()), *names]
    done = subprocess.run(command, env={**os.environ, "CXX": str(compiler)}, capture_output=True, text=True)
    if done.returncode != 0:
        raise TerraceError(f"building the workloads failed: {done.stderr.strip().splitlines()[-1]}")
    return {name: folder / name for name in names}


def _workload(
    workload: Workload, binaries: dict[str, Path], folder: Path, problem_class: str
) -> tuple[list[Row], str]:
    """The table's rows, and the picture of time over fast memory."""
    binary = str(binaries[workload.name])
    program = [binary, *workload.words(problem_class)]
    footprint = study.footprint(program, folder, workload.name)
    scale = footprint / workload.study.footprint
    caches = ["--cache", f"l3={int(STUDY_CACHE * scale)}"]
    sizes = {"study": int(STUDY_FAST * scale), "quarter": footprint // 4}
    # An earlier run of the official length, profiled on each machine: plans are made from it.
    stores = {m: folder / f"{workload.name}-record.{m}.terrace" for m in MACHINES}
    study.record(program, list(MACHINES), folder, f"{workload.name}-record", caches)
    configurations = []
    bounds: dict[tuple[str, str], float] = {}
    for machine in MACHINES:
        configurations += [
            Configuration(f"{machine}-slow", machine, "slow-only"),
            Configuration(f"{machine}-fast", machine, "fast-only"),
        ]
        for ratio, fast in sizes.items():
            label = f"{machine}-{ratio}"
            configurations.append(Configuration(f"{label}-live", machine, "auto", fast))
            plan = folder / f"{workload.name}-{label}.toml"
            made = _plan(stores[machine], fast)
            made.write(str(plan))
            configurations.append(Configuration(f"{label}-planned", machine, plan=plan))
            if made.moves:
                configurations.append(Configuration(f"{label}-free", machine, plan=plan, free_moves=True))
            bounds[machine, ratio] = certificate(stores[machine], fast).shortest
    shares = {share: f"{MACHINES[-1]}-share{number}" for number, share in enumerate(_PICTURE_SHARES)}
    for share, label in shares.items():
        configurations.append(Configuration(label, MACHINES[-1], "auto", int(footprint * share)))
    shares = dict(sorted({**shares, 1 / 4: f"{MACHINES[-1]}-quarter-live"}.items()))
    long = [binary, *workload.study.words[problem_class]]
    outcomes, printed = study.simulate(long, configurations, folder, f"{workload.name}-live", caches)
    verified = workload.verified(printed)
    rows = [
        _row(workload, machine, ratio, fast, footprint, outcomes, bounds[machine, ratio], verified)
        for machine in MACHINES
        for ratio, fast in sizes.items()
    ]
    picture = bars(
        f"{workload.name}.{problem_class} on {MACHINES[-1]}: the main loop's time over the share of the data that "
        "fast memory holds, placed live",
        [
            ("slow-only", outcomes[f"{MACHINES[-1]}-slow"].loop),
            *((f"{share:.0%}", outcomes[label].loop) for share, label in shares.items()),
            ("fast-only", outcomes[f"{MACHINES[-1]}-fast"].loop),
        ],
    )
    return rows, picture


def _plan(store: Path, fast: int) -> _core.Plan:
    """The plan of the default planner from a recorded profile."""
    kept = _core.Store(str(store))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    problem = _core.Problem(kept.profile(run), machine, machine.fast_budget(fast))
    return _core.plan(problem, "auto", kept.calibration(run))


def _row(
    workload: Workload,
    machine: str,
    ratio: str,
    fast: int,
    footprint: int,
    outcomes: dict[str, Outcome],
    bound: float,
    verified: bool,
) -> Row:
    label = f"{machine}-{ratio}"
    slow, best = outcomes[f"{machine}-slow"], outcomes[f"{machine}-fast"]
    live, planned = outcomes[f"{label}-live"], outcomes[f"{label}-planned"]
    free = outcomes.get(f"{label}-free", planned)

    def held(column: str, seconds: float, iterations: Sequence[float]) -> float:
        cell = f"{workload.name} on {machine}, {ratio}, {column}"
        return figures.hold_bound(cell, bound * len(iterations), seconds)

    return Row(
        workload=workload.name, machine=machine, ratio=ratio, fast_bytes=fast, footprint_bytes=footprint,
        slow_only_s=held("slow-only", slow.loop, slow.iterations),
        managed_s=held("planned", planned.loop, planned.iterations),
        live_s=held("live", live.loop, live.iterations),
        steady_s=held("steady", live.steady, figures.later_half(live.iterations)),
        steady_fast_only_s=best.steady, fast_only_s=best.loop,
        lower_bound_s=bound * len(planned.iterations), gap=planned.loop / best.loop - 1,
        steady_gap=live.steady / best.steady - 1, moves=planned.moves, moved_bytes=planned.moved_bytes,
        overlap=figures.overlap(planned.loop, free.loop, planned.copying),
        iterations=len(planned.iterations), verified=verified,
    )  # fmt: skip


def _print(rows: list[Row], problem_class: str) -> None:
    header = ["workload", "machine", "fast memory", "slow-only", "live", "planned", "fast-only", "bound",
              "planned gap", "steady gap", "moves", "overlap"]  # fmt: skip
    lines = [
        [
            f"{row.workload}.{problem_class}", row.machine,
            f"{row.fast_bytes / 1e6:.1f} MB ({row.fast_bytes / row.footprint_bytes:.0%}, {row.ratio})",
            *(f"{value * 1e3:.1f} ms" for value in
              (row.slow_only_s, row.live_s, row.managed_s, row.fast_only_s, row.lower_bound_s)),
            f"{row.gap:+.1%}", f"{row.steady_gap:+.1%}", str(row.moves),
            "" if row.overlap is None else f"{row.overlap:.0%}",
        ]
        for row in rows
    ]  # fmt: skip
    shown = table(*header, left=(0, 1, 2))
    for line in lines:
        shown.add_row(*line)
    console().print(shown)
    for machine, published in (("unimem-bw2", "18 %"), ("unimem-lat4", "47 %")):
        ours = [r.slow_only_s / r.fast_only_s - 1 for r in rows if r.machine == machine and r.ratio == "study"]
        print(
            f"{machine}: slow-only is {sum(ours) / len(ours):.0%} slower on average; "
            f"the paper's codes, class C: {published}"
        )
