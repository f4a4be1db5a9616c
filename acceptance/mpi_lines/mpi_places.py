# SPDX-License-Identifier: Apache-2.0
"""Reads the reports of tests/support/mpi_places.c, and compares the node of each page with what was requested: the
rank's own objects on one node, everything else on the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from mpi_lines.mpi_formulas import OBJECTS, PAGE, Shared, library_of, pages, window_limits

WINDOW = 300000  # as the program requests
KINDS = ("eager", "cells", "copy_buffers", "pools", "fifos", "windows", "alloc_mem")
OWN = {"window": "windows", "shared": "windows", "memory": "alloc_mem"}  # lines of a report


@dataclass
class Mapping:
    """A mapping and the node of each of its pages; None: not mapped."""

    low: int
    high: int
    is_shared: bool
    inode: int
    name: str
    nodes: list[int | None] = field(default_factory=list)

    def on(self, low: int, high: int) -> set[int]:
        """Returns the nodes of mapped pages in [low, high)."""
        first, last = (max(low, self.low) - self.low) // PAGE, (min(high, self.high) - self.low) // PAGE
        return {node for node in self.nodes[first:last] if node is not None}


@dataclass
class Report:
    """The report of one rank."""

    rank: int
    ranks: int
    versions: dict[str, str]
    own: dict[str, tuple[int, int]]  # address and bytes
    mappings: list[Mapping]

    @property
    def library(self) -> str:
        """Returns the key of mpi_formulas.OBJECTS."""
        return library_of(next(text for file, text in self.versions.items() if file.startswith("libmpi")))


@dataclass
class Findings:
    """Lists the pages of a run that are elsewhere than requested, and the kinds with the bytes of their parts."""

    problems: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    pages: int = 0  # that were compared


def read_report(path: Path) -> Report:
    """Returns the report in a file."""
    report = Report(0, 0, {}, {}, [])
    for line in path.read_text().splitlines():
        word, *rest = line.split(maxsplit=2)
        if word == "#":
            report.versions[rest[0]] = rest[1]
        elif word == "job":
            report.rank, report.ranks = int(rest[0]), int(rest[1])
        elif word in OWN:
            report.own[word] = (int(rest[0], 16), int(rest[1]))
        elif word == "n":
            for run in line.split()[1:]:
                node, pages = run.split("x")
                report.mappings[-1].nodes += [None if node == "-" else int(node)] * int(pages)
        else:
            found = re.fullmatch(r"(\w+)-(\w+) (\S+) (\d+) ?(.*)", line)
            assert found, line
            low, high = int(found[1], 16), int(found[2], 16)
            one = Mapping(low, high, found[3][3] == "s", int(found[4]), found[5])
            last = report.mappings[-1] if report.mappings else None
            # The kernel divides a mapping where its memory policy changes.
            if last and (last.high, last.inode, last.name) == (low, one.inode, one.name):
                last.high = high
            else:
                report.mappings.append(one)
    return report


def check(
    reports: Iterable[Report], slow: int, fast: int, kinds: Iterable[str], placing: Iterable[int] | None = None
) -> Findings:
    """Compares the pages of all ranks. Objects of `kinds` belong on the fast node: those of the ranks `placing`,
    by default of all."""
    findings = Findings()
    wanted = set(kinds)
    nodes: dict[str, dict[int, set[int]]] = {}  # of objects whose rank is not known: by row and inode
    ranks = list(reports)
    chosen = set(range(len(ranks))) if placing is None else set(placing)
    windows = _windows(ranks)
    for report in ranks:
        for mapping in report.mappings:
            parts = [part for part in _parts(report, mapping, windows, findings) if part.kind in wanted]
            if len(chosen) < len(ranks) and parts and parts[0].rank is None:
                if parts[0].is_for_rank:
                    found = nodes.setdefault(parts[0].row, {}).setdefault(mapping.inode, set())
                    found |= mapping.on(mapping.low, mapping.high)
                continue
            expected = [part for part in parts if part.rank is None or part.rank in chosen]
            others = [part for part in parts if part not in expected]
            _compare(report, mapping, expected, others, (slow, fast), findings)
    for row, objects in nodes.items():
        on_fast = sum(found == {fast} for found in objects.values())
        on_slow = sum(found == {slow} for found in objects.values())
        if (on_fast, on_fast + on_slow) != (len(chosen), len(objects)):
            findings.problems.append(f"{row}: {on_fast} on the fast node, {on_slow} on the slow one")
    return findings


def _compare(
    report: Report,
    mapping: Mapping,
    placed: list[Part],
    others: list[Part],
    nodes: tuple[int, int],
    findings: Findings,
) -> None:
    """Compares the pages of a mapping, without those that a placing rank shares with one that does not place."""
    for index, node in enumerate(mapping.nodes):
        if node is None:
            continue
        at = mapping.low + index * PAGE
        is_placed, is_other = (any(part.low <= at < part.high for part in parts) for parts in (placed, others))
        if is_placed and is_other:
            continue
        findings.pages += 1
        requested = nodes[is_placed]
        if node != requested:
            findings.problems.append(
                f"rank {report.rank}: page {index} of {len(mapping.nodes)} of {mapping.name or 'anonymous'} "
                f"is on node {node} instead of {requested}"
            )


@dataclass(frozen=True)
class Part:
    """Whole pages of an object, or of a rank's part of one."""

    low: int
    high: int
    kind: str
    row: str
    rank: int | None = None  # to which it belongs, if that is known
    is_for_rank: bool = False  # the library makes one such object for each rank


