#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what Terrace costs an MPI program: processor time of a job without Terrace, with the library that
interposes MPI alone (one kind of memory: there is nothing to place), with a plan that places nothing, and with
page references.

    bench/mpi/cost.py --terrace build/release/src/cli/terrace --mpi openmpi --pairs 20 halo:--class,A lmp
    bench/mpi/cost.py --terrace build/release/src/cli/terrace --mpi openmpi --pairs 20 --calls

A program is a workload of workloads/mpi, which is built, or a command of the system; `lmp` has an input here.
Runs are interleaved: each round executes all variants in random order. A second series without Terrace is the
control: its difference from the first is what the machine's noise makes of equal runs.

Processor time is that of all processes of the job (wait4(2)), and separately that of the ranks and of the
others: the MPI launcher, Terrace's launchers and helpers (usage_probe.c, preloaded in all variants). Ranks
that wait spin, so whatever delays one of them counts for all. `--yield` lets Open MPI's ranks yield in waits
(mpi_yield_when_idle); it is a further figure, not a replacement.

The estimate is the median of the Walsh averages of logarithms of ratios, the limit the upper end of the one-sided
95 % interval of Wilcoxon's signed-rank test (terrace.solve.paired). Where perf is installed, one more run of each
variant is sampled (cpu-clock): `own samples` is the share of samples in Terrace's libraries and processes. It
does not include what the kernel does for them in the ranks, but it does not vary with the machine's load.

`--calls` measures the time of a call (call_cost.c): of MPI_Comm_rank, and of a send to
MPI_PROC_NULL, whose phases are followed. One rank, medians of the differences of interleaved runs.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from terrace.solve.paired import Pair, gain

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SAME_NODE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
PLAIN, CONTROL, LAYER, EMPTY, PAGES = (
    "without Terrace",
    "control",
    "layer",
    "layer and empty plan",
    "page references",
)
WRONG = 0.1  # of the two-sided interval, whose upper end is the one-sided limit at 95 %
WORDS = {"lmp": ["-in", str(HERE / "melt.lmp"), "-log", "none"]}


@dataclass(frozen=True)
class Job:
    """A program on the ranks of one MPI."""

    mpi: str
    program: Path
    words: list[str]
    ranks: int
    yields: bool

    def launcher(self) -> list[str]:
        """Returns the words that start the ranks."""
        yields = ["--mca", "mpi_yield_when_idle", "1"] if self.yields else []
        more = ["--oversubscribe", *yields] if self.mpi == "openmpi" else []
        return [f"mpirun.{self.mpi}", *more, "-n", str(self.ranks)]


@dataclass
class Usage:
    """Seconds of processor time of all processes of a job, of its ranks and of all others; counts of the ranks."""

    seconds: float
    ranks: float = 0.0
    others: float = 0.0
    faults: int = 0
    switches: int = 0


def build(name: str, mpi: str, folder: Path) -> Path:
    """Builds a workload of workloads/mpi with an MPI's compiler."""
    out = folder / mpi
    flags = "-O2 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DWORKLOADS_WITHOUT_MARKERS"
    environment = {**os.environ, "CXX": f"mpicxx.{mpi}", "CXXFLAGS": flags}
    subprocess.run(
        ["sh", ROOT / "workloads" / "build.sh", out, f"mpi/{name}"],
        env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return next(path for path in (out / name, out / "mpi" / name) if path.exists())


def find(name: str, mpi: str, folder: Path) -> Path:
    """Returns a workload, or a command of the system."""
    if (ROOT / "workloads" / "mpi" / name).is_dir():
        return build(name, mpi, folder)
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name}: no workload of workloads/mpi and no command; name another")
    return Path(found)


def build_probe(folder: Path) -> Path:
    """Returns the library that writes what each process used."""
    probe = folder / "usage_probe.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", probe, HERE / "usage_probe.c"], check=True)
    return probe


def execute(words: list[str], job: Job, folder: Path) -> Usage:
    """Runs a job; returns what it used."""
    used = folder / "used"
    shutil.rmtree(used, ignore_errors=True)
    used.mkdir()
    environment = {
        **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "LD_PRELOAD": str(folder / "usage_probe.so"), "USAGE_FOLDER": str(used),
    }  # fmt: skip
    with (folder / "out").open("w") as out:
        child = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, total = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {child.returncode}:\n{(folder / 'out').read_text()[-2000:]}")
    usage = Usage(total.ru_utime + total.ru_stime)
    for file in used.iterdir():
        for line in file.read_text().splitlines():
            name, user, system, faults, waits, preemptions = line.split("\t")
            if name == job.program.name[:15]:
                usage.ranks += float(user) + float(system)
                usage.faults += int(faults)
                usage.switches += int(waits) + int(preemptions)
    usage.others = usage.seconds - usage.ranks
    return usage


