"""Compares losses of out-of-core stencil programs in virtual time: the paper's at three times the fast memory, and
ours at ten times. Criteria of acceptance/stencils.

The loss is that of `terrace.lab.experiment.out_of_core`, the paper's: bandwidths of further steps, relative to the
smallest problem in a cache on the KNL, and to data in the GPU's memory on the P100.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import SETTINGS, Criterion, Measured, Unavailable, keep_part
from terrace.errors import TerraceError
from terrace.lab.experiment import out_of_core, provenance
from terrace.lab.experiment.out_of_core import (
    KNL,
    LINKS,
    PROGRAMS,
    PUBLISHED_SIZE,
    Question,
    baseline,
    both_runs,
    further_of,
    rate_of,
    slow_capacity,
)
from terrace.lab.experiment.published import OUT_OF_CORE

from stencils_lines.common import is_small

THREE, TEN = PUBLISHED_SIZE, 160  # GB
SMALL_SIZE = 12
NEAR = 0.1  # of the baseline: largest deviation of the published way from its published speed
LOSS = 0.1  # largest loss at ten times the fast memory, if the chain has enough reuse
NVLINK, PCIE = LINKS["NVLink"], LINKS["PCIe"]
# Machine and way, as published; and our own, where it is another.
WAYS = {KNL: "cache", NVLINK: "slots", PCIE: "slots"}
OURS = {KNL: "cache", NVLINK: "streamed", PCIE: "streamed"}


def _published(program: str, machine: str) -> float:
    """Returns the published speed at 48 GB over the baseline's."""
    said = OUT_OF_CORE[program]
    return {KNL: 1 - said.tiled_loss, NVLINK: said.nvlink, PCIE: said.pcie}[machine]


@functools.cache
def _study(folder: Path) -> out_of_core.Study:
    """Returns the given study. Raises Unavailable if no study was made, or one of another commit or of other
    machines."""
    study = out_of_core.Study(folder, list(PROGRAMS), [], [])
    if not (folder / provenance.FILE).is_file():
        raise Unavailable(
            f"--study {folder} has no study: make it by `terrace lab experiment out-of-core --output {folder}`"
        )
    try:
        study.check_provenance()
    except TerraceError as error:
        raise Unavailable(f"--study: {error}") from error
    return study


def _answer(question: Question) -> dict[str, Any]:
    """Returns the given study's answer, or computes it."""
    if (folder := getattr(SETTINGS, "study", None)) is not None:
        study = _study(Path(folder))
        if not study.path(question).is_file():
            raise Unavailable(f"{folder} has no answer {question.program}/{question.machine}/{question.name}")
        return study.get(question)
    name = f"stencil-virtual-{question.program}-{question.machine}-{question.name}"
    answer: dict[str, Any] = keep_part(name, lambda: out_of_core.price(question))
    return answer


def _further(question: Question) -> Mapping[str, float]:
    """Returns the time and the traffic of further time steps, without the first one's costs."""
    once, twice = both_runs(question)
    more = further_of(_answer(once), _answer(twice))
    if more is None:
        raise RuntimeError(f"{question.program} on {question.machine}, {question.name}: no tile has room")
    return more


def _kept(program: str, machine: str, how: str, size: int) -> float:
    """Returns the speed over the baseline's."""
    rate = rate_of(_further(Question(program, machine, size, how)))
    in_memory = rate_of(_further(baseline(program, machine)))
    assert rate is not None and in_memory is not None
    return rate / in_memory


def published() -> Measured:
    """Checks that the published way is near its published speed, faster or slower. Ours, if it is another way,
    must be no slower than that, to the published percent."""
    size = SMALL_SIZE if is_small() else THREE
    lines: list[str] = []
    short, rows = [], []
    for machine, how in WAYS.items():
        for program, about in PROGRAMS.items():
            theirs = _published(program, machine)
            beside = _kept(program, machine, how, size)
            said = [f"{how} {beside:.0%}, published {theirs:.0%}, {beside - theirs:+.0%}"]
            row = {"program": about.title, "machine": machine, "published": f"{theirs:.0%}", how: f"{beside:.1%}"}
            if abs(beside - theirs) > NEAR:
                short.append(f"{about.title} on {machine}, {how}")
            if OURS[machine] != how:
                ours = _kept(program, machine, OURS[machine], size)
                said.append(f"{OURS[machine]} {ours:.0%}, at least {theirs:.0%}")
                row[OURS[machine]] = f"{ours:.1%}"
                if round(ours, 2) < theirs:
                    short.append(f"{about.title} on {machine}, {OURS[machine]}")
            lines.append(f"{about.title}, {machine}: {'; '.join(said)}")
            rows.append(row)
    lines.insert(0, f"short: {', '.join(short) or 'none'}")
    return Measured("\n".join(lines), not short and not is_small(), rows)


def _enlarged(question: Question) -> str:
    """Returns the remark that a question's slow memory was enlarged to hold its data, or nothing."""
    if question.slow_memory == 0:
        return ""
    return f" (slow memory enlarged from {slow_capacity(question.machine) / 1e9:.0f} to {question.slow_memory} GB)"


def _accessed_for_goal(question: Question) -> str:
    """Returns how often a program has to access each byte that is copied in, so that copies take no longer than
    its loops at the goal's share of their in-memory speed. Empty for a cache, which also writes back."""
    if question.how == "cache":
        return ""
    rate = PROGRAMS[question.program].rate(question.machine) * 1e9
    return f"{(1 - LOSS) * rate / _answer(question)['in_bandwidth']:.1f}"


def _step(question: Question) -> dict[str, str]:
    """Returns the time of a time step, its accesses and its moved bytes."""
    more = _further(question)
    steps = question.steps
    hidden = more["hidden_seconds"] / more["copy_seconds"] if more["copy_seconds"] > 0 else None
    return {
        "s a step": f"{more['seconds'] / steps:.2f}",
        "GB accessed": f"{more['accesses'] / steps / 1e9:.0f}",
        "GB in": f"{more['bytes_in'] / steps / 1e9:.1f}",
        "GB out": f"{more['bytes_out'] / steps / 1e9:.1f}",
        "accessed over in": f"{more['accesses'] / more['bytes_in']:.1f}",
        "as goal": _accessed_for_goal(question),
        "copies hidden": "" if hidden is None else f"{hidden:.0%}",
    }


def ten_times() -> Measured:
    """Judges each loss with 160 GB of data and 16 GiB of fast memory; the table has a time step's accesses and
    moves."""
    lines: list[str] = []
    short, rows = [], []
    for machine, how in OURS.items():
        for program, about in PROGRAMS.items():
            size = 2 * SMALL_SIZE if is_small() else TEN
            question = Question(program, machine, size, how)
            kept = _kept(program, machine, how, size)
            lines.append(f"{about.title}, {machine}, {how}: {kept:.0%}{_enlarged(question)}")
            rows.append(
                {"program": about.title, "machine": machine, "mode": how, "kept": f"{kept:.1%}"} | _step(question)
            )
            if kept < 1 - LOSS:
                short.append(f"{about.title} on {machine}")
    lines.insert(0, f"below {1 - LOSS:.0%}: {', '.join(short) or 'none'}")
    return Measured("\n".join(lines), not short and not is_small(), rows)


CRITERIA = [
    Criterion(
        "virtual time, three times",
        "KNL, P100 over NVLink and PCIe at 48 GB: the published way within 10 points of the published share of "
        "the in-memory speed, our own way at least that share",
        published,
    ),
    Criterion(
        "virtual time, ten times",
        "10x the fast memory at 10 % loss where the chain has the reuse",
        ten_times,
    ),
]