def _windows(reports: Iterable[Report]) -> dict[tuple[int, str], dict[int, tuple[int, int]]]:
    """Returns offset and bytes of each rank's part, by the mapping of a window, as the ranks report them."""
    found: dict[tuple[int, str], dict[int, tuple[int, int]]] = {}
    for report in reports:
        for mapping in report.mappings:
            for each in ("window", "shared"):
                base, size = report.own[each]
                if mapping.is_shared and mapping.low <= base < mapping.high:
                    found.setdefault((mapping.inode, mapping.name), {})[report.rank] = (base - mapping.low, size)
    return found


def _parts(
    report: Report,
    mapping: Mapping,
    windows: dict[tuple[int, str], dict[int, tuple[int, int]]],
    findings: Findings,
) -> Iterator[Part]:
    """Yields the parts of a mapping that belong to objects."""
    if offsets := windows.get((mapping.inode, mapping.name)) if mapping.is_shared else None:
        _note(findings, "windows", WINDOW)
        least, most = window_limits(WINDOW, report.ranks)
        if len(offsets) != report.ranks or not least <= mapping.high - mapping.low <= most:
            findings.problems.append(
                f"{mapping.name}: {mapping.high - mapping.low} bytes with parts of {len(offsets)} ranks"
            )
            return
        begins = sorted((offset, rank) for rank, (offset, _) in offsets.items())
        stride = min(after - before for (before, _), (after, _) in pairwise(begins))
        for offset, rank in begins:
            # A page that two ranks share belongs to both, one with the library's state to neither.
            low = mapping.low + offset
            begin = pages(low) if offset == begins[0][0] else low // PAGE * PAGE
            yield Part(begin, min(pages(low + stride), mapping.high), "windows", mapping.name, rank)
        return
    for name in OWN:
        base, size = report.own[name]
        if not mapping.is_shared and mapping.low <= base < mapping.high:
            _note(findings, OWN[name], size)
            yield Part(pages(base), (base + size) // PAGE * PAGE, OWN[name], name, report.rank)
    found = _classify(report, mapping) if mapping.is_shared else None
    if found is None:
        return
    _note(findings, found.kind, found.part or found.size(report.ranks))
    row = f"{found.kind} of {'sysv' if mapping.name.startswith('/SYSV') else 'files'}"
    if found.part:
        for rank in range(report.ranks):
            low = mapping.low + found.header + rank * found.part
            yield Part(pages(low), pages(low + found.part), found.kind, row, rank)
    else:
        suffix = re.search(r"_segment\..*\.([0-9]+)$", mapping.name)  # Open MPI's files end in the rank
        owner = int(suffix[1]) if suffix else None
        yield Part(mapping.low, mapping.high, found.kind, row, owner, found.is_for_rank)


def _note(findings: Findings, kind: str, size: int) -> None:
    findings.seen[kind] = max(size, findings.seen.get(kind, 0))


def _classify(report: Report, mapping: Mapping) -> Shared | None:
    """Returns the object whose formula gives exactly the mapped size."""
    size = mapping.high - mapping.low
    rows = OBJECTS[report.library]
    return next((row for row in rows if row.matches(mapping.name, size, report.ranks)), None)
