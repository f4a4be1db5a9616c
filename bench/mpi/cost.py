#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what Terrace costs an MPI program: processor time of a job without Terrace, with the library that
interposes MPI alone (one kind of memory: there is nothing to place), with a plan that places nothing, and with
page references.

    bench/mpi/cost.py --terrace build/release/src/cli/terrace --mpi mpich --mpi openmpi --pairs 20 halo cg

Runs are interleaved: each round executes all variants in random order. A second series without Terrace is the
control: its difference from the first is what the machine's noise makes of equal runs. Processor time counts all
processes of the job, launchers included. The limit is the upper end of the one-sided 95 % interval of the mean
ratio (Student's t of its logarithm).
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAME_NODE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
PLAIN, CONTROL, LAYER, EMPTY, PAGES = (
    "without Terrace",
    "control",
    "layer",
    "layer and empty plan",
    "page references",
)


@dataclass(frozen=True)
class Job:
    """A program on the ranks of one MPI."""

    mpi: str
    program: Path
    words: list[str]
    ranks: int

    def launcher(self) -> list[str]:
        """Returns the words that start the ranks."""
        more = ["--oversubscribe"] if self.mpi == "openmpi" else []
        return [f"mpirun.{self.mpi}", *more, "-n", str(self.ranks)]


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


def processor_seconds(words: list[str], folder: Path) -> float:
    """Runs a command; returns the processor time of it and of all its descendants."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with (folder / "out").open("w") as out:
        child = subprocess.Popen(
            words, cwd=folder, env={**os.environ, **root}, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {child.returncode}:\n{(folder / 'out').read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def empty_plan(terrace: Path, job: Job, folder: Path) -> Path:
    """Returns a plan of the program that places nothing: made from a profile, for no fast memory."""
    profile, plan = folder / "empty.terrace", folder / "empty.toml"
    watching = ["--machine", str(SAME_NODE), "--fast", "28MiB", "--profile", "-o", str(profile)]
    processor_seconds(
        [str(terrace), "run", *watching, "--", *job.launcher(), str(job.program), *job.words], folder
    )
    subprocess.run(
        [terrace, "plan", profile, "--fast", "4KiB", "--planner", "slow-only", "-o", plan],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return plan


def measure(terrace: Path, job: Job, pairs: int, folder: Path) -> dict[str, Any]:
    """Returns the ratios of processor times to those without Terrace, by variant."""
    program = [str(job.program), *job.words]
    run = [str(terrace), "run", "--quiet", "--machine", str(SAME_NODE)]
    layer = [str(terrace), "run", "--quiet", "--", *program]
    empty = [*run, "--plan", str(empty_plan(terrace, job, folder)), "--keep-plan", "--", *program]
    pages = [*run, "--fast", "28MiB", "--", *program]
    variants = {PLAIN: program, CONTROL: program, LAYER: layer, EMPTY: empty, PAGES: pages}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(pairs):
        for name in random.sample(list(variants), len(variants)):
            times[name].append(processor_seconds([*job.launcher(), *variants[name]], folder))
    result: dict[str, Any] = {
        "mpi": job.mpi,
        "program": job.program.name,
        "ranks": job.ranks,
        "words": job.words,
    }
    result["seconds"] = statistics.median(times[PLAIN])
    result["added"] = {
        name: summary([one / plain for one, plain in zip(times[name], times[PLAIN], strict=True)])
        for name in (CONTROL, LAYER, EMPTY, PAGES)
    }
    return result


def summary(ratios: list[float]) -> dict[str, float]:
    """Returns median, mean and the upper limit of the mean, as added shares."""
    from scipy.special import stdtrit  # late import: slow

    logs = [math.log(one) for one in ratios]
    mean, count = statistics.mean(logs), len(logs)
    error = statistics.stdev(logs) / math.sqrt(count) if count > 1 else math.inf
    upper = mean + error * float(stdtrit(count - 1, 0.95)) if count > 1 else math.inf
    return {"median": statistics.median(ratios) - 1, "mean": math.expm1(mean), "upper": math.expm1(upper)}


def main() -> None:
    """Prints a line for each MPI, program and variant, and writes JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", help="workloads of workloads/mpi, as NAME or NAME:WORD,WORD")
    parser.add_argument("--terrace", type=Path, required=True)
    parser.add_argument("--mpi", action="append", choices=["mpich", "openmpi"], required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for mpi in arguments.mpi:
            for wanted in arguments.programs:
                name_of_program, _, words = wanted.partition(":")
                built = build(name_of_program, mpi, folder)
                job = Job(mpi, built, words.split(",") if words else ["--class", "S"], arguments.ranks)
                result = measure(arguments.terrace.resolve(), job, arguments.pairs, folder)
                results.append(result)
                for variant, one in result["added"].items():
                    figures = f"median {one['median']:+7.2%}  mean {one['mean']:+7.2%}  limit {one['upper']:+7.2%}"
                    print(
                        f"{mpi:8} {name_of_program:6} {variant:22} {figures} of {result['seconds']:.2f} s",
                        flush=True,
                    )
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