def empty_plan(terrace: Path, job: Job, folder: Path) -> Path:
    """Returns a plan of the program that places nothing: made from a profile, for no fast memory."""
    profile, plan = folder / "empty.terrace", folder / "empty.toml"
    watching = ["--machine", str(SAME_NODE), "--fast", "28MiB", "--profile", "-o", str(profile)]
    execute([str(terrace), "run", *watching, "--", *job.launcher(), str(job.program), *job.words], job, folder)
    making = [terrace, "plan", profile, "--fast", "4KiB", "--planner", "slow-only", "-o", plan]
    plan.unlink(missing_ok=True)
    made = subprocess.run(making, capture_output=True, text=True, check=False)
    profile.unlink(missing_ok=True)
    if made.returncode != 0:
        sys.exit(f"{job.program.name}: no plan, so the cost of following it is not known: {made.stderr.strip()}")
    return plan


def own_samples(words: list[str], folder: Path) -> float | None:
    """Returns the share of samples of processor time in Terrace's libraries and processes; None without perf."""
    if shutil.which("perf") is None:
        return None
    data = folder / "perf.data"
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", str(data), "--", *words]
    done = subprocess.run(record, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        return None
    report = ["perf", "report", "-i", str(data), "--stdio", "--sort", "comm,dso", "-F", "sample,comm,dso"]
    text = subprocess.run(report, capture_output=True, text=True, check=False).stdout
    rows = [line.split() for line in text.splitlines() if re.match(r"\s*[0-9]", line)]
    total = sum(int(row[0]) for row in rows)
    own = sum(int(row[0]) for row in rows if row[1].startswith("terrace") or "libterrace" in row[-1])
    return own / total if total else None


def measure(terrace: Path, job: Job, pairs: int, folder: Path) -> dict[str, Any]:
    """Returns what each variant used more than a run without Terrace."""
    program = [str(job.program), *job.words]
    run = [str(terrace), "run", "--quiet", "--machine", str(SAME_NODE)]
    layer = [str(terrace), "run", "--quiet", "--", *program]
    empty = [*run, "--plan", str(empty_plan(terrace, job, folder)), "--keep-plan", "--", *program]
    pages = [*run, "--fast", "28MiB", "--", *program]
    variants = {PLAIN: program, CONTROL: program, LAYER: layer, EMPTY: empty, PAGES: pages}
    used: dict[str, list[Usage]] = {name: [] for name in variants}
    for _ in range(pairs):
        for name in random.sample(list(variants), len(variants)):
            used[name].append(execute([*job.launcher(), *variants[name]], job, folder))
    added = {}
    for name in (CONTROL, LAYER, EMPTY, PAGES):
        added[name] = {
            **{one.name: median(used[name], one.name) for one in fields(Usage)},
            **limits([one.seconds for one in used[PLAIN]], [one.seconds for one in used[name]]),
            "of_ranks": limits([one.ranks for one in used[PLAIN]], [one.ranks for one in used[name]]),
            "own_samples": None if name == CONTROL else own_samples([*job.launcher(), *variants[name]], folder),
        }
    return {
        "mpi": job.mpi, "program": job.program.name, "ranks": job.ranks, "words": job.words, "yields": job.yields,
        "plain": {one.name: median(used[PLAIN], one.name) for one in fields(Usage)}, "added": added,
    }  # fmt: skip


def call_times(terrace: Path, mpi: str, pairs: int, folder: Path) -> dict[str, Any]:
    """Returns nanoseconds of a call without Terrace, and what each variant adds."""
    program = folder / f"call_cost.{mpi}"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-o", program, HERE / "call_cost.c"], check=True)
    job = Job(mpi, program, [], 1, False)
    run = [str(terrace), "run", "--quiet"]
    plan = empty_plan(terrace, job, folder)
    watching = [*run, "--machine", str(SAME_NODE)]
    variants = {
        PLAIN: [str(program)],
        CONTROL: [str(program)],
        LAYER: [*run, "--", str(program)],
        EMPTY: [*watching, "--plan", str(plan), "--keep-plan", "--", str(program)],
        PAGES: [*watching, "--fast", "28MiB", "--", str(program)],
    }
    times: dict[str, list[list[float]]] = {name: [] for name in variants}
    for _ in range(pairs):
        for name in random.sample(list(variants), len(variants)):
            execute([*job.launcher(), *variants[name]], job, folder)
            found = next(line for line in (folder / "out").read_text().splitlines() if re.match(r"[0-9.]+ ", line))
            times[name].append([float(word) for word in found.split()[:2]])

    def medians(differences: list[list[float]]) -> dict[str, float]:
        local, send = zip(*differences, strict=True)
        return {"MPI_Comm_rank": statistics.median(local), "MPI_Send": statistics.median(send)}

    added = {
        name: medians(
            [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(found, times[PLAIN], strict=True)]
        )
        for name, found in times.items()
        if name != PLAIN
    }
    return {"mpi": mpi, "plain_ns": medians(times[PLAIN]), "added_ns": added}


def describe_calls(row: dict[str, Any]) -> str:
    """Returns a line for each variant."""

    def of(times: dict[str, float]) -> str:
        return ", ".join(f"{name} {time:.1f} ns" for name, time in times.items())

    lines = [f"{row['mpi']} calls: {of(row['plain_ns'])}"]
    lines += [f"  {name:22} adds {of(times)}" for name, times in row["added_ns"].items()]
    return "\n".join(lines)


def median(used: list[Usage], field: str) -> float:
    """Returns the median of a field."""
    return statistics.median(getattr(one, field) for one in used)


def limits(without: list[float], with_it: list[float]) -> dict[str, float | None]:
    """Returns the added share of processor time, and the one-sided limit at 95 %; None for too few pairs."""
    found = gain([Pair(*one) for one in zip(without, with_it, strict=True)], WRONG)
    return {"added": -found.share, "upper": None if found.low is None else -found.low}


def describe(row: dict[str, Any]) -> str:
    """Returns a line for each variant of a program."""

    def share(value: float | None) -> str:
        return "      -" if value is None else f"{value:+7.2%}"

    plain = row["plain"]
    lines = [
        f"{row['mpi']} {row['program']}{', yielding' if row['yields'] else ''}: {plain['seconds']:.2f} s, ranks "
        f"{plain['ranks']:.2f} s, others {plain['others']:.3f} s, {plain['faults']:.0f} faults, "
        f"{plain['switches']:.0f} switches"
    ]
    for name, one in row["added"].items():
        lines.append(
            f"  {name:22} all {share(one['added'])} (limit {share(one['upper'])})  ranks "
            f"{share(one['of_ranks']['added'])} (limit {share(one['of_ranks']['upper'])})  others "
            f"{one['others'] - plain['others']:+.3f} s  faults {one['faults'] - plain['faults']:+.0f}  switches "
            f"{one['switches'] - plain['switches']:+.0f}  own samples {share(one['own_samples'])}"
        )
    return "\n".join(lines)


def main() -> None:
    """Prints lines for each MPI, program and variant, and writes JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="workload or command, as NAME or NAME:WORD,WORD")
    parser.add_argument("--calls", action="store_true", help="measure the time of a call, too")
    parser.add_argument("--terrace", type=Path, required=True)
    parser.add_argument("--mpi", action="append", choices=["mpich", "openmpi"], required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument(
        "--yield", dest="yields", action="store_true", help="ranks yield while they wait (Open MPI)"
    )
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.yields and "mpich" in arguments.mpi:
        parser.error("--yield: MPICH has no such setting; name --mpi openmpi alone")
    if not arguments.programs and not arguments.calls:
        parser.error("name a program, or --calls")
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build_probe(folder)
        for mpi in arguments.mpi:
            if arguments.calls:
                results.append(call_times(arguments.terrace.resolve(), mpi, arguments.pairs, folder))
                print(describe_calls(results[-1]), flush=True)
            for wanted in arguments.programs:
                name_of_program, _, given = wanted.partition(":")
                words = given.split(",") if given else WORDS.get(name_of_program, ["--class", "S"])
                program = find(name_of_program, mpi, folder)
                job = Job(mpi, program, words, arguments.ranks, arguments.yields)
                results.append(measure(arguments.terrace.resolve(), job, arguments.pairs, folder))
                print(describe(results[-1]), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
