# SPDX-License-Identifier: Apache-2.0
"""Evaluates page placement over a coherent link for `terrace lab experiment ccnuma` (Agarwal et al., HPCA 2015).

A question is a program under a rule. Its answer is a separate file, so that an interrupted run can resume. Each
program runs once, for its results and its trace; every rule replays the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from terrace import _core
from terrace.errors import TerraceError
from terrace.lab.experiment.cells import document, read_document, write_whole
from terrace.lab.experiment.gpu_laws import broken_laws
from terrace.lab.experiment.gpu_machine import page_bytes
from terrace.lab.experiment.runner import Work
from terrace.lab.experiment.warp_study import WarpStudy

MACHINE = "gtx480-ddr4"
THRESHOLDS = (1, 2, 4, 8, 16, 32, 64, 128)
RANGES = (0, 16, 64, 128)
SHOOTDOWNS = (0, 50, 100, 200, 300, 500)  # cycles
FIRST = "remote"
TIMES = 100  # points of traffic over time in an answer
PLACEMENTS = ("remote", "local", "interleave", "oracle")


@dataclass(frozen=True)
class Rule:
    """A placement rule: "remote" (access over the link only), "local" (all pages in the GPU's own memory from the
    start), "interleave" (pages in the ratio of bandwidths), "oracle", or a policy; "touch" has the following
    parameters.
    """

    kind: str
    threshold: int = 0
    range: int = 0
    balanced: bool = False
    shootdown: int = 0  # cycles
    reverses: bool = False
    evicts: bool = False
    drains: bool = False  # whether SMs also wait for outstanding accesses to the page
    room: int = 100  # capacity of the GPU's own memory, % of the program's pages

    @property
    def name(self) -> str:
        """Returns a unique name that is valid in a path."""
        if self.kind in PLACEMENTS:
            return self.kind + (f"-room-{self.room}" if self.room < 100 else "")
        numbers = f"-{self.threshold}-range-{self.range}" if self.kind == "touch" else ""
        words = "".join(
            f"-{word}" for word in ("balanced", "reverses", "evicts", "drains") if getattr(self, word)
        ) + (f"-room-{self.room}" if self.room < 100 else "")
        return f"{self.kind}{numbers}{words}-shootdown-{self.shootdown}"


def touch(threshold: int, span: int = 0, balanced: bool = False, shootdown: int = 100) -> Rule:
    """Returns a rule based on access counts."""
    return Rule("touch", threshold, span, balanced, shootdown)


def policy(name: str, shootdown: int = 100) -> Rule:
    """Returns a policy without parameters."""
    return Rule(name, shootdown=shootdown)


STATIC = tuple(Rule(kind) for kind in PLACEMENTS)
COMBINED = (touch(1), touch(1, 128), touch(1, 128, True))
OURS = (policy("even"), policy("even-moves"))
CURRENT_POLICIES = (policy("migrate-on-fault"), policy("unified-memory"), policy("access-counters"))
TIERING = tuple(policy(name) for name in ("kernel-tiering", "alto", "colloid", "memtis"))
REVERSING = Rule("touch", 1, 128, True, 100, True)
DRAINING = tuple(replace(rule, drains=True) for rule in COMBINED)
# Capacity for half of the program's pages.
HALF = tuple(
    replace(rule, room=50)
    for rule in (
        Rule("local"),
        Rule("oracle"),
        Rule("touch", 1, 0, False, 100, False, True),
        Rule("touch", 1, 128, True, 100, False, True),
        OURS[0],
        CURRENT_POLICIES[1],
        CURRENT_POLICIES[2],
    )
)


def rules(small: bool) -> list[Rule]:
    """Returns all rules of the figures, "remote" first, without duplicates."""
    thresholds, ranges = ((1, 64), (0, 64, 128)) if small else (THRESHOLDS, RANGES)
    shootdowns = (0, 100) if small else SHOOTDOWNS
    asked = [*STATIC, *COMBINED, *OURS, *CURRENT_POLICIES, *TIERING, REVERSING, *DRAINING, *HALF]
    asked += [touch(threshold, shootdown=0) for threshold in thresholds]
    asked += [touch(1, shootdown=cycles) for cycles in shootdowns]
    asked += [touch(threshold, span) for threshold in thresholds for span in ranges]
    return list(dict.fromkeys(asked))


class Study(WarpStudy):
    """The answers in a folder."""

    def __init__(self, folder: Path, programs: Sequence[str], size: str, small: bool) -> None:
        super().__init__(folder, programs, size)
        self.rules = rules(small)

    def machine(self) -> _core.Machine:
        """Returns the machine of the study."""
        return _core.Machine.read(MACHINE)

    def machines(self) -> list[_core.Machine]:
        """Returns the machine as a list."""
        return [self.machine()]

    def path(self, program: str, rule: Rule) -> Path:
        """Returns the path of an answer."""
        return self.folder / "answers" / program / f"{rule.name}.json"

    def get(self, program: str, rule: Rule) -> dict[str, Any]:
        """Returns an answer. Raises TerraceError if it is missing."""
        return read_document(self.path(program, rule))

    def missing(self) -> list[tuple[str, Rule]]:
        """Returns the unanswered questions, program by program."""
        return [(p, rule) for p in self.programs for rule in self.rules if not self.path(p, rule).is_file()]

    def count(self) -> int:
        """Returns the number of all questions."""
        return len(self.programs) * len(self.rules)

    def left(self) -> int:
        """Returns the number of unanswered questions."""
        return len(self.missing())

    def stages(self) -> tuple[list[str], list[tuple[str, list[Work]]]]:
        """Returns the first runs and then the others, which need their page counts."""
        missing = self.missing()
        first = [(program, rule) for program, rule in missing if rule.kind == FIRST]
        others = [(program, rule) for program, rule in missing if rule.kind != FIRST]
        return list(dict.fromkeys(program for program, _ in missing)), [
            ("first runs", [(answer, (self, *question)) for question in first]),
            ("runs", [(answer, (self, *question)) for question in others]),
        ]


def thinned(points: list[Any]) -> list[Any]:
    """Returns at most TIMES points at equal distances, including the last."""
    step = max(1, -(-len(points) // TIMES))
    return [*points[:-1:step], *points[-1:]]


def answer(study: Study, program: str, rule: Rule) -> None:
    """Simulates the program under the rule and saves the result."""
    machine = study.machine()
    trace = str(study.trace(program))
    memory = None
    if rule.room < 100:
        pages = len(study.get(program, Rule(FIRST))["page_bytes"])
        memory = pages * rule.room // 100 * page_bytes(machine)
    if rule.kind == "oracle":
        before = study.get(program, Rule(FIRST))["page_bytes"]
        run = _core.simulate_gpu_oracle(machine, trace, before, share=_core.gpu_balance(machine), memory=memory)
    elif rule.kind not in PLACEMENTS:
        run = _core.simulate_gpu_policy(
            machine,
            trace,
            rule.kind,
            threshold=rule.threshold,
            range=rule.range,
            balanced=rule.balanced,
            reverses=rule.reverses,
            evicts=rule.evicts,
            drains=rule.drains,
            shootdown=rule.shootdown,
            memory=memory,
        )
    else:
        shares = {"remote": 0.0, "local": 1.0, "interleave": _core.gpu_balance(machine)}
        run = _core.simulate_gpu_share(machine, trace, shares[rule.kind], memory=memory)
    if broken := broken_laws(run):
        raise TerraceError(
            f"{program} under {rule.name}: the simulator's counts contradict each other: {'; '.join(broken)}; "
            "report this error of Terrace with the output of `terrace machine check`"
        )
    if rule.kind != FIRST:
        run["page_accesses"] = run["page_bytes"] = run[
            "page_numbers"
        ] = []  # equal for all rules; stored in the first run only
    run["traffic"] = thinned(run["traffic"])
    for level in run["camat"].values():
        level.pop("each")
    write_whole(study.path(program, rule), document({"program": program, "rule": rule.name, **run}))
