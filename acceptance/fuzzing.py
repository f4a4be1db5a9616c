"""Builds the fuzzers of tests/fuzz with clang and runs them; used by the criteria of several acceptance programs.

A criterion holds if each fuzzer ran for the promised time and found no crash.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, SETTINGS, Measured, Unavailable, run

GOAL_SECONDS = 600
SEED = 1
BUILD = ROOT / "build" / "fuzz"


@dataclass(frozen=True)
class FuzzResult:
    """Statistics of one fuzzer's run."""

    name: str
    status: int
    executions: int
    covered: int
    seconds: int
    crashes: int
    last: str


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds --fuzz-seconds to an acceptance program's options."""
    parser.add_argument(
        "--fuzz-seconds",
        type=int,
        default=GOAL_SECONDS,
        metavar="N",
        help=f"for each fuzzer ({GOAL_SECONDS}); with fewer the criterion cannot hold",
    )


def build_fuzzers(names: Sequence[str]) -> Path:
    """Builds the fuzzers with clang, as described in tests/fuzz/CMakeLists.txt; returns their folder."""
    if shutil.which("clang++") is None:
        raise Unavailable("no clang++, and gcc has no libFuzzer")
    clang = ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]
    options = ["-DTERRACE_WORKLOADS=OFF", "-DTERRACE_FUZZ=ON", "-DTERRACE_SANITIZE=fuzzer-no-link,address"]
    run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *clang, *options])
    run(["ninja", "-C", BUILD, *names], timeout=3600)
    return BUILD / "tests" / "fuzz"


def write_corpus(folder: Path, seeds: Sequence[bytes]) -> None:
    """Writes the seeds as the initial corpus of the fuzzer that runs in the folder."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(seed)


def fuzz(binaries: Path, folder: Path, options: Mapping[str, Sequence[str | Path]]) -> Measured:
    """Runs the fuzzers for --fuzz-seconds, as many concurrently as there are cores.

    `options` has the further words of each fuzzer by name: options of libFuzzer, and folders with seeds. The
    corpus of a fuzzer NAME is folder/NAME/corpus, and its crashes are next to it.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(_fuzz, binaries / name, folder / name, words) for name, words in options.items()]
        return _judge([one.result() for one in runs])


def _fuzz(binary: Path, folder: Path, words: Sequence[str | Path]) -> FuzzResult:
    seconds = SETTINGS.fuzz_seconds
    limits = [f"-max_total_time={seconds}", f"-seed={SEED}", "-print_final_stats=1"]
    with (folder / "log").open("w") as log:
        done = subprocess.run(
            [binary, *limits, f"-artifact_prefix={folder}/found-", folder / "corpus", *words],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            timeout=seconds + 300,
        )
    return _read_log(binary.name, done.returncode, folder)


def _read_log(name: str, status: int, folder: Path) -> FuzzResult:
    text = (folder / "log").read_text(errors="replace")
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    done = re.search(r"Done \d+ runs in (\d+) second", text)
    covered = re.findall(r" cov: (\d+) ", text)
    return FuzzResult(
        name=name,
        status=status,
        executions=int(executions[1]) if executions else 0,
        covered=int(covered[-1]) if covered else 0,
        seconds=int(done[1]) if done else 0,
        crashes=len(list(folder.glob("found-*"))),
        last=next((line for line in text.splitlines() if "ERROR" in line or "deadly" in line), ""),
    )


def _judge(results: Sequence[FuzzResult]) -> Measured:
    lines = [
        f"{one.name}: {one.executions} inputs in {one.seconds} s, {one.covered} points reached, "
        f"{one.crashes} crashes" + (f", status {one.status}: {one.last}" if one.status else "")
        for one in results
    ]
    holds = all(
        one.status == 0 and one.crashes == 0 and one.executions > 0 and one.seconds >= GOAL_SECONDS
        for one in results
    )
    return Measured("\n".join(lines), holds)
