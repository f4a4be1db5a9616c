#!/usr/bin/env python3
"""Compares random accesses in virtual time with the clock, kernel by kernel, from the first cache to memory.

    c++ -std=c++20 -O2 -fno-tree-vectorize -o native bench/scatter/scatter.cpp
    terrace-c++ -std=c++20 -O2 -g -fno-tree-vectorize -o hooked bench/scatter/scatter.cpp
    terrace machine measure -o here.toml
    bench/scatter/compare.py native hooked here.toml [--runs 5] [--least 14] [--most 26]

Native times are the least of some runs, in processor time. The core time of an instruction is no property of a
machine: each kernel's virtual times are moved by one constant, so that they are right at its smallest footprint.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

Times = dict[tuple[str, int], float]  # nanoseconds an element, by kernel and logarithm of the bytes


def read(text: str) -> Times:
    """Parses the program's output."""
    rows = [line.split() for line in text.splitlines() if line]
    return {(kernel, int(bits)): float(time) for kernel, bits, time in rows}


def native(program: Path, words: list[str], runs: int) -> Times:
    """Returns the least of each kernel's times."""
    least: Times = {}
    for _ in range(runs):
        out = subprocess.run([program.absolute(), *words], capture_output=True, text=True, check=True).stdout
        for key, time in read(out).items():
            least[key] = min(time, least.get(key, time))
    return least


def virtual(program: Path, words: list[str], machine: Path) -> Times:
    """Returns the virtual times, on the one machine file."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["terrace", "simulate", "--quiet", "--planner", "slow-only", "--machine", str(machine)]
        command += ["--output", f"{folder}/x.terrace", "--", str(program.absolute()), *words]
        return read(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_table(title: str, times: Times, form: str) -> None:
    """Prints a row for each kernel, a column for each footprint."""
    columns = sorted({bits for _, bits in times})
    print(f"\n{title}\n")
    print("| kernel | " + " | ".join(f"2^{bits}" for bits in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for kernel in dict.fromkeys(kernel for kernel, _ in times):
        print(f"| {kernel} | " + " | ".join(form.format(times[kernel, bits]) for bits in columns) + " |")


def main() -> None:
    """Runs the program both ways and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("native", type=Path)
    parser.add_argument("hooked", type=Path)
    parser.add_argument("machine", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--least", default="14")
    parser.add_argument("--most", default="26")
    args = parser.parse_args()
    words = [args.least, args.most]
    clock = native(args.native, words, args.runs)
    simulated = virtual(args.hooked, words, args.machine)
    smallest = min(bits for _, bits in clock)
    errors: Times = {}
    for (kernel, bits), time in clock.items():
        moved = clock[kernel, smallest] - simulated[kernel, smallest]
        errors[kernel, bits] = 100 * ((simulated[kernel, bits] + moved) / time - 1)
    print_table("Nanoseconds an element, by the clock", clock, "{:.2f}")
    print_table("In virtual time", simulated, "{:.2f}")
    print_table("Error of virtual time, moved to be right at the smallest, %", errors, "{:+.0f}")
    beyond = [abs(error) for (_, bits), error in errors.items() if bits > smallest]
    print(f"\nMean absolute error beyond the smallest: {statistics.fmean(beyond):.0f} %")


if __name__ == "__main__":
    main()
