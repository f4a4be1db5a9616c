"""The paper's losses at three times the fast memory, and ours at ten times, in virtual time."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from harness import SETTINGS, Line, Measured, Unavailable, keep_part
from terrace.errors import TerraceError
from terrace.lab.experiment import made, out_of_core
from terrace.lab.experiment.out_of_core import KNL, LINKS, PROGRAMS, PUBLISHED_SIZE, SMALLEST, Question, rate_of
from terrace.lab.experiment.published import OUT_OF_CORE

from stencil_lines.common import is_small

THREE, TEN = PUBLISHED_SIZE, 160  # GB
SMALL_SIZE = 12
NEAR = 0.1  # of the in-memory speed: what ten times the fast memory may cost where the chain has the reuse
NVLINK, PCIE = LINKS["NVLink"], LINKS["PCIe"]
# Machine and way, as published.
WAYS = {KNL: "cache", NVLINK: "slots", PCIE: "slots"}
OURS = {KNL: "cache", NVLINK: "streamed", PCIE: "streamed"}


def _published(program: str, machine: str) -> float:
    """The speed at 48 GB over that in memory; on the KNL over that of a small problem in the cache."""
    said = OUT_OF_CORE[program]
    return {KNL: 1 - said.tiled_loss, NVLINK: said.nvlink, PCIE: said.pcie}[machine]


@functools.cache
def _study(folder: Path) -> out_of_core.Study:
    """The given one. Raises Unavailable where there is none, or one of another commit or of other machines."""
    study = out_of_core.Study(folder, list(PROGRAMS), [], [])
    if not (folder / made.FILE).is_file():
        raise Unavailable(f"{folder} has no study of `terrace lab experiment out-of-core`")
    try:
        study.settle()
    except TerraceError as error:
        raise Unavailable(f"--study: {error}") from error
    return study


def _answer(question: Question) -> dict[str, Any]:
    """The given study's, or made here."""
    if (folder := getattr(SETTINGS, "study", None)) is not None:
        study = _study(Path(folder))
        if not study.path(question).is_file():
            raise Unavailable(f"{folder} has no answer {question.program}/{question.machine}/{question.name}")
        return study.get(question)
    name = f"stencil-virtual-{question.program}-{question.machine}-{question.name}"
    answer: dict[str, Any] = keep_part(name, lambda: out_of_core.price(question))
    return answer


def _kept(program: str, machine: str, how: str, size: int) -> float:
    """The speed over that of all data in the fast memory."""
    rate = rate_of(_answer(Question(program, machine, size, how)))
    in_memory = rate_of(_answer(Question(program, machine, SMALLEST, "flat-fast", tiled=machine != KNL)))
    if rate is None or in_memory is None:
        raise RuntimeError(f"{program} on {machine}, {how}, {size} GB: no tile has room")
    return rate / in_memory


def published() -> Measured:
    """Held is that no code keeps less than a tenth below what was published."""
    size = SMALL_SIZE if is_small() else THREE
    lines, holds = [], True
    for machine, how in WAYS.items():
        for program, about in PROGRAMS.items():
            theirs = _published(program, machine)
            ours = _kept(program, machine, how, size)
            best = _kept(program, machine, OURS[machine], size)
            holds = holds and ours >= theirs - NEAR
            lines.append(
                f"{about.title}, {machine}, {how}: {ours:.0%} (published {theirs:.0%}); {OURS[machine]} {best:.0%}"
            )
    return Measured("\n".join(lines), holds and not is_small())


def ten_times() -> Measured:
    """160 GB of data, 16 GiB of fast memory."""
    lines, short = [], []
    for machine, how in OURS.items():
        for program, about in PROGRAMS.items():
            kept = _kept(program, machine, how, 2 * SMALL_SIZE if is_small() else TEN)
            lines.append(f"{about.title}, {machine}, {how}: {kept:.0%}")
            if kept < 1 - NEAR:
                short.append(f"{about.title} on {machine}")
    lines.append(f"below {1 - NEAR:.0%}: {', '.join(short) or 'none'}")
    return Measured("\n".join(lines), not short and not is_small())


LINES = [
    Line(
        "virtual time, three times",
        "KNL, P100 over NVLink and PCIe at 48 GB: the published shares of the in-memory speed beside ours",
        published,
    ),
    Line(
        "virtual time, ten times",
        "10x the fast memory at 10 % loss where the chain has the reuse",
        ten_times,
    ),
]
