# SPDX-License-Identifier: Apache-2.0
"""Reads the kernel's account of the pages of ranks, as tests/support/uneven_ranks.c writes it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FAST_NODE = 2
PAGE = 4096


@dataclass
class Sample:
    """The kernel's account of a rank's arrays at the end of a sweep. Times in s of CLOCK_MONOTONIC."""

    begin: float
    end: float
    runs: list[tuple[int, int, int]]  # first address, one past the last, node

    def nodes(self, low: int, high: int) -> Counter[int]:
        """Returns the pages of [low, high), by node."""
        found: Counter[int] = Counter()
        for first, last, node in self.runs[max(bisect_right(self.runs, (low, 0, 0)) - 1, 0) :]:
            if first >= high:
                break
            if node >= 0:  # else the page is on its way, or absent
                found[node] += max((min(last, high) - max(first, low)) // PAGE, 0)
        return +found

    def fast_bytes(self) -> int:
        return sum(last - first for first, last, node in self.runs if node == FAST_NODE)


@dataclass
class Report:
    """The output of a rank."""

    monotonic: float
    real: float
    samples: list[Sample] = field(default_factory=list)
    killed: float | None = None


def read_report(path: Path) -> Report:
    """Reads the output of uneven_ranks.c."""
    report = Report(0, 0)
    runs: list[tuple[int, int, int]] = []
    for line in path.read_text().splitlines():
        word, *rest = line.split()
        if word == "clock":
            report.monotonic, report.real = int(rest[0]) * 1e-9, int(rest[1]) * 1e-9
        elif word == "pages":
            first = int(rest[0], 16)
            runs.append((first, first + int(rest[1], 16) * PAGE, int(rest[2])))
        elif word == "phase":
            report.samples.append(Sample(int(rest[2]) * 1e-9, int(rest[3]) * 1e-9, sorted(runs)))
            runs = []
        elif word == "killed":
            report.killed = int(rest[0]) * 1e-9
    return report
