"""Compares the own clock of programs whose virtual time can be worked out by hand, on every shipped machine, with

    T = max((C + D) / threads, busiest place)

with all counts from the pattern and all constants from the machine file. A line of a stream costs latency / lines
in flight of a stream, one that is gathered latency / misses in flight, one that is chased the whole latency. With
half of the lines on each of two places that is Little's law: the lines in flight over the mean of the latencies.
Criteria of acceptance/virtual-time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import ROOT, Criterion, Measured, described, fresh, machines
from terrace.lab import study

from virtual_time_lines.common import OWN, Words, program, simulate, workload

WITHIN = 0.02
LARGEST_CACHE = 8 << 20  # bytes: outer caches beyond are cut down to it, which no closed form notices
CHASES: Words = ["--steps", "300000", "--repetitions", "2"]
STREAMS: Words = ["--repetitions", "3"]
ALL_CORES: Words = ["--cores", "all"]
MIN_SIZE = 8 << 20  # bytes of an array
DOUBLE, INDEX = 8, 4  # bytes
# Instructions of a loop's iteration as gcc 12 compiles it at -O2: one for every operation of the source, every
# counter or pointer that is advanced, and the loop's comparison and jump.
TRIAD, GATHER, CHASE = 11, 8, 4


@dataclass(frozen=True)
class Setting:
    """A machine as a closed form needs it."""

    machine: str | Path  # name or file

    @cached_property
    def about(self) -> dict[str, Any]:
        return described(self.machine)

    @cached_property
    def domain(self) -> dict[str, Any]:
        first: dict[str, Any] = self.about["domains"][0]
        return first

    @cached_property
    def core(self) -> dict[str, Any]:
        return next(one for one in self.about["initiators"] if one["name"] == self.domain["initiator"])

    @cached_property
    def line(self) -> int:
        return int(self.about["line"])

    @cached_property
    def places(self) -> list[str]:
        return list(self.domain["nearest_first"])

    def path(self, place: str) -> dict[str, Any]:
        return next(
            one
            for one in self.about["paths"]
            if one["place"] == place and one["initiator"] == self.domain["initiator"]
        )

    @cached_property
    def outermost(self) -> tuple[str, int]:
        """Returns the last cache: its name, and its simulated bytes."""
        cache = self.core["caches"][-1]
        return cache["name"], min(cache["size"], LARGEST_CACHE)

    @cached_property
    def lines(self) -> int:
        """Returns enough cache lines to leave none in the caches from one pass to the next."""
        return 4 * self.outermost[1] // self.line

    def options(self) -> list[str]:
        name, size = self.outermost
        return ["--machine", str(self.machine), "--cache", f"{name}={size}"]

    def core_time(self, instructions: float) -> float:
        """Returns C, for accesses that no inner cache serves."""
        return instructions * float(self.core["instruction_time"])

    def latency(self, place: str) -> float:
        return float(self.path(place)["latency"])

    def streamed(self, place: str) -> float:
        """Returns D of a cache line."""
        return self.latency(place) / float(self.core["prefetch_mlp"])

    def gathered(self, place: str) -> float:
        return self.latency(place) / float(self.core["mlp"])

    def time(
        self, core: float, exposed: float, read: Mapping[str, float], written: Mapping[str, float], threads: int
    ) -> float:
        """Returns the time by the law, from the cache lines read and written by place."""
        busy: list[float] = [
            (read.get(place, 0) / self.path(place)["read"] + written.get(place, 0) / self.path(place)["write"])
            * self.line
            for place in self.places
        ]
        return max((core + exposed) / threads, *busy)


def stream(setting: Setting, place: str, threads: int) -> float:
    """Returns the time of Triad: two arrays are read, and a third is stored to, which is written back."""
    n = setting.lines
    return setting.time(
        core=setting.core_time(TRIAD * n * setting.line / DOUBLE),
        exposed=3 * n * setting.streamed(place),
        read={place: 3 * n},
        written={place: n},
        threads=threads,
    )


def stream_of_all_cores(setting: Setting, place: str) -> float:
    """Returns the rate of Triad where bandwidth limits it: two arrays and the lines that it stores to are
    read, one is written, and STREAM counts three of these four."""
    path = setting.path(place)
    return float(3 / (3 / path["read"] + 1 / path["write"]))


def gather(setting: Setting, places: list[str], home: str, threads: int) -> float:
    """Returns the time of equal parts of the table on each of the places, its index at home."""
    n, index = setting.lines, setting.lines * INDEX / setting.line
    read = dict.fromkeys(places, n / len(places))
    read[home] = read.get(home, 0) + index
    return setting.time(
        core=setting.core_time(GATHER * n),
        exposed=sum(n / len(places) * setting.gathered(place) for place in places)
        + index * setting.streamed(home),
        read=read,
        written={},
        threads=threads,
    )


def chase(setting: Setting, place: str) -> float:
    """Returns the time of one step."""
    return setting.core_time(CHASE) + setting.latency(place)


# --- measured ---------------------------------------------------------------------------------------------------


def _plan(folder: Path, places: Mapping[str, list[str]]) -> list[str]:
    """Returns the plan that puts objects, each in equal parts on its places."""
    rows = ["schema = 1\n"]
    for name, on in places.items():
        rows.append(f'[[object]]\nname = "{name}"\nchunks = {len(on)}\npin = true')
        chunks = {place: ", ".join(str(i) for i, other in enumerate(on) if other == place) for place in on}
        rows.append("parts = { " + ", ".join(f'{place} = "{spans}"' for place, spans in chunks.items()) + " }\n")
    plan = folder / f"{'-'.join(place for on in places.values() for place in on)}.toml"
    plan.write_text("\n".join(rows))
    return ["--plan", str(plan)]


def _everything_in(folder: Path, place: str) -> list[str]:
    plan = folder / f"everything-in-{place}.toml"
    plan.write_text(f'schema = 1\n\n[[object]]\nname = "*"\nplace = "{place}"\npin = true\n')
    return ["--plan", str(plan)]


def _patterns(setting: Setting, folder: Path, plan: list[str], pattern: str, threads: int) -> float:
    """Returns the seconds of a pattern's timed pass by the program's own clock."""
    command: Words = [program(OWN / "patterns.c", "-fopenmp"), pattern, str(setting.lines), str(threads)]
    return float(_obeying(folder, [*setting.options(), *plan], command, OMP_SCHEDULE="static"))


def _obeying(folder: Path, options: Words, command: Words, **environment: str) -> str:
    """Simulates the program under the plan that is among the options; returns its output."""
    store = folder / "form.terrace"
    printed = simulate(store, options, command, **environment).stdout
    study.check_follows_plan(store)
    return printed


def _printed(
    setting: Setting, folder: Path, plan: Sequence[str | Path], name: str, words: Words, pattern: str
) -> float:
    """Returns the number that a workload prints whose data the caches do not hold."""
    size = max(setting.lines * setting.line, MIN_SIZE)
    command = [workload(name, True), "--size", str(size), *words]
    said = _obeying(folder, [*setting.options(), *plan], command)
    found = re.search(pattern, said, re.M)
    if found is None:
        raise RuntimeError(f"{name} does not print its number ({pattern}): {said[:200]}")
    return float(found[1])


@dataclass(frozen=True)
class Form:
    """Measured over expected, less 1."""

    where: str
    off: float


def _forms(setting: Setting, folder: Path) -> dict[str, list[Form]]:
    """Measures on a machine all programs that have a closed form; returns their errors by kind."""
    found: dict[str, list[Form]] = {}

    def add(kind: str, where: str, measured: float, expected: float) -> None:
        found.setdefault(kind, []).append(Form(f"{setting.about['name']} {where}", measured / expected - 1))

    for place in setting.places:
        plan = _everything_in(folder, place)
        hop = _printed(setting, folder, plan, "chase", CHASES, r"^Best\s+([0-9.]+) ns a step")
        add("chase", place, hop * 1e-9, chase(setting, place))
        rate = _printed(setting, folder, [*plan, *ALL_CORES], "stream", STREAMS, r"(?i)triad\D+([0-9.e+]+)")
        add("STREAM, all cores", place, rate, stream_of_all_cores(setting, place))
        for threads in (1, 2):
            add(
                f"STREAM {threads}",
                place,
                _patterns(setting, folder, plan, "stream", threads),
                stream(setting, place, threads),
            )
            add(
                f"gather {threads}",
                place,
                _patterns(setting, folder, plan, "gather", threads),
                gather(setting, [place], place, threads),
            )
    if len(setting.places) > 1:
        halves, home = [setting.places[0], setting.places[-1]], setting.domain["home"]
        plan = _plan(folder, {"table": halves, "order": [home]})
        for threads in (1, 2):
            add(
                f"halves {threads}",
                " + ".join(halves),
                _patterns(setting, folder, plan, "gather", threads),
                gather(setting, halves, home, threads),
            )
    return found


def closed_forms() -> Measured:
    return _judged([_forms(Setting(name), fresh("forms")) for name in machines()])


def proportion() -> Measured:
    """Measures on a machine file with every bandwidth and latency scaled."""
    text = (ROOT / "machines" / "unimem-bw2.toml").read_text()
    text = re.sub(r'"(\d+)GB/s"', lambda rate: f'"{int(rate[1]) * 3 / 4}GB/s"', text)
    scaled = fresh("scaled") / "scaled.toml"
    scaled.write_text(re.sub(r'^latency = "86ns"', 'latency = "215ns"', text, flags=re.M))
    return _judged([_forms(Setting(scaled), fresh("forms"))])


def _judged(by_machine: list[dict[str, list[Form]]]) -> Measured:
    """Judges all forms of all machines by kind: the worst of each, and how many are beyond the limit."""
    found: dict[str, list[Form]] = {}
    for kinds in by_machine:
        for kind, forms in kinds.items():
            found.setdefault(kind, []).extend(forms)
    lines = []
    for kind, forms in sorted(found.items()):
        worst = max(forms, key=lambda one: abs(one.off))
        beyond = sum(abs(one.off) > WITHIN for one in forms)
        text = f"{kind}: {len(forms)} forms, worst {worst.off:+.2%} ({worst.where})"
        lines.append(text + (f", {beyond} beyond {WITHIN:.0%}" if beyond else ""))
    return Measured("\n".join(lines), all(abs(one.off) <= WITHIN for forms in found.values() for one in forms))


CRITERIA = [
    Criterion(
        "closed forms",
        f"STREAM, gather and halves on two places with 1 and 2 threads, STREAM with all cores, a chase: within "
        f"{WITHIN:.0%} on every shipped machine",
        closed_forms,
    ),
    Criterion(
        "closed forms follow the file",
        "bandwidths x 3/4 and latencies x 2.5 change them in proportion",
        proportion,
    ),
]
